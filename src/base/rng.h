// The port through which chance enters: seeded, so that a run can be replayed. Not for secrets.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace faultline {

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, every seed is a good one. Not
/// thread-safe.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
    return word ^ (word >> 31);
  }

  /// 0 to bound - 1. The bias of the remainder is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    FAULTLINE_CHECK(bound > 0);
    return next() % bound;
  }

  /// 0 <= x < 1, with 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace faultline
