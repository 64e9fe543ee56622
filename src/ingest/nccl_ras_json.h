// `ncclras -f json` -> events: a report of the whole job, or, of its monitoring mode, one object
// for each process that came or went.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ingest/json_records.h"
#include "ingest/nccl_ras.h"

namespace faultline {

inline constexpr std::size_t ras_report_bytes_max = std::size_t{64} << 20U;

/// Not thread-safe; one for each file. Counters: those of nccl_ras.h, ingest_json_broken_total,
/// ingest_json_too_long_total, ingest_ras_too_many_total (ranks or communicators beyond the limit).
class NcclRasJsonDecoder {
 public:
  NcclRasJsonDecoder(Origin origin, Counters& counters)
      : origin_(std::move(origin)), counters_(counters) {}

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset);
  std::vector<Event> finish();

 private:
  Origin origin_;
  Counters& counters_;
  JsonRecords records_{JsonRecords::Depth::outermost, ras_report_bytes_max};
};

}  // namespace faultline
