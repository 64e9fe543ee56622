// Who may say what: an agent speaks for its own node, and where the site says so, one that follows
// the scheduler's log speaks for the scheduler about any node.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/counters.h"
#include "model/event.h"

namespace faultline {

/// Thread-safe.
class Speakers {
 public:
  /// `scheduler_log_hosts`: names, as their certificates have them, of agents that report the
  /// scheduler's log. `counters` must outlive it.
  Speakers(std::set<std::string> scheduler_log_hosts, Counters& counters)
      : scheduler_log_hosts_(std::move(scheduler_log_hosts)), counters_(counters) {}

  /// `node` is the name that the transport proved. What is refused is counted, and said once for
  /// each agent.
  bool may_say(const std::string& node, const Event& event);

 private:
  [[nodiscard]] bool permitted(const std::string& node, const Event& event) const;
  std::set<std::string> scheduler_log_hosts_;
  Counters& counters_;
  std::mutex mutex_;
  std::set<std::string> refused_;
};

}  // namespace faultline
