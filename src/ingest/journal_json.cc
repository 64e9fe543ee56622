#include "ingest/journal_json.h"

#include <nlohmann/json.hpp>

#include "ingest/journal_record.h"
#include "ingest/line_prefix.h"
#include "model/json.h"

namespace faultline {
namespace {

using nlohmann::json;

std::string bytes_of(const json& array) {
  std::string bytes;
  for (const json& value : array) {
    if (bytes.size() >= journal_message_bytes_max) break;
    // A field that was sent several times is an array of its values: the first one counts.
    if (value.is_string()) return value.get<std::string>().substr(0, journal_message_bytes_max);
    const bool is_byte = value.is_number_unsigned() && value.get<std::uint64_t>() <= 0xff;
    bytes += is_byte ? static_cast<char>(value.get<std::uint8_t>()) : '?';
  }
  return bytes;
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>().substr(0, journal_message_bytes_max);
  if (value.is_array()) return bytes_of(value);
  return value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : std::string();
}

/// Parsing is what costs time, and most of a journal is others' lines.
bool may_matter(std::string_view record) {
  return record.find("kernel") != std::string_view::npos ||
         record.find("slurm") != std::string_view::npos || names_node_daemon(record);
}

}  // namespace

JournalJsonDecoder::JournalJsonDecoder(const SystemDatabases& databases, const Origin& origin,
                                       Counters& counters, const DecoderLimits& limits)
    : counters_(counters), lines_(databases, origin, counters, limits) {}

std::vector<Event> JournalJsonDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                            Instant now) {
  records_.feed(bytes, offset,
                [&](std::string_view record, std::uint64_t at) { take_record(record, at, now); });
  return lines_.take(now);
}

std::vector<Event> JournalJsonDecoder::finish(Instant now) {
  records_.finish();
  count_json_losses(records_.totals(), counters_);
  return lines_.finish(now);
}

void JournalJsonDecoder::take_record(std::string_view text, std::uint64_t offset, Instant now) {
  counters_.add("ingest_journal_records_total");
  if (!may_matter(text)) return;
  const auto parsed = parse_json(text);
  if (!parsed.ok()) {
    counters_.add("ingest_json_broken_total");
    return;
  }
  JournalRecord record;
  record.offset = offset;
  for (const auto& [name, value] : parsed->items()) {
    if (const auto field = JournalRecord::field(name)) record.*field = text_of(value);
    if (name == "MESSAGE" && value.is_null()) counters_.add("ingest_journal_null_messages_total");
  }
  add_journal_record(record, now, lines_, counters_);
}

void count_json_losses(const JsonRecords::Totals& totals, Counters& counters) {
  if (totals.broken > 0) counters.add("ingest_json_broken_total", totals.broken);
  if (totals.too_long > 0) counters.add("ingest_json_too_long_total", totals.too_long);
}

}  // namespace faultline
