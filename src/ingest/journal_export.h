// `journalctl -o export` (the Journal Export Format) -> events. Entries are blocks of fields with
// an empty line after each; a field is "NAME=value", or, where the value is not plain text, its
// name, a size of eight bytes and that many bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/journal_record.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Not thread-safe; one for each file. Counters: ingest_journal_records_total,
/// ingest_journal_false_names_total, ingest_journal_damaged_total (records with a size that cannot
/// be, or cut off at the end).
class JournalExportDecoder {
 public:
  JournalExportDecoder(const SystemDatabases& databases, const Origin& origin, Counters& counters,
                       const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere. No input makes
  /// it fail, and memory does not grow with it.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  enum class Expect { line, size, data, line_end, blank_line };

  std::size_t take(std::string_view bytes, Instant now);
  std::size_t take_line(std::string_view bytes, Instant now);
  std::size_t take_size(std::string_view bytes);
  std::size_t take_data(std::string_view bytes);
  void end_line(Instant now);
  void end_record(Instant now);
  void damaged();

  Counters& counters_;
  RecordLines lines_;
  Expect expect_ = Expect::line;
  std::string line_;                             // of the unfinished line, what is kept of it
  std::string size_;                             // of the eight bytes, those that came
  std::uint64_t data_left_ = 0;                  // of the value
  std::string JournalRecord::*field_ = nullptr;  // where the value goes
  JournalRecord record_;
  bool in_record_ = false;
  std::uint64_t at_ = 0;
};

}  // namespace faultline
