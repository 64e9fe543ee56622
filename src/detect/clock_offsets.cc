#include "detect/clock_offsets.h"

#include <algorithm>

namespace faultline {
namespace {

bool by_node_clock(const Event& event) {
  const bool node =
      event.clock == ClockDomain::node_kernel || event.clock == ClockDomain::node_wall;
  return node && !event.reporter.empty() && known(event.observed_at) && known(event.received_at);
}

}  // namespace

void ClockOffsets::observe(const Event& event) {
  if (!by_node_clock(event)) return;
  const Duration delay = event.received_at - event.observed_at;
  const auto [entry, fresh] = delays_.try_emplace(event.reporter, Delay{delay, event.received_at});
  Delay& known_delay = entry->second;
  known_delay.least = std::min(known_delay.least, delay);
  known_delay.heard_again = known_delay.heard_again || known_delay.heard_at != event.received_at;
}

Duration ClockOffsets::of(const std::string& reporter) const {
  const auto entry = delays_.find(reporter);
  if (entry == delays_.end() || entry->second.least > clock_offset_max) return {};
  return std::max(entry->second.least,
                  Duration{0});  // a clock ahead was cut to the time of arrival already
}

Instant ClockOffsets::corrected(const Fact& fact) const {
  const auto entry = delays_.find(fact.event.reporter);
  if (!by_node_clock(fact.event) || entry == delays_.end()) return fact.at;
  const Delay& delay = entry->second;
  if (delay.least > clock_offset_max || delay.least < -clock_offset_max) return fact.at;
  if (delay.least > Duration{0}) return delay.heard_again ? fact.at + delay.least : fact.at;
  return std::min(fact.at, fact.event.observed_at + delay.least);
}

}  // namespace faultline
