// The ticks that records carry: a counter of the CPU where the kernel itself trusts it as its
// clock, which costs 10 ns to read, else the monotonic clock, which costs 24.
#pragma once

#include <time.h>

#include <cstdint>

#include "ringfmt/ring_words.h"

namespace faultline::trace {

inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::uint64_t read_ticks(ringfmt::TickKind kind) {
#if defined(__x86_64__)
  if (kind == ringfmt::TickKind::x86_tsc) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  if (kind == ringfmt::TickKind::arm_counter) {
    std::uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC));
}

/// What this machine's records are to carry. May read files; at the start alone.
ringfmt::TickKind choose_ticks();

/// How many of them are in a second; takes `calibration_ns` where nobody says it.
inline constexpr std::int64_t calibration_ns = 2'000'000;
std::uint64_t measure_ticks_per_second(ringfmt::TickKind kind);

}  // namespace faultline::trace
