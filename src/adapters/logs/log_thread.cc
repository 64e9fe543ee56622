#include "adapters/logs/log_thread.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

namespace faultline {

/// Outlives the LogThreads while one of them is stuck.
struct LogThreads::Shared {
  explicit Shared(const Clock& the_clock) : clock(the_clock) {}

  const Clock& clock;
  std::mutex mutex;
  std::condition_variable news;    // for the threads
  std::condition_variable answer;  // for the asker
  std::deque<std::shared_ptr<Task>> tasks;
  std::vector<std::shared_ptr<Task>> running;
  std::size_t threads = 0;
  bool stop = false;

  /// The first task of a folder that nobody reads in: where one read hangs, so would the next.
  std::deque<std::shared_ptr<Task>>::iterator runnable() {
    return std::find_if(tasks.begin(), tasks.end(), [this](const auto& task) {
      return std::none_of(running.begin(), running.end(),
                          [&](const auto& other) { return other->folder == task->folder; });
    });
  }
  /// The next task, begun; nullptr at the end.
  std::shared_ptr<Task> next() {
    std::unique_lock lock(mutex);
    news.wait(lock, [this] { return stop || runnable() != tasks.end(); });
    if (stop) return nullptr;
    const auto found = runnable();
    auto task = std::move(*found);
    tasks.erase(found);
    task->began = clock.monotonic();
    running.push_back(task);
    return task;
  }
  void run() {
    while (const auto task = next()) {
      task->work();
      task->work = nullptr;  // what it holds is closed here, not where it could stop the agent
      const std::lock_guard lock(mutex);
      task->done = true;
      std::erase(running, task);
      answer.notify_all();
      news.notify_all();  // its folder is free
    }
    close_rest();
    const std::lock_guard lock(mutex);
    --threads;
    answer.notify_all();
  }
  /// What still waits at the end has files open, and its destructors close them.
  void close_rest() {
    std::unique_lock lock(mutex);
    auto rest = std::exchange(tasks, {});
    lock.unlock();
    rest.clear();
  }
  /// No thread is left that could take a task.
  [[nodiscard]] bool all_hang(Duration limit) const {
    const auto hung = [&](const auto& task) { return clock.monotonic() - *task->began > limit; };
    return running.size() == threads && std::all_of(running.begin(), running.end(), hung);
  }
};

namespace {

class ThreadedSource final : public LogSource {
 public:
  ThreadedSource(LogThreads& threads, std::unique_ptr<LogSource> source)
      : threads_(threads), path_(source->path()), source_(std::move(source)) {}
  ~ThreadedSource() override {
    if (touched_) threads_.let_go(std::move(source_));
  }
  ThreadedSource(const ThreadedSource&) = delete;
  ThreadedSource& operator=(const ThreadedSource&) = delete;

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::string cursor() const override { return cursor_; }
  [[nodiscard]] bool waiting() const override { return waiting_; }
  void resume(std::string_view cursor) override {
    source_->resume(cursor);
    cursor_ = cursor;
  }
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override {
    auto answer = asked_.ask(threads_, path_, [source = source_, bytes_max] {
      auto chunks = source->poll(bytes_max);
      return Answer{std::move(chunks), source->cursor()};
    });
    touched_ = touched_ || answer || asked_.open();
    waiting_ = !answer;
    if (answer) {
      cursor_ = std::move(answer->cursor);
      return std::move(answer->chunks);
    }
    if (const auto hung = asked_.hangs(threads_)) {
      return Error{ErrorCode::deadline_exceeded,
                   path_ + ": reading it has hung for " + to_text(*hung) +
                       "; is its file system's server there? The job logs beside it wait"};
    }
    return std::vector<Chunk>{};
  }

 private:
  struct Answer {
    Result<std::vector<Chunk>> chunks;
    std::string cursor;
  };

  LogThreads& threads_;
  std::string path_;
  std::shared_ptr<LogSource> source_;  // touched by the thread while a question is open
  std::string cursor_;                 // after what was given out
  Asked<Answer> asked_;
  bool waiting_ = false;
  bool touched_ = false;  // a question was taken: it may have a file open
};

}  // namespace

LogThreads::LogThreads(const Clock& clock, Limits limits)
    : clock_(clock), limits_(limits), shared_(std::make_shared<Shared>(clock)) {}

LogThreads::~LogThreads() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->news.notify_all();
  shared_->answer.wait_for(lock, limits_.end, [this] { return shared_->threads == 0; });
}

std::unique_ptr<LogSource> LogThreads::wrap(std::unique_ptr<LogSource> source) {
  return std::make_unique<ThreadedSource>(*this, std::move(source));
}

std::shared_ptr<LogThreads::Task> LogThreads::submit(const std::string& path,
                                                     std::function<void()> work) {
  const std::lock_guard lock(shared_->mutex);
  start_if_all_hang();
  return shared_->tasks.size() < limits_.tasks_max ? push(path, std::move(work)) : nullptr;
}

void LogThreads::let_go(std::shared_ptr<LogSource> source) {
  const std::string path = source->path();
  const std::lock_guard lock(shared_->mutex);
  start_if_all_hang();
  push(path, [source = std::move(source)] {});  // a task that is done lets go of what it holds
}

/// With the lock.
std::shared_ptr<LogThreads::Task> LogThreads::push(const std::string& path,
                                                   std::function<void()> work) {
  auto task = std::make_shared<Task>();
  task->folder = std::filesystem::path(path).parent_path().string();
  task->work = std::move(work);
  shared_->tasks.push_back(task);
  shared_->news.notify_one();
  return task;
}

/// With the lock.
void LogThreads::start_if_all_hang() {
  if (shared_->threads >= limits_.threads_max || !shared_->all_hang(limits_.hang)) return;
  ++shared_->threads;
  std::thread([shared = shared_] { shared->run(); }).detach();  // it may never come back
}

/// The patience that is left in this second.
Duration LogThreads::wait_left(Duration now) {
  if (now - second_began_ >= std::chrono::seconds{1}) {
    second_began_ = now;
    waited_ = Duration{0};
  }
  return std::max(Duration{0}, std::min(limits_.patience, limits_.patience_per_second - waited_));
}

bool LogThreads::wait(const Task& task) {
  const Duration began = clock_.monotonic();
  const Duration left = wait_left(began);
  std::unique_lock lock(shared_->mutex);
  start_if_all_hang();
  const bool done = shared_->answer.wait_for(lock, left, [&] { return task.done; });
  waited_ += clock_.monotonic() - began;
  return done;
}

std::optional<Duration> LogThreads::hangs(const Task& task) const {
  const std::lock_guard lock(shared_->mutex);
  if (task.done || !task.began) return std::nullopt;
  const Duration since = clock_.monotonic() - *task.began;
  return since > limits_.hang ? std::optional(since) : std::nullopt;
}

}  // namespace faultline
