// Which rank wrote a flight-recorder dump? No dump says it outright: the name of its file does, and
// what is in it often leaves only one. A file can be renamed, what is in it cannot.
#pragma once

#include <cstdint>
#include <string_view>

#include "ingest/flight_recorder.h"

namespace faultline {

struct RecorderRank {
  enum class By { nothing, contents, name };

  std::int32_t rank = -1;  // -1 is not known
  By by = By::nothing;
  bool conflict = false;  // the name says another one than the contents, or one they rule out
};

/// `named` is what the file's name says, -1 if nothing.
RecorderRank find_recorder_rank(const FlightRecorderDump& dump, std::int32_t named);

/// The two ends of "nccl:send 1->2" or "nccl:recv 2<-1", as ranks within the group.
struct RecorderTransfer {
  bool is_send = false;
  std::int32_t own = -1, peer = -1;
};
/// False if the name is none of these.
bool parse_transfer(std::string_view profiling_name, RecorderTransfer& out);

}  // namespace faultline
