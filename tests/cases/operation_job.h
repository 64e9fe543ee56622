// A made-up training job whose ranks call collectives and transfers as real ones do, with at most
// one fault. What each rank would find in its flight recorder when the job hangs is played out, not
// written down: every rank hands in what its program says until it must wait, and an operation ends
// when all its members have come to it with the same thing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ingest/flight_recorder.h"
#include "model/event.h"

namespace faultline {

struct JobShape {
  int data = 2, tensor = 2, pipeline = 2;
  int steps = 3, layers = 2, microbatches = 2;
  int ahead = 4;         // how many operations a program may have handed in and not seen done
  int ahead_jitter = 0;  // ranks differ by up to this much
  [[nodiscard]] int ranks() const { return data * tensor * pipeline; }
};

enum class JobFault {
  none,
  stops,         // `rank` hands in nothing more from its operation `at` on
  dies,          // the same, and leaves no trace
  other_op,      // hands in another kind of collective
  other_size,    // the same with another size
  other_dtype,   // and another type
  leaves_out,    // its program does not have this operation
  swaps,         // does this one and the next the other way round
  hangs_on_gpu,  // hands it in, and its GPU never begins it
};
FAULTLINE_ENUM_NAMES(JobFault, "none", "stops", "dies", "other_op", "other_size", "other_dtype",
                     "leaves_out", "swaps", "hangs_on_gpu");

constexpr int to_the_end = 1 << 30;

struct JobStory {
  JobShape shape;
  JobFault fault = JobFault::none;
  int rank = 0;
  int at = 0;           // of its own operations, from 0; see operations_of()
  bool timing = false;  // the recorder tells started from scheduled
  bool json = false;    // and writes JSON
  /// The moves of the job after which the ranks are asked for their dumps, each rank by up to
  /// `moment_jitter` later.
  int moment = to_the_end, moment_jitter = 0;
  /// From the newest operation of a rank until its dump is written; by default the time-out.
  Duration written_after = std::chrono::minutes{10};
};

/// The groups of a shape by name, "tp0" to "world", each with its global ranks.
std::map<std::string, std::vector<int>> groups_of(const JobShape& shape);

/// What a rank's program hands in, as "tp0 all_reduce", "pp1 send>4".
std::vector<std::string> operations_of(const JobShape& shape, int rank);

/// What the flight recorder of each rank would write.
std::map<int, FlightRecorderDump> dumps_of(const JobStory& story);

/// The events that the dumps of all ranks give, by way of their bytes.
std::vector<Event> traces_of(const JobStory& story);

}  // namespace faultline
