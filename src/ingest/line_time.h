// Printed times -> instants. Logs leave out years, zones and dates, count from boot, or lie; what
// cannot be believed is unknown rather than wrong, since an event with a wrong time blames whoever
// failed at that moment.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "ingest/line_prefix.h"

namespace faultline {

/// A printed time further than this before `written_before` is not believed (a clock that starts in
/// 1970), and no machine runs for longer.
inline constexpr Duration time_distance_max = std::chrono::hours{24 * 3653};
/// A line cannot have been written after it was read; a day is for zones that were not told.
inline constexpr Duration time_ahead_max = std::chrono::hours{24};

struct TimeReference {
  Instant written_before;  // when the line was written at the latest, within a day
  Instant boot;            // not known: kernel times are unknown
  Duration utc_offset{0};  // local time minus UTC, for times that do not say
};

struct LineTime {
  Instant at;            // unknown if there is none or it is not believed
  bool suspect = false;  // a time is there and is not believed
};

/// The same input gives the same answer; no text makes it fail.
LineTime resolve_time(TimeForm form, std::string_view text, const TimeReference& reference);

/// Time since boot of "901233.11" or of kmsg's microseconds; nullopt if it is neither or longer
/// than time_distance_max.
std::optional<Duration> time_since_boot(TimeForm form, std::string_view text);

}  // namespace faultline
