// The controller's ports for tests: keeps what comes, and fails or waits when told to.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "controller/ports.h"

namespace faultline {

class FakeController final : public AgentIngress, public OperatorIngress {
 public:
  Status take_events(const std::string& node, std::vector<Event> events) override {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (refuse_with_) return *refuse_with_;
    for (auto& event : events) taken_.emplace_back(node, std::move(event));
    return ok_status();
  }
  void heartbeat(const std::string& node, Instant agent_now) override {
    const std::lock_guard lock(mutex_);
    heartbeats_[node] = agent_now;
    changed_.notify_all();
  }
  void take_counters(const std::string& node, const CounterValues& counters) override {
    const std::lock_guard lock(mutex_);
    counters_.emplace_back(node, counters);
    changed_.notify_all();
  }
  std::vector<RulingReport> rulings_for(const std::string& node, std::uint64_t& cursor) override {
    const std::lock_guard lock(mutex_);
    const auto& all = rulings_[node];
    std::vector<RulingReport> fresh(all.begin() + static_cast<std::ptrdiff_t>(cursor), all.end());
    cursor = all.size();
    return fresh;
  }
  Result<PersonAnswer> operate(const std::string& who, RequestKind kind,
                               const std::string& target) override {
    if (target == "d-missing") return Error{ErrorCode::not_found, "no decision d-missing"};
    return PersonAnswer{AnswerKind::taken, who + " " + std::string(to_text(kind)) + " " + target};
  }

  /// take_events waits until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  void refuse(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    refuse_with_ = std::move(error);
  }
  void rule(const std::string& node, RulingReport report) {
    const std::lock_guard lock(mutex_);
    rulings_[node].push_back(std::move(report));
  }
  void wait_entered(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_ >= times; });
  }
  /// What the agents' counters were said to be, message by message, once `count` came.
  std::vector<std::pair<std::string, CounterValues>> wait_counters(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counters_.size() >= count; });
    return counters_;
  }
  Instant wait_heartbeat(const std::string& node) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heartbeats_.contains(node); });
    return heartbeats_[node];
  }
  std::vector<std::pair<std::string, Event>> taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int entered_ = 0;
  std::optional<Error> refuse_with_;
  std::vector<std::pair<std::string, Event>> taken_;
  std::map<std::string, Instant> heartbeats_;
  std::vector<std::pair<std::string, CounterValues>> counters_;
  std::map<std::string, std::vector<RulingReport>> rulings_;
};

}  // namespace faultline
