// Job logs lie where the job wants them, often on a network file system, and a read from a server
// that is gone returns never. So they are read on a thread of their own: whoever polls waits a
// moment for the answer, as if he had read himself, and goes on without it if it does not come.
// Kernel logs and heartbeats do not stand still for a mount. Nor do the job logs of other folders:
// when all threads hang, one more is started, up to a limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/ports.h"
#include "base/clock.h"

namespace faultline {

/// Owned and used by one thread; starts another at the first question. Ends them, or leaves to the
/// kernel those that are stuck.
class LogThreads {
 public:
  struct Limits {
    Duration patience = std::chrono::milliseconds{50};  // the asker waits no longer for one answer
    Duration patience_per_second = std::chrono::milliseconds{250};  // nor for all of them together
    Duration hang = std::chrono::seconds{5};  // one read that takes longer is a hang
    Duration end = std::chrono::milliseconds{200};
    std::size_t tasks_max = 4096;
    std::size_t threads_max = 4;  // so many folders may hang before other logs wait behind them
  };
  struct Task {
    std::string folder;  // read in by one thread at a time
    std::function<void()> work;
    bool done = false;
    std::optional<Duration> began;  // monotonic
  };

  explicit LogThreads(const Clock& clock) : LogThreads(clock, Limits()) {}
  LogThreads(const Clock& clock, Limits limits);
  ~LogThreads();
  LogThreads(const LogThreads&) = delete;
  LogThreads& operator=(const LogThreads&) = delete;

  /// A source that is polled, and in the end closed, on the thread. Its poll() gives what it has,
  /// nothing if the thread is busy, deadline_exceeded once this very log hangs.
  std::unique_ptr<LogSource> wrap(std::unique_ptr<LogSource> source);

  /// nullptr if too much waits already.
  std::shared_ptr<Task> submit(const std::string& path, std::function<void()> work);
  /// Destroys `source` on the thread, however much waits: a close can hang as a read can. There are
  /// no more of these than of questions that were taken.
  void let_go(std::shared_ptr<LogSource> source);
  /// True if it is done, perhaps after a moment.
  bool wait(const Task& task);
  /// How long this very task has been stuck beyond the limit, if it is.
  [[nodiscard]] std::optional<Duration> hangs(const Task& task) const;

 private:
  struct Shared;
  std::shared_ptr<Task> push(const std::string& path, std::function<void()> work);
  void start_if_all_hang();
  [[nodiscard]] Duration wait_left(Duration now);

  const Clock& clock_;
  const Limits limits_;
  std::shared_ptr<Shared> shared_;
  Duration second_began_{0};
  Duration waited_{0};  // in that second
};

/// One question at a time.
template <class Answer>
class Asked {
 public:
  /// The answer, to this question or to the one before that came late; nullopt if there is none
  /// yet.
  std::optional<Answer> ask(LogThreads& threads, const std::string& path,
                            std::function<Answer()> work) {
    if (task_ == nullptr) {
      auto answer = std::make_shared<std::optional<Answer>>();
      task_ = threads.submit(path, [answer, work = std::move(work)] { *answer = work(); });
      if (task_ != nullptr) answer_ = std::move(answer);
    }
    if (task_ == nullptr || !threads.wait(*task_)) return std::nullopt;
    task_.reset();
    return std::move(*std::exchange(answer_, nullptr));
  }
  [[nodiscard]] bool open() const { return task_ != nullptr; }
  [[nodiscard]] std::optional<Duration> hangs(const LogThreads& threads) const {
    return task_ == nullptr ? std::nullopt : threads.hangs(*task_);
  }

 private:
  std::shared_ptr<LogThreads::Task> task_;
  std::shared_ptr<std::optional<Answer>> answer_;
};

}  // namespace faultline
