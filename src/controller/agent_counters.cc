#include "controller/agent_counters.h"

#include <algorithm>

namespace faultline {
namespace {

constexpr std::size_t name_bytes_max = 80;

bool counter_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= name_bytes_max &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

void AgentCounters::heard(const std::string& node, const CounterValues& values) {
  std::uint64_t refused = 0;
  {
    const std::lock_guard lock(mutex_);
    auto& known = nodes_[node];
    for (const auto& [name, value] : values) {
      const auto found = known.find(name);
      if (found != known.end()) {
        found->second = value;
      } else if (counter_name(name) && known.size() < names_per_node_max) {
        known.emplace(name, value);
      } else {
        ++refused;
      }
    }
  }
  if (refused > 0) counters_.add("controller_agent_counters_refused_total", refused);
}

std::map<std::string, CounterValues> AgentCounters::by_node() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

}  // namespace faultline
