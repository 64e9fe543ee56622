// Time as values. Reading a clock is an effect and goes through base/clock.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace faultline {

using Duration = std::chrono::nanoseconds;

/// A point of wall-clock time, UTC, in nanoseconds since 1970-01-01. The default value means "not
/// known".
using Instant = std::chrono::sys_time<Duration>;

/// "2026-11-29T21:18:32.123456Z" (microseconds, always UTC); "-" for the unknown instant.
std::string to_text(Instant instant);

/// Reads what to_text writes, and RFC 3339 with any offset and 0 to 9 fraction digits. nullopt if
/// it is not one.
std::optional<Instant> parse_instant(std::string_view text);

/// "250 ms", "3.2 s", "5 min", "2 h 10 min": for people.
std::string to_text(Duration duration);

inline bool known(Instant instant) { return instant != Instant{}; }

}  // namespace faultline
