#include "trace/trace_clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace faultline::trace {
namespace {

[[maybe_unused]] bool kernel_trusts(const char* name) {
  const int file = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[32] = {};
  const ssize_t got = ::read(file, text, sizeof text - 1);
  ::close(file);
  return got > 0 && ::strncmp(text, name, ::strlen(name)) == 0;
}

}  // namespace

ringfmt::TickKind choose_ticks() {
#if defined(__x86_64__)
  if (kernel_trusts("tsc")) return ringfmt::TickKind::x86_tsc;
#elif defined(__aarch64__)
  return ringfmt::TickKind::arm_counter;
#endif
  return ringfmt::TickKind::monotonic_ns;
}

std::uint64_t measure_ticks_per_second(ringfmt::TickKind kind) {
  if (kind == ringfmt::TickKind::monotonic_ns) return 1'000'000'000;
#if defined(__aarch64__)
  std::uint64_t rate = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(rate));
  if (rate != 0) return rate;
#endif
  const std::int64_t began = read_clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t first = read_ticks(kind);
  std::int64_t now = began;
  while (now - began < calibration_ns) now = read_clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t ticks = read_ticks(kind) - first;
  return ticks * 1'000'000'000 / static_cast<std::uint64_t>(now - began);
}

}  // namespace faultline::trace
