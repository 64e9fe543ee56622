// What the nodes' agents count (lines read, events dropped, logs that could not be opened), so that
// one page shows which node's agent has trouble.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/counter_values.h"
#include "base/counters.h"

namespace faultline {

/// Thread-safe. Agents are not trusted: names that no counter has, and more names than an agent
/// can have, are dropped and counted (controller_agent_counters_refused_total).
class AgentCounters {
 public:
  static constexpr std::size_t names_per_node_max = 256;

  explicit AgentCounters(Counters& counters) : counters_(counters) {}

  /// The newest values of some or all of a node's counters; the others stay,
  /// also while the agent is away.
  void heard(const std::string& node, const CounterValues& values);
  [[nodiscard]] std::map<std::string, CounterValues> by_node() const;

 private:
  Counters& counters_;
  mutable std::mutex mutex_;
  std::map<std::string, CounterValues> nodes_;
};

}  // namespace faultline
