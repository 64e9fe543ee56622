// `journalctl -o json` (also json-pretty, json-seq, json-sse, or gathered into an array) -> events.
// A message is text, an array of byte values where it is not UTF-8, or null where it was too long
// to be exported.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ingest/json_records.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Not thread-safe; one for each file. Counters: ingest_journal_records_total,
/// ingest_journal_null_messages_total, ingest_journal_false_names_total,
/// ingest_json_broken_total, ingest_json_too_long_total.
class JournalJsonDecoder {
 public:
  JournalJsonDecoder(const SystemDatabases& databases, const Origin& origin, Counters& counters,
                     const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere. No input makes
  /// it fail, and memory does not grow with it.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  void take_record(std::string_view text, std::uint64_t offset, Instant now);

  Counters& counters_;
  RecordLines lines_;
  JsonRecords records_{JsonRecords::Depth::innermost};
};

/// Counts what was left out of `totals`' file.
void count_json_losses(const JsonRecords::Totals& totals, Counters& counters);

}  // namespace faultline
