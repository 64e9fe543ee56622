// How long to wait before trying again: doubled with each failure up to a limit, with chance in it
// so that ten thousand nodes that lost the same controller do not come back in the same second.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rng.h"
#include "base/time.h"

namespace faultline {

class Backoff {
 public:
  Backoff(Duration first, Duration longest, Rng rng)
      : first_(first), longest_(longest), rng_(rng) {}

  /// The wait after one more failure: between half of the current step and all of it.
  Duration next() {
    step_ = step_ == Duration{0} ? first_ : std::min(longest_, step_ * 2);
    const auto half = step_.count() / 2;
    return Duration{
        half + static_cast<std::int64_t>(rng_.unit() * static_cast<double>(step_.count() - half))};
  }
  void reset() { step_ = Duration{0}; }

 private:
  Duration first_;
  Duration longest_;
  Duration step_{0};
  Rng rng_;
};

}  // namespace faultline
