#include "ingest/boot_records.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "ingest/line_time.h"
#include "ingest/text_cursor.h"
#include "ingest/time_shape.h"

namespace faultline {
namespace {

constexpr Duration outlived_after = std::chrono::days{7};
constexpr std::size_t boots_max = 4096;
constexpr std::size_t boot_id_digits = 32;

/// "Wed Nov 25 10:23", "Wed Nov 25 10:23:11 2026": what follows the weekday, "" without one.
std::string_view behind_weekday(std::string_view line) {
  static constexpr std::array<std::string_view, 7> days = {" Mon ", " Tue ", " Wed ", " Thu ",
                                                           " Fri ", " Sat ", " Sun "};
  std::size_t first = std::string_view::npos;
  for (const std::string_view day : days) first = std::min(first, line.find(day));
  return first == std::string_view::npos ? "" : line.substr(first + 5);
}

/// How long the date at the beginning is; 0 without one.
std::size_t date_length(std::string_view text) {
  constexpr std::size_t short_form = 12;  // "Nov 25 10:23"
  constexpr std::size_t long_form = 20;   // "Nov 25 10:23:11 2026"
  const auto is_digit_at = [&](std::size_t at) { return at < text.size() && is_digit(text[at]); };
  if (!is_digit_at(8) || !is_digit_at(11) || text[9] != ':') return 0;
  const bool full = text.size() >= long_form && text[short_form] == ':' && is_digit_at(16);
  return full ? long_form : short_form;
}

/// As TimeForm::ctime or TimeForm::month_day has it.
Instant instant_of(std::string_view date, const Origin& origin) {
  const TimeReference reference{origin.last_written, {}, origin.utc_offset};
  if (date.size() > 15)  // any weekday will do
    return resolve_time(TimeForm::ctime, "Mon " + std::string(date), reference).at;
  return resolve_time(TimeForm::month_day, std::string(date) + ":00", reference).at;
}

/// "Tue 2026-11-24 10:23:11 UTC" at the beginning of `text`, which moves behind it.
std::string_view take_entry_time(std::string_view& text) {
  constexpr std::size_t weekday = 4;
  text = trim(text);
  if (text.size() < weekday || text[3] != ' ') return {};
  TextCursor cursor(text.substr(weekday));
  if (!take_iso(cursor)) return {};
  std::string_view time = text.substr(weekday, 19);
  text.remove_prefix(weekday + 19);
  return time;
}

}  // namespace

std::optional<BootRow> boot_row(std::string_view line) {
  const bool boot = line.starts_with("reboot ") && line.find(" system boot ") != line.npos;
  const bool shutdown = line.starts_with("shutdown ") && line.find(" system down ") != line.npos;
  if (!boot && !shutdown) return std::nullopt;
  const std::string_view text = behind_weekday(line);
  const std::size_t length = date_length(text);
  if (length == 0) return std::nullopt;
  return BootRow{boot, text.substr(0, length)};
}

std::string_view login_date(std::string_view line) {
  const std::string_view text = behind_weekday(line);
  return text.substr(0, date_length(text));
}

std::optional<JournalBoot> journal_boot(std::string_view line) {
  line = trim(line);
  const auto blank = line.find(' ');
  if (blank == line.npos || !parse_number<int>(line.substr(0, blank))) return std::nullopt;
  line = trim(line.substr(blank));
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  if (line.find_first_not_of(hexadecimal) != boot_id_digits) return std::nullopt;
  line.remove_prefix(boot_id_digits);
  JournalBoot boot;
  boot.first = take_entry_time(line);
  // The zone, and in older versions a dash: "UTC", "UTC—".
  const std::string_view rest = line;
  for (const std::string_view day : {"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "}) {
    const auto at = rest.find(day);
    if (at == rest.npos) continue;
    line = rest.substr(at);
    boot.last = take_entry_time(line);
  }
  if (boot.first.empty()) return std::nullopt;
  return boot;
}

BootRecordsDecoder::BootRecordsDecoder(const SystemDatabases& databases, Origin origin,
                                       Counters& counters, const DecoderLimits& limits)
    : origin_(std::move(origin)),
      counters_(counters),
      records_({databases.kernel, nullptr}, origin_, counters, limits) {}

std::vector<Event> BootRecordsDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                            Instant now) {
  lines_.feed(bytes, offset, [&](const Line& line) { take_line(line, now); });
  return records_.take(now);
}

std::vector<Event> BootRecordsDecoder::finish(Instant now) {
  lines_.finish([&](const Line& line) { take_line(line, now); });
  if (knows_shutdowns_) {
    for (const Boot& boot : unclean_) {
      if (newest_ - boot.at > outlived_after) continue;
      add_line(boot.at, "boot_unclean: " + std::string(boot_record_words), boot.offset, now);
    }
  }
  return records_.finish(now);
}

void BootRecordsDecoder::take_line(const Line& line, Instant now) {
  if (const auto date = login_date(line.text); !known(newest_) && !date.empty())
    newest_ = instant_of(date, origin_);  // it comes first
  if (const auto row = boot_row(line.text)) return take_row(*row, line.offset);
  const auto boot = journal_boot(line.text);
  if (!boot) return;
  counters_.add("ingest_boot_records_total");
  const TimeReference reference{origin_.last_written, {}, origin_.utc_offset};
  const Instant first = resolve_time(TimeForm::iso, boot->first, reference).at;
  const Instant last = resolve_time(TimeForm::iso, boot->last, reference).at;
  if (known(first)) add_line(first, "boot_began: journal", line.offset, now);
  if (known(last)) add_line(last, "boot_last_entry: journal", line.offset, now);
}

void BootRecordsDecoder::take_row(const BootRow& row, std::uint64_t offset) {
  counters_.add("ingest_boot_records_total");
  knows_shutdowns_ = knows_shutdowns_ || !row.boot;
  if (row.boot && later_ && known(later_->at) && unclean_.size() < boots_max)
    unclean_.push_back(*later_);
  later_.reset();
  if (row.boot) later_ = Boot{instant_of(row.time, origin_), offset};
}

void BootRecordsDecoder::add_line(Instant at, std::string_view words, std::uint64_t offset,
                                  Instant now) {
  std::string head = to_text(at) + " ";
  if (!origin_.node.empty()) head += origin_.node + " ";
  head += "kernel: ";
  records_.add({EventSource::kernel_log, head, words, offset, {}}, now);
}

}  // namespace faultline
