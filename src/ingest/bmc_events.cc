#include "ingest/bmc_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "ingest/line_time.h"
#include "ingest/text_cursor.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t id_digits_max = 8;
constexpr std::string_view undated = "Pre-Init";

/// One record as its line has it. `sensor` says its type too.
struct Row {
  std::string_view host;  // "" unless pdsh wrote it
  std::string_view date;
  std::string_view clock;
  std::string sensor;
  std::string_view event;
  bool over = false;
};

bool is_record_id(std::string_view id) {
  constexpr std::string_view hexadecimal = "0123456789abcdefABCDEF";
  return !id.empty() && id.size() <= id_digits_max &&
         id.find_first_not_of(hexadecimal) == std::string_view::npos;
}

/// "11/29/2026", "11/29/26", "Nov-29-2026" as "2026-11-29"; "" if it is none.
std::string iso_date(std::string_view date) {
  static constexpr std::array<std::string_view, 12> months = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto parts = split(date, date.find('/') == std::string_view::npos ? '-' : '/');
  if (parts.size() != 3) return {};
  const auto* const named = std::find(months.begin(), months.end(), parts[0]);
  std::optional<unsigned> month = parse_number<unsigned>(parts[0]);
  if (named != months.end()) month = static_cast<unsigned>(named - months.begin()) + 1;
  auto day = parse_number<unsigned>(parts[1]), year = parse_number<unsigned>(parts[2]);
  if (!month || !day || !year) return {};
  if (*month > 12) std::swap(*month, *day);  // some locales put the day first
  if (*year < 100) *year += 2000;
  const bool possible = *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31 && *year < 10000;
  return possible ? fmt::format("{:04}-{:02}-{:02}", *year, *month, *day) : std::string();
}

/// "19:47:31", "07:47:31 PM UTC" as "19:47:31"; "" if it is none.
std::string clock_of(std::string_view text) {
  const auto parts = split(text.substr(0, text.find(' ')), ':');
  if (parts.size() != 3) return {};
  auto hour = parse_number<unsigned>(parts[0]);
  const auto minute = parse_number<unsigned>(parts[1]), second = parse_number<unsigned>(parts[2]);
  if (!hour || !minute || !second) return {};
  if (text.find(" PM") != std::string_view::npos) *hour = *hour % 12 + 12;
  if (text.find(" AM") != std::string_view::npos) *hour %= 12;
  const bool possible = *hour < 24 && *minute < 60 && *second <= 60;
  return possible ? fmt::format("{:02}:{:02}:{:02}", *hour, *minute, *second) : std::string();
}

bool is_date(std::string_view date) { return date == undated || !iso_date(date).empty(); }

/// What the sensor's type leaves open, its name says.
std::string sensor_words(std::string_view type, std::string_view name) {
  std::string words(type);
  if (!name.empty() && name.find(type) != 0) words += " " + std::string(name);
  if (!type.empty() && name.starts_with(type)) words = name;
  std::replace(words.begin(), words.end(), ':', ' ');
  return words;
}

bool says_over(std::string_view word) { return word.find("eassert") != std::string_view::npos; }

/// "  1a | 11/29/2026 | 19:47:31 | Memory #0x87 | Uncorrectable ECC | Asserted", with commas where
/// -c was given; FreeIPMI has the sensor's name and its type apart.
std::optional<Row> row_of(std::string_view line) {
  const char divider = line.find('|') == std::string_view::npos ? ',' : '|';
  auto cells = split(line, divider);
  if (cells.size() < 5) return std::nullopt;
  for (auto& cell : cells) cell = trim(cell);
  Row row;
  if (const auto colon = cells[0].rfind(':'); colon != std::string_view::npos) {
    row.host = trim(cells[0].substr(0, colon));
    cells[0] = trim(cells[0].substr(colon + 1));
  }
  if (!is_record_id(cells[0]) || !is_date(cells[1])) return std::nullopt;
  if (!row.host.empty() && !valid_node_name(row.host)) return std::nullopt;
  row.date = cells[1];
  row.clock = cells[2];
  if (cells[3].starts_with("OEM record")) return row;
  const bool of_freeipmi = cells[1].find('-') != std::string_view::npos && row.date != undated;
  if (of_freeipmi && cells.size() < 6) return std::nullopt;
  row.sensor = of_freeipmi ? sensor_words(cells[4], cells[3]) : sensor_words(cells[3], {});
  row.event = of_freeipmi ? cells[5] : cells[4];
  row.over = std::any_of(cells.begin() + 5, cells.end(), says_over);
  // A job's table of its steps may have such a date.
  const bool says_direction =
      std::any_of(cells.begin() + 5, cells.end(),
                  [](std::string_view cell) { return cell == "Asserted" || cell == "Deasserted"; });
  return divider == '|' || says_direction ? std::optional(row) : std::nullopt;
}

}  // namespace

bool is_bmc_record(std::string_view line) { return row_of(line).has_value(); }

BmcEventDecoder::BmcEventDecoder(const SystemDatabases& databases, Origin origin,
                                 Counters& counters, const DecoderLimits& limits)
    : origin_(std::move(origin)),
      counters_(counters),
      records_({databases.kernel, nullptr}, origin_, counters, limits) {}

std::vector<Event> BmcEventDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                         Instant now) {
  lines_.feed(bytes, offset, [&](const Line& line) { take_line(line, now); });
  return records_.take(now);
}

std::vector<Event> BmcEventDecoder::finish(Instant now) {
  lines_.finish([&](const Line& line) { take_line(line, now); });
  end_record(now);
  return records_.finish(now);
}

void BmcEventDecoder::take_line(const Line& line, Instant now) {
  if (const auto row = row_of(line.text)) {
    const std::string time = std::string(row->date) + " " + std::string(row->clock);
    return add(row->host, {time, {}, row->sensor, std::string(row->event), row->over, line.offset},
               now);
  }
  const auto colon = line.text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = trim(line.text.substr(0, colon));
  if (key == "SEL Record ID") {
    end_record(now);
    open_.offset = line.offset;
  }
  read(key, trim(line.text.substr(colon + 1)));
}

void BmcEventDecoder::read(std::string_view key, std::string_view value) {
  if (key == "Timestamp") open_.time = value;
  if (key == "Sensor Type") open_.sensor_type = value;
  if (key == "Sensor ID") open_.sensor = value;
  if (key == "Sensor Number" && open_.sensor.empty()) open_.sensor = "#0x" + std::string(value);
  if (key == "Event Direction") open_.over = says_over(value);
  if (key == "Description") open_.event = value;
}

void BmcEventDecoder::end_record(Instant now) {
  Record record = std::exchange(open_, {});
  if (record.time.empty()) return;
  record.sensor = sensor_words(record.sensor_type, record.sensor);
  add({}, record, now);
}

/// "Nov 29 2026" and what is like it, as a syslog's line has it before its words.
void BmcEventDecoder::add(std::string_view host, const Record& record, Instant now) {
  counters_.add("ingest_bmc_records_total");
  if (record.event.empty()) return;
  if (host.empty()) host = origin_.node;
  const auto blank = record.time.find(' ');
  const std::string_view clock =
      std::string_view(record.time).substr(std::min(blank + 1, record.time.size()));
  const bool utc = clock.find("UTC") != std::string_view::npos;
  const TimeReference reference{origin_.last_written, {}, utc ? Duration{0} : origin_.utc_offset};
  const std::string date = iso_date(std::string_view(record.time).substr(0, blank));
  const Instant at = date.empty()
                         ? Instant{}
                         : resolve_time(TimeForm::iso, date + " " + clock_of(clock), reference).at;
  std::string head;
  if (known(at)) head += to_text(at) + " ";
  if (known(at) && !host.empty()) head += std::string(host) + " ";
  head += "kernel: ";
  const std::string words =
      (record.over ? "bmc_end " : "bmc_event ") + record.sensor + ": " + record.event;
  records_.add({EventSource::kernel_log, head, words, record.offset, {}}, now);
}

}  // namespace faultline
