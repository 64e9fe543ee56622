#include "ingest/line_time.h"

#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr auto month_names = std::to_array<std::string_view>(
    {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"});

constexpr std::int64_t seconds_max = 9'000'000'000;  // 64-bit nanoseconds hold as many

constexpr int years_back_max = 8;  // 29 February comes back at the latest after eight years

struct MonthDay {
  unsigned month = 0;
  unsigned day = 0;
};

std::optional<unsigned> month_of(std::string_view name) {
  for (unsigned i = 0; i < month_names.size(); ++i) {
    if (month_names[i] == name) return i + 1;
  }
  return std::nullopt;
}

/// "03" or " 3" or "3".
std::optional<unsigned> small_number(std::string_view text) {
  return parse_number<unsigned>(trim(text));
}

/// "17:58:03.102", which the prefix parser has found in this shape.
std::optional<Duration> time_of_day(std::string_view text) {
  if (text.size() < 8) return std::nullopt;
  // Reuses the one reader of times there is, with a date that does not matter.
  const auto instant = parse_instant("2000-01-01T" + std::string(text));
  if (!instant) return std::nullopt;
  return *instant - Instant{sys_days{year{2000} / 1 / 1}};
}

/// The latest year in which this date lies before the reference, or at most a day after it.
std::optional<Instant> with_latest_year(MonthDay date, Duration of_day, Instant reference,
                                        Duration utc_offset) {
  const int last = static_cast<int>(year_month_day{std::chrono::floor<days>(reference)}.year()) + 1;
  for (int y = last; y >= last - years_back_max - 1; --y) {
    const year_month_day day{year{y}, std::chrono::month{date.month}, std::chrono::day{date.day}};
    if (!day.ok() || y < 1971 || y > 2200) continue;
    const Instant at = Instant{sys_days{day}} + of_day - utc_offset;
    if (at <= reference + time_ahead_max) return at;
  }
  return std::nullopt;
}

/// "Oct 02 09:14:02" as date and time of day.
struct SyslogTime {
  MonthDay date;
  Duration of_day;
};
std::optional<SyslogTime> read_syslog_time(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon < 6) return std::nullopt;
  const auto month = month_of(text.substr(0, 3));
  const auto day = small_number(text.substr(3, colon - 5));
  const auto of_day = time_of_day(text.substr(colon - 2));
  if (!month || !day || !of_day) return std::nullopt;
  return SyslogTime{{*month, *day}, *of_day};
}

std::optional<Instant> from_month_day(std::string_view text, const TimeReference& reference) {
  const auto read = read_syslog_time(text);
  if (!read) return std::nullopt;
  return with_latest_year(read->date, read->of_day, reference.written_before, reference.utc_offset);
}

/// "1129 19:50:15.346", "818 17:40:34.227": the last two digits of the date are the day.
std::optional<Instant> from_glog(std::string_view text, const TimeReference& reference) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos || space < 3) return std::nullopt;
  const auto month = small_number(text.substr(0, space - 2));
  const auto day = small_number(text.substr(space - 2, 2));
  const auto of_day = time_of_day(text.substr(space + 1));
  if (!month || !day || !of_day) return std::nullopt;
  return with_latest_year({*month, *day}, *of_day, reference.written_before, reference.utc_offset);
}

/// "Nov  5 11:20:01" and "2025".
std::optional<Instant> in_year(std::string_view text, std::string_view year_text,
                               const TimeReference& reference) {
  const auto read = read_syslog_time(text);
  const auto y = small_number(year_text);
  if (!read || !y || *y < 1971 || *y > 2200) return std::nullopt;
  const year_month_day date{year{static_cast<int>(*y)}, std::chrono::month{read->date.month},
                            std::chrono::day{read->date.day}};
  if (!date.ok()) return std::nullopt;
  return Instant{sys_days{date}} + read->of_day - reference.utc_offset;
}

/// "Wed Nov  5 11:20:01 2025".
std::optional<Instant> from_ctime(std::string_view text, const TimeReference& reference) {
  constexpr std::size_t weekday_bytes = 4;  // "Wed "
  constexpr std::size_t year_bytes = 5;     // " 2025"
  if (text.size() < weekday_bytes + year_bytes) return std::nullopt;
  return in_year(text.substr(weekday_bytes, text.size() - weekday_bytes - year_bytes),
                 text.substr(text.size() - year_bytes), reference);
}

/// "Nov 05 2025 14:44:42".
std::optional<Instant> from_month_day_year(std::string_view text, const TimeReference& reference) {
  constexpr std::size_t year_at = 7;
  constexpr std::size_t year_bytes = 5;  // "2025 "
  if (text.size() < year_at + year_bytes) return std::nullopt;
  return in_year(std::string(text.substr(0, year_at)).append(text.substr(year_at + year_bytes)),
                 text.substr(year_at, year_bytes), reference);
}

std::optional<Instant> from_iso(std::string_view text, const TimeReference& reference) {
  const auto instant = parse_instant(text);
  if (!instant) return std::nullopt;
  const auto after_date = text.substr(10);
  const bool has_offset = after_date.find_first_of("Z+-") != std::string_view::npos;
  return has_offset ? instant : *instant - reference.utc_offset;
}

/// A time of day is today's, or yesterday's if today's is still to come.
std::optional<Instant> from_clock(std::string_view text, const TimeReference& reference) {
  const auto of_day = time_of_day(text);
  if (!of_day) return std::nullopt;
  const auto local_day = std::chrono::floor<days>(reference.written_before + reference.utc_offset);
  const Instant today = Instant{local_day} + *of_day - reference.utc_offset;
  return today <= reference.written_before + std::chrono::minutes{5} ? today : today - days{1};
}

/// "901233.11".
std::optional<Duration> seconds_of(std::string_view text) {
  const auto point = text.find('.');
  const auto whole = parse_number<std::int64_t>(text.substr(0, point));
  if (!whole || *whole > seconds_max || point == std::string_view::npos) return std::nullopt;
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 100'000'000;
  for (const char c : text.substr(point + 1)) {
    if (!is_digit(c)) return std::nullopt;
    nanoseconds += (c - '0') * unit;
    unit /= 10;
  }
  return *whole * std::chrono::seconds{1} + Duration{nanoseconds};
}

std::optional<Instant> from_boot(TimeForm form, std::string_view text,
                                 const TimeReference& reference) {
  const auto since_boot = time_since_boot(form, text);
  if (!since_boot || !known(reference.boot)) return std::nullopt;
  return reference.boot + *since_boot;
}

std::optional<Instant> read_time(TimeForm form, std::string_view text,
                                 const TimeReference& reference) {
  switch (form) {
    case TimeForm::none: return std::nullopt;
    case TimeForm::kernel_micros:
    case TimeForm::kernel_seconds: return from_boot(form, text, reference);
    case TimeForm::unix_seconds:
      if (const auto since = seconds_of(text)) return Instant{} + *since;
      return std::nullopt;
    case TimeForm::ctime: return from_ctime(text, reference);
    case TimeForm::iso: return from_iso(text, reference);
    case TimeForm::month_day: return from_month_day(text, reference);
    case TimeForm::month_day_year: return from_month_day_year(text, reference);
    case TimeForm::glog: return from_glog(text, reference);
    case TimeForm::clock: return from_clock(text, reference);
  }
  return std::nullopt;
}

bool counts_from_boot(TimeForm form) {
  return form == TimeForm::kernel_micros || form == TimeForm::kernel_seconds;
}

}  // namespace

std::optional<Duration> time_since_boot(TimeForm form, std::string_view text) {
  if (form == TimeForm::kernel_micros) {
    const auto micros = parse_number<std::int64_t>(text);
    if (!micros || *micros > time_distance_max / std::chrono::microseconds{1}) return std::nullopt;
    return *micros * std::chrono::microseconds{1};
  }
  if (form != TimeForm::kernel_seconds) return std::nullopt;
  const auto since = seconds_of(text);
  return since && *since <= time_distance_max ? since : std::nullopt;
}

LineTime resolve_time(TimeForm form, std::string_view text, const TimeReference& reference) {
  if (form == TimeForm::none) return {};
  const auto at = read_time(form, text, reference);
  // Without a boot time a kernel's time is only not known; it is not wrong.
  if (!at && counts_from_boot(form) && time_since_boot(form, text)) return {};
  if (!at || *at == Instant{}) return {Instant{}, true};
  // Compared as a difference that cannot overflow: both lie between 1678 and 2261 and are far apart
  // at the most by that.
  const bool far =
      known(reference.written_before) && (*at > reference.written_before + time_ahead_max ||
                                          *at < reference.written_before - time_distance_max);
  return far ? LineTime{Instant{}, true} : LineTime{*at, false};
}

}  // namespace faultline
