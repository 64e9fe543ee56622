// The rhythm of a rank's output, and the suspicion that it has stopped. A training loop prints at a
// beat of its own; what is long for one is short for another, so the only yardstick is the longest
// pause that this rank has shown to be harmless. It only ever suspects: somebody else decides.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace faultline {

class OutputRhythm {
 public:
  struct Limits {
    Duration floor = std::chrono::seconds{60};  // silence shorter than this is never suspicious
    std::int64_t factor = 4;                    // times the longest pause seen
    Duration burst = std::chrono::milliseconds{100};  // outputs closer than this are one burst
    Duration steady = std::chrono::seconds{1};        // a burst counts as a pause each so often
    int warm_up_pauses = 4;     // start-up is not the rhythm: these are not learnt from
    int judged_pauses_min = 4;  // learnt from, before the first suspicion
  };
  struct Stall {
    Duration silent;
    Duration usual;  // the smoothed pause
  };

  explicit OutputRhythm(Limits limits) : limits_(limits) {}

  /// Output came at `now` (monotonic). The stall that it ended, if one was reported. `same_burst`:
  /// it was left to gather after the output before, so the time between says nothing.
  std::optional<Stall> output(Duration now, bool same_burst = false);
  /// The stall, once, when the silence has become too long.
  std::optional<Stall> check(Duration now);
  /// When check() could next say something; nullopt while it cannot.
  [[nodiscard]] std::optional<Duration> next_check() const;

 private:
  void learn(Duration pause);
  [[nodiscard]] Duration threshold() const;
  [[nodiscard]] bool judges() const { return learnt_ >= limits_.judged_pauses_min; }

  Limits limits_;
  std::optional<Duration> last_output_;
  Duration counted_{0};  // the output that was last counted as one after a pause
  std::int64_t pauses_ = 0;
  std::int64_t learnt_ = 0;
  Duration usual_{0};
  Duration longest_{0};
  bool stalled_ = false;
};

}  // namespace faultline
