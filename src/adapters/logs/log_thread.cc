#include "adapters/logs/log_thread.h"

#include <algorithm>
#include <thread>

namespace faultline {

/// Outlives the LogThread while the thread is stuck.
struct LogThread::Shared {
  explicit Shared(const Clock& the_clock) : clock(the_clock) {}

  const Clock& clock;
  std::mutex mutex;
  std::condition_variable news;    // for the thread
  std::condition_variable answer;  // for the asker
  std::deque<std::shared_ptr<Task>> tasks;
  bool stop = false;
  bool ended = false;

  /// The next task, begun; nullptr at the end.
  std::shared_ptr<Task> next() {
    std::unique_lock lock(mutex);
    news.wait(lock, [this] { return stop || !tasks.empty(); });
    if (stop) return nullptr;
    auto task = std::move(tasks.front());
    tasks.pop_front();
    task->began = clock.monotonic();
    return task;
  }
  void run() {
    while (const auto task = next()) {
      task->work();
      task->work = nullptr;  // what it holds is closed here, not where it could stop the agent
      const std::lock_guard lock(mutex);
      task->done = true;
      answer.notify_all();
    }
    const std::lock_guard lock(mutex);
    ended = true;
    answer.notify_all();
  }
};

namespace {

class ThreadedSource final : public LogSource {
 public:
  ThreadedSource(LogThread& thread, std::unique_ptr<LogSource> source)
      : thread_(thread), path_(source->path()), source_(std::move(source)) {}
  ~ThreadedSource() override {
    thread_.submit(path_, [source = std::move(source_)]() mutable { source.reset(); });
  }
  ThreadedSource(const ThreadedSource&) = delete;
  ThreadedSource& operator=(const ThreadedSource&) = delete;

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::string cursor() const override { return cursor_; }
  void resume(std::string_view cursor) override {
    source_->resume(cursor);
    cursor_ = cursor;
  }
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override {
    auto answer = asked_.ask(thread_, path_, [source = source_, bytes_max] {
      auto chunks = source->poll(bytes_max);
      return Answer{std::move(chunks), source->cursor()};
    });
    if (answer) {
      cursor_ = std::move(answer->cursor);
      return std::move(answer->chunks);
    }
    if (const auto hung = asked_.hangs(thread_)) {
      return Error{ErrorCode::deadline_exceeded,
                   path_ + ": reading it has hung for " + to_text(*hung) +
                       "; is its file system's server there? Other job logs wait behind it"};
    }
    return std::vector<Chunk>{};
  }

 private:
  struct Answer {
    Result<std::vector<Chunk>> chunks;
    std::string cursor;
  };

  LogThread& thread_;
  std::string path_;
  std::shared_ptr<LogSource> source_;  // touched by the thread while a question is open
  std::string cursor_;                 // after what was given out
  Asked<Answer> asked_;
};

}  // namespace

LogThread::LogThread(const Clock& clock, Limits limits)
    : clock_(clock), limits_(limits), shared_(std::make_shared<Shared>(clock)) {}

LogThread::~LogThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->news.notify_all();
  if (started_) shared_->answer.wait_for(lock, limits_.end, [this] { return shared_->ended; });
}

std::unique_ptr<LogSource> LogThread::wrap(std::unique_ptr<LogSource> source) {
  return std::make_unique<ThreadedSource>(*this, std::move(source));
}

std::shared_ptr<LogThread::Task> LogThread::submit(std::string what, std::function<void()> work) {
  if (!std::exchange(started_, true))
    std::thread([shared = shared_] { shared->run(); }).detach();  // it may never come back
  const std::lock_guard lock(shared_->mutex);
  if (shared_->tasks.size() >= limits_.tasks_max) return nullptr;
  auto task = std::make_shared<Task>();
  task->what = std::move(what);
  task->work = std::move(work);
  shared_->tasks.push_back(task);
  shared_->news.notify_one();
  return task;
}

/// The patience that is left in this second.
Duration LogThread::wait_left(Duration now) {
  if (now - second_began_ >= std::chrono::seconds{1}) {
    second_began_ = now;
    waited_ = Duration{0};
  }
  return std::max(Duration{0}, std::min(limits_.patience, limits_.patience_per_second - waited_));
}

bool LogThread::wait(const Task& task) {
  const Duration began = clock_.monotonic();
  const Duration left = wait_left(began);
  std::unique_lock lock(shared_->mutex);
  const bool done = shared_->answer.wait_for(lock, left, [&] { return task.done; });
  waited_ += clock_.monotonic() - began;
  return done;
}

std::optional<Duration> LogThread::hangs(const Task& task) const {
  const std::lock_guard lock(shared_->mutex);
  if (task.done || !task.began) return std::nullopt;
  const Duration since = clock_.monotonic() - *task.began;
  return since > limits_.hang ? std::optional(since) : std::nullopt;
}

}  // namespace faultline
