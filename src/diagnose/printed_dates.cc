#include "diagnose/printed_dates.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "diagnose/gather.h"
#include "ingest/line_prefix.h"
#include "ingest/line_time.h"
#include "ingest/text_cursor.h"
#include "ingest/time_shape.h"

namespace faultline {
namespace {

using std::chrono::days;
using std::chrono::year_month_day;

constexpr std::size_t end_bytes = std::size_t{4} << 10U;
/// A file that was last written so long after its last line is a copy.
constexpr Duration copied_min = days{2};
/// The nearest of two dates a year apart.
constexpr Duration half_a_year = days{183};
/// Further from all other files it belongs to none of them.
constexpr Duration near_max = days{30};
constexpr int years_max = 8;
/// A file's time may be that of its unpacking long after, or the beginning of all time.
constexpr int stamp_years_max = 60;

bool has_year(TimeForm form) {
  return form == TimeForm::iso || form == TimeForm::ctime || form == TimeForm::month_day_year;
}

class Reader {
 public:
  Reader(Instant written, Instant now)
      : reference_{written, {}}, with_year_{std::max(written, now), {}} {}

  void read(std::string_view text) {
    find_iso(text);
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      read_prefix(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  [[nodiscard]] const PrintedDates& dates() const { return dates_; }

 private:
  /// "2025-01-10T15:27:25" wherever it stands in a line.
  void find_iso(std::string_view text) {
    constexpr std::string_view century = "20";
    for (auto at = text.find(century); at != std::string_view::npos;
         at = text.find(century, at + 1)) {
      if (at > 0 && is_digit(text[at - 1])) continue;
      TextCursor cursor(text, at);
      if (take_iso(cursor)) add(resolve_time(TimeForm::iso, cursor.since(at), with_year_).at);
    }
  }
  void read_prefix(std::string_view line) {
    LinePrefix prefix = parse_system_prefix(line);
    if (prefix.time_form == TimeForm::none) prefix = parse_job_prefix(line, {});
    const bool dated = has_year(prefix.time_form);
    const Instant at =
        resolve_time(prefix.time_form, prefix.time, dated ? with_year_ : reference_).at;
    if (prefix.time_form == TimeForm::ctime || prefix.time_form == TimeForm::month_day_year)
      add(at);
    if (dated && known(at)) dates_.last_stamp = std::max(dates_.last_stamp, at);
    const bool yearless =
        prefix.time_form == TimeForm::month_day || prefix.time_form == TimeForm::glog;
    if (yearless && known(at)) dates_.last_yearless = std::max(dates_.last_yearless, at);
  }
  void add(Instant at) {
    if (!known(at)) return;
    if (!known(dates_.first) || at < dates_.first) dates_.first = at;
    dates_.last = std::max(dates_.last, at);
  }

  TimeReference reference_;
  TimeReference with_year_;  // a file's own time may be older than its lines
  PrintedDates dates_;
};

bool copied(const PrintedDates& dates, Instant written) {
  return known(dates.last_yearless) && dates.last_yearless + copied_min < written;
}

Instant years_earlier(Instant at, int years) {
  const auto day = std::chrono::floor<days>(at);
  const year_month_day date = year_month_day{day} - std::chrono::years{years};
  // 29 February is 1 March where there is none.
  return Instant{std::chrono::sys_days{date}} + (at - day);
}

/// The last time of a file, its yearless ones in the year in which they are nearest to those with
/// one; not known where they are far apart in each.
Instant newest_by_stamps(const PrintedDates& dates) {
  if (!known(dates.last_yearless) || !known(dates.last_stamp)) return dates.last_stamp;
  const auto distance = [&](int years) {
    const Instant moved = years_earlier(dates.last_yearless, years);
    return moved < dates.last_stamp ? dates.last_stamp - moved : moved - dates.last_stamp;
  };
  int best = 0;
  for (int years = -stamp_years_max; years <= stamp_years_max; ++years) {
    if (distance(years) < distance(best)) best = years;
  }
  if (distance(best) > near_max) return {};
  return std::max(dates.last_stamp, years_earlier(dates.last_yearless, best));
}

struct Span {
  Instant first;
  Instant last;
  [[nodiscard]] Duration distance(Instant at) const {
    return at < first ? first - at : std::max(at - last, Duration{0});
  }
};

/// Of each file whose times have a year: its printed ones, and those of dumps and records.
std::vector<Span> dated_spans(const Gathered& gathered) {
  std::vector<Span> spans;
  auto next = gathered.events.begin();
  for (const ReadFile& read : gathered.files) {
    const auto end = std::next(next, static_cast<std::ptrdiff_t>(read.held));
    PrintedDates dates = read.dates;
    for (; next != end; ++next) {
      if (known(dates.last_yearless) || !known(next->observed_at)) continue;
      if (!known(dates.first)) dates.first = next->observed_at;
      dates.first = std::min(dates.first, next->observed_at);
      dates.last = std::max(dates.last, next->observed_at);
    }
    if (known(dates.first)) spans.push_back({dates.first, dates.last});
  }
  return spans;
}

/// 0 where no span is near in any year, or the year is right as it is.
int years_to_nearest(Instant at, const std::vector<Span>& spans) {
  int best = 0;
  Duration nearest = near_max;
  for (int years = 0; years <= years_max; ++years) {
    for (const Span& span : spans) {
      const Duration distance = span.distance(years_earlier(at, years));
      if (distance >= nearest) continue;
      nearest = distance;
      best = years;
    }
  }
  return best;
}

}  // namespace

PrintedDates printed_dates(std::string_view text, Instant written, Instant now) {
  Reader reader(written, now);
  reader.read(text.substr(0, end_bytes));
  if (text.size() > end_bytes) {
    const std::string_view tail = text.substr(std::max(end_bytes, text.size() - end_bytes));
    reader.read(tail.substr(std::min(tail.find('\n'), tail.size())));
  }
  const PrintedDates& dates = reader.dates();
  const bool open = known(dates.last_yearless) && !known(dates.last_stamp);
  if (open && text.size() > 2 * end_bytes)
    reader.read(text.substr(end_bytes, text.size() - 2 * end_bytes));
  return reader.dates();
}

Instant written_before(const PrintedDates& dates, Instant written) {
  if (const Instant newest = newest_by_stamps(dates); known(newest)) {
    // Any time from here to there gives its lines the same year, and is as good as another.
    const bool agrees = written + time_ahead_max >= newest &&
                        (written <= newest + half_a_year || !known(dates.last_yearless));
    return agrees ? written : newest + half_a_year;
  }
  if (!copied(dates, written) || !known(dates.last)) return written;
  return std::min(written, dates.last + half_a_year);
}

void settle_years(Gathered& gathered, Instant now) {
  const std::vector<Span> spans = dated_spans(gathered);
  auto next = gathered.events.begin();
  for (const ReadFile& read : gathered.files) {
    const auto end = std::next(next, static_cast<std::ptrdiff_t>(read.held));
    const Instant written = known(read.file.modified) ? read.file.modified : now;
    const bool may_move = !known(read.dates.first) && copied(read.dates, written);
    const int years = may_move ? years_to_nearest(read.dates.last_yearless, spans) : 0;
    for (; next != end; ++next) {
      if (years > 0 && known(next->observed_at))
        next->observed_at = years_earlier(next->observed_at, years);
    }
  }
}

}  // namespace faultline
