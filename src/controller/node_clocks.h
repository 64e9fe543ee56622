// What the nodes' clocks show against ours, as their agents' heartbeats say. A clock that was
// stepped by hours must neither make a fresh fault look old nor tie it to the job that ran hours
// ago.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "model/event.h"

namespace faultline {

/// Less than this is left to the detectors, which see it in the events themselves, to the
/// millisecond.
inline constexpr Duration clock_offset_min = std::chrono::minutes{1};

/// Not thread-safe.
class NodeClocks {
 public:
  /// An agent said that it is `agent_now`. True if the node's clock has just become wrong, or right
  /// again: worth a line in the log. An unknown `agent_now` says nothing.
  bool heard(const std::string& node, Instant agent_now, Instant now);

  /// How far behind ours the node's clock is; negative: ahead; 0 while it is less than
  /// clock_offset_min.
  [[nodiscard]] Duration behind(const std::string& node) const;

  /// Puts our time into an event that was stamped by its node's clock, and says so in it. What was
  /// spooled before the clock was stepped is moved by the same, which nobody can tell.
  void correct(const std::string& node, Event& event) const;

 private:
  std::map<std::string, Duration> behind_;
};

}  // namespace faultline
