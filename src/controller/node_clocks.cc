#include "controller/node_clocks.h"

namespace faultline {
namespace {

bool wrong(Duration behind) { return behind >= clock_offset_min || behind <= -clock_offset_min; }

}  // namespace

bool NodeClocks::heard(const std::string& node, Instant agent_now, Instant now) {
  if (!known(agent_now)) return false;
  const Duration behind = now - agent_now;
  const bool was_wrong = behind_.contains(node);
  if (wrong(behind)) {
    behind_[node] = behind;
  } else {
    behind_.erase(node);
  }
  return was_wrong != wrong(behind);
}

Duration NodeClocks::behind(const std::string& node) const {
  const auto found = behind_.find(node);
  return found == behind_.end() ? Duration{0} : found->second;
}

void NodeClocks::correct(const std::string& node, Event& event) const {
  const Duration by = behind(node);
  if (by == Duration{0} || event.clock != ClockDomain::node_wall || !known(event.observed_at))
    return;
  event.observed_at += by;
  event.clock = ClockDomain::controller;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(by).count();
  event.fields.insert_or_assign("clock_behind_s", std::to_string(seconds));
}

}  // namespace faultline
