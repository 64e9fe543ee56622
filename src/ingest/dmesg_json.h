// `dmesg --json` -> events: an array of {"pri", "time", "msg"}, with the time since boot as a
// number, or as one of dmesg's other times.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ingest/json_records.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Not thread-safe; one for each file. Only `databases.kernel` is used. Counters as in
/// journal_json.h.
class DmesgJsonDecoder {
 public:
  DmesgJsonDecoder(const SystemDatabases& databases, const Origin& origin, Counters& counters,
                   const DecoderLimits& limits = {});

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  void take_record(std::string_view text, std::uint64_t offset, Instant now);

  Counters& counters_;
  RecordLines lines_;
  JsonRecords records_{JsonRecords::Depth::innermost};
};

}  // namespace faultline
