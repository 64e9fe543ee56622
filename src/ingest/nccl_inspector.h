// NCCL Inspector's files -> events. It writes an object for each collective that completed,
// millions of them: of each rank of each communicator only the newest is told. What is in flight it
// does not know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/json_records.h"
#include "ingest/log_decoder.h"

namespace faultline {

inline constexpr std::size_t inspector_lanes_max = std::size_t{1} << 17U;

/// Not thread-safe; one for each file. Counters: ingest_inspector_records_total,
/// ingest_inspector_too_many_total, ingest_inspector_unplaced_total, ingest_json_broken_total,
/// ingest_json_too_long_total.
class NcclInspectorDecoder {
 public:
  NcclInspectorDecoder(Origin origin, Counters& counters)
      : origin_(std::move(origin)), counters_(counters) {}

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere. Gives nothing
  /// yet.
  void feed(std::string_view bytes, std::uint64_t offset);

  /// trace_read for each process; for each of its communicators group_seen (its own rank in it) and
  /// operation_completed.
  ///
  /// A communicator numbers its own ranks. A process's rank in the job is that of the origin if it
  /// says one; or else that in its largest communicator, if there is one such. Others are left out
  /// and counted.
  std::vector<Event> finish();

 private:
  struct Process {
    std::string host;
    std::int64_t pid = 0;

    auto operator<=>(const Process&) const = default;
  };
  /// What is known of a process's rank in one communicator.
  struct Lane {
    std::int32_t rank = -1;
    std::int32_t size = 0;
    std::uint64_t records = 0;
    std::int64_t newest = -1;  // coll_sn
    std::string op;
    std::uint64_t bytes = 0;
    std::uint64_t exec_us = 0;
    Instant at;
    std::uint64_t offset = 0;
    std::string text;
  };
  using Lanes = std::map<std::string, Lane>;  // by communicator_name()

  void take_record(std::string_view text, std::uint64_t offset);
  void tell(const Process& process, const Lanes& lanes, std::vector<Event>& events) const;
  [[nodiscard]] std::int32_t rank_of(const Lanes& lanes) const;
  [[nodiscard]] Event make(EventKind kind, const Process& process, std::int32_t rank,
                           const Lane& lane) const;

  Origin origin_;
  Counters& counters_;
  JsonRecords records_{JsonRecords::Depth::outermost};
  std::map<Process, Lanes> processes_;
  std::size_t lanes_ = 0;
  std::string version_;
};

}  // namespace faultline
