// How long a training takes between its steps, by the times of its lines; and whether the log goes
// on long after the last one. A log that just ends says nothing: it may have been copied then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace faultline {

/// A shorter silence is an evaluation or a checkpoint.
inline constexpr Duration stalled_min = std::chrono::minutes{10};
/// So many times the longest that the steps before have taken.
inline constexpr int stalled_paces_min = 5;
/// Fewer steps show no pace.
inline constexpr int paced_steps_min = 3;

class StepPace {
 public:
  struct Stall {
    Instant since;      // the last step
    Instant until;      // the last line
    Duration usual{0};  // the longest between two steps before it
  };

  /// Of each line of one log in order that has a time, and the step that it counts, if it does. A
  /// step that is told again is no progress; one that counts anew, as an evaluation does, is. True
  /// if the line was one.
  bool line(Instant at, std::optional<std::int64_t> step);
  [[nodiscard]] std::optional<Stall> stall() const;

 private:
  std::int64_t step_ = -1;
  int steps_ = 0;
  Instant stepped_at_, last_;
  Duration longest_{0};
};

}  // namespace faultline
