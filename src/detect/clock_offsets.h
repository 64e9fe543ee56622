// How far each node's clock is from ours, by how long its events take to arrive.
#pragma once

#include <map>
#include <string>

#include "detect/event_window.h"

namespace faultline {

/// A larger difference between a clock and ours is a log read later, not a clock that is off.
inline constexpr Duration clock_offset_max = std::chrono::minutes{10};

/// How far each reporter's clock is behind ours: the least that an event took to arrive.
class ClockOffsets {
 public:
  void observe(const Event& event);
  [[nodiscard]] Duration of(const std::string& reporter) const;
  /// When the fact happened, on our clock. One delivery cannot tell a clock that is behind from a
  /// line that came late, so it needs a second one.
  [[nodiscard]] Instant corrected(const Fact& fact) const;

 private:
  struct Delay {
    Duration least{0};
    Instant heard_at;
    bool heard_again = false;
  };
  std::map<std::string, Delay> delays_;
};

}  // namespace faultline
