// From a black box's ticks to time, by the anchors in it. They are somebody else's words: whatever
// goes back is left out and counted, and nothing overflows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/counter_values.h"
#include "ingest/ring_snapshot.h"
#include "ringfmt/ring_layout.h"

namespace faultline {

/// The wall clock was set if it moved this much against the monotonic one between two anchors; a
/// clock that is slewed moves a two-thousandth.
inline constexpr Duration wall_step_min{std::chrono::milliseconds{100}};
/// Ticks that lie farther from every anchor are no time.
inline constexpr Duration tick_reach_max{std::chrono::hours{24 * 366}};

class RingClock {
 public:
  /// `anchors` in any order. Counts clock_went_back, wall_clock_steps and wild_tick_rate.
  RingClock(std::span<const ringfmt::Anchor> anchors, std::uint64_t ticks_per_second,
            CounterValues& problems);

  /// Not known for 0, without an anchor, and out of reach; the last is counted as wild_times.
  [[nodiscard]] RingTime at(std::uint64_t ticks, CounterValues& problems) const;
  [[nodiscard]] Duration length(std::uint64_t ticks) const;
  [[nodiscard]] std::uint64_t last_anchor_ticks() const {
    return anchors_.empty() ? 0 : anchors_.back().ticks;
  }

 private:
  std::vector<ringfmt::Anchor> anchors_;  // by number
  double ns_per_tick_ = 1;
};

}  // namespace faultline
