// A few threads and a short line in front of them. What does not fit is turned away at once, so
// that the sender keeps it, instead of piling up here.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace faultline {

class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t waiting_max);
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  enum class Line {
    bounded,  // turned away when the line is full
    always,   // small and few by themselves: one a stream at most
  };
  /// False if the line is full or the pool is stopped; then `job` will not run.
  bool submit(std::function<void()> job, Line line = Line::bounded);
  /// Runs what is waiting, then joins. May be called twice.
  void stop();

 private:
  void work();

  std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace faultline
