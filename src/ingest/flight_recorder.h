// A dump of PyTorch's flight recorder: what one rank handed to its communication library, as a ring
// of the last (2000, by default) operations. Written as a pickle, or as JSON that leaves out
// stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/enum_text.h"
#include "base/result.h"
#include "base/time.h"
#include "ingest/value_tree.h"

namespace faultline {

/// What a dump may make of itself, however small its file is: values that are written once can be
/// referred to from everywhere.
inline constexpr std::size_t recorder_entries_max = 65536;  // rings in use go up to some 50,000
inline constexpr std::size_t recorder_groups_max = 1024;
inline constexpr std::size_t recorder_ranks_max = 1U << 20U;   // of all groups together
inline constexpr std::size_t recorder_frames_max = 65536;      // different ones
inline constexpr std::size_t recorder_stack_frames_max = 128;  // of one operation
inline constexpr std::size_t recorder_text_bytes_max = 256;    // names, sizes
inline constexpr std::size_t recorder_path_bytes_max = 1024;
/// Sizes and frames that are looked at, over all operations.
inline constexpr std::size_t recorder_visits_max = 1U << 24U;

enum class OperationState { scheduled, started, completed };
FAULTLINE_ENUM_NAMES(OperationState, "scheduled", "started", "completed");

struct RecorderFrame {
  std::string function, file;
  std::int64_t line = 0;

  bool operator==(const RecorderFrame&) const = default;
};

struct RecorderGroup {
  std::string name, desc;
  std::vector<std::int32_t> ranks;  // global; a rank's place here is its rank within the group
  std::uint64_t offset = 0;         // of its first byte in the file

  bool operator==(const RecorderGroup&) const = default;
};

/// How far a group has come, as its watchdog counts; -1 is not known.
struct RecorderStatus {
  std::int64_t pg_id = -1;
  std::int64_t last_enqueued = -1, last_started = -1, last_completed = -1;

  bool operator==(const RecorderStatus&) const = default;
};

struct RecorderEntry {
  std::int64_t record_id = -1;  // counted over all groups; -1 is not known, as in all numbers here
  std::int64_t pg_id = -1;
  std::int64_t collective_seq_id = -1;  // what all ranks of the group agree on
  std::int64_t p2p_seq_id = -1;
  std::uint32_t group = 0;  // which of the dump's groups
  bool is_p2p = false;
  bool retired = false;  // the watchdog no longer looks at it: it is done, or has timed out
  OperationState state = OperationState::scheduled;
  std::string profiling_name;           // "nccl:all_reduce", "nccl:send 1->2", "nccl:recv 3<-0"
  std::string in_sizes, out_sizes;      // "429312", "[8,16],[4]", "[]" of a scalar; if that is too
                                        // long, how many elements they are
  std::string in_dtypes, out_dtypes;    // "Float", "Float,BFloat16"; not repeated
  Instant created, started, completed;  // the last two as its watchdog noticed, which may be late
  std::int64_t timeout_ms = -1;
  std::vector<std::uint32_t> frames;  // which of the dump's frames, innermost first
  std::uint64_t offset = 0;           // of its first byte in the file

  bool operator==(const RecorderEntry&) const = default;
};

struct FlightRecorderDump {
  std::string version;           // "2.10"
  std::string comm_lib_version;  // "2.28.9"; "" in older dumps
  std::vector<RecorderGroup> groups;
  std::vector<RecorderStatus> statuses;
  std::vector<RecorderEntry> entries;  // in the order in which they were handed in
  std::vector<RecorderFrame> frames;
  std::size_t entries_left_out = 0;  // the oldest, where there were too many

  bool operator==(const FlightRecorderDump&) const = default;
};

/// Reads versions 2.0 to 2.10 and later minor ones, and the unversioned lists before them. What it
/// does not know is skipped and counted (flight_recorder_unknown_fields_total); values of a wrong
/// type count as not there (flight_recorder_odd_values_total).
///
/// Errors: those of the file's format; invalid_argument if it is no such dump, or of another major
/// version.
Result<FlightRecorderDump> read_flight_recorder(std::string_view bytes, Counters& counters,
                                                const TreeLimits& limits = {});

}  // namespace faultline
