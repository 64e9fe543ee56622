#include "base/time.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace faultline {
namespace {

using std::chrono::days;
using std::chrono::hh_mm_ss;
using std::chrono::microseconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

/// Reads exactly `digits` decimal digits at `position` and moves past them.
std::optional<int> read_digits(std::string_view text, std::size_t& position, std::size_t digits) {
  if (position + digits > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = text[position + i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  position += digits;
  return value;
}

bool read_char(std::string_view text, std::size_t& position, std::string_view allowed) {
  if (position >= text.size() || allowed.find(text[position]) == std::string_view::npos)
    return false;
  ++position;
  return true;
}

std::optional<Duration> read_fraction(std::string_view text, std::size_t& position) {
  if (position >= text.size() || (text[position] != '.' && text[position] != ','))
    return Duration{0};
  ++position;
  std::int64_t value = 0;
  int digits = 0;
  for (; position < text.size() && text[position] >= '0' && text[position] <= '9';
       ++position, ++digits) {
    if (digits < 9) value = value * 10 + (text[position] - '0');
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits) value *= 10;
  return Duration{value};
}

/// "Z", "+01:00", "+0100" or nothing (taken as UTC). Returns the offset to subtract.
std::optional<Duration> read_offset(std::string_view text, std::size_t& position) {
  if (position == text.size()) return Duration{0};
  if (read_char(text, position, "Zz")) return Duration{0};
  const bool negative = text[position] == '-';
  if (!read_char(text, position, "+-")) return std::nullopt;
  const auto hours = read_digits(text, position, 2);
  if (position < text.size() && text[position] == ':') ++position;
  const auto minutes = read_digits(text, position, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const Duration offset = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
  return negative ? -offset : offset;
}

}  // namespace

std::string to_text(Instant instant) {
  if (!known(instant)) return "-";
  const auto day = std::chrono::floor<days>(instant);
  const year_month_day date{sys_days{day}};
  const hh_mm_ss time{std::chrono::floor<microseconds>(instant - day)};
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return buffer.data();
}

std::optional<Instant> parse_instant(std::string_view text) {
  std::size_t at = 0;
  const auto year = read_digits(text, at, 4);
  if (!year || !read_char(text, at, "-")) return std::nullopt;
  const auto month = read_digits(text, at, 2);
  if (!month || !read_char(text, at, "-")) return std::nullopt;
  const auto day = read_digits(text, at, 2);
  if (!day || !read_char(text, at, "Tt ")) return std::nullopt;
  const auto hour = read_digits(text, at, 2);
  if (!hour || !read_char(text, at, ":")) return std::nullopt;
  const auto minute = read_digits(text, at, 2);
  if (!minute || !read_char(text, at, ":")) return std::nullopt;
  const auto second = read_digits(text, at, 2);
  if (!second) return std::nullopt;
  const auto fraction = read_fraction(text, at);
  const auto offset = fraction ? read_offset(text, at) : std::nullopt;
  if (!offset || at != text.size()) return std::nullopt;
  const year_month_day date{std::chrono::year{*year},
                            std::chrono::month{static_cast<unsigned>(*month)},
                            std::chrono::day{static_cast<unsigned>(*day)}};
  // Years that 64-bit nanoseconds cannot hold are refused rather than wrapped.
  if (!date.ok() || *year < 1678 || *year > 2261 || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  return Instant{sys_days{date}} + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
         std::chrono::seconds{*second} + *fraction - *offset;
}

std::string to_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  std::array<char, 64> buffer{};
  if (seconds < 1 && seconds > -1) {
    std::snprintf(buffer.data(), buffer.size(), "%.0f ms", seconds * 1000);
  } else if (seconds < 120 && seconds > -120) {
    std::snprintf(buffer.data(), buffer.size(), "%.1f s", seconds);
  } else if (seconds < 7200) {
    std::snprintf(buffer.data(), buffer.size(), "%.0f min", seconds / 60);
  } else if (seconds < 172800) {
    const auto minutes = static_cast<std::int64_t>(seconds / 60);
    std::snprintf(buffer.data(), buffer.size(), "%d h %d min", static_cast<int>(minutes / 60),
                  static_cast<int>(minutes % 60));
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%.1f days", seconds / 86400);
  }
  return buffer.data();
}

}  // namespace faultline
