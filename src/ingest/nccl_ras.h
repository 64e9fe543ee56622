// What NCCL's RAS knows of a job at one moment, in values, and the events of it. RAS counts the
// collectives that each rank of a communicator has launched: it sees who is behind and who has
// gone, and neither transfers nor what is in flight.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

inline constexpr std::size_t ras_ranks_max = std::size_t{1} << 17U;  // of all communicators

inline constexpr std::size_t ras_communicators_max = std::size_t{1} << 16U;

/// One rank of a communicator.
struct RasRank {
  std::string host;  // usually an address
  std::int64_t pid = 0;
  std::int32_t cuda_dev = -1;
  std::int32_t nvml_dev = -1;
  bool answered = true;
  bool unresponsive = false;
  bool dead = false;
  bool aborted = false;
  std::int32_t error = 0;                         // ncclResult_t, of set-up or of what followed
  std::map<std::string, std::uint64_t> launched;  // by kind of collective
  std::uint64_t offset = 0;
  std::string text;
};

struct RasCommunicator {
  std::string name;  // communicator_name(); "": only that it is there is known
  std::int32_t size = 0;
  std::map<std::int32_t, RasRank> ranks;  // by the communicator's own numbers; those that are told
};

struct RasReport {
  std::string version;  // of NCCL
  Instant at;
  std::vector<RasCommunicator> communicators;
  /// Processes that went away, where no communicator says which rank they are.
  std::vector<RasRank> lost;
  std::uint64_t offset = 0;
};

/// The numbers that a communicator gives to its ranks are the job's where it holds the whole job:
/// the largest one, if there is one such (or several that number the same processes alike) and it
/// has room for all processes that are told of. Others are translated through it; without one only
/// nodes are named (ingest_ras_unplaced_ranks_total).
///
/// trace_read for each rank that answered; group_seen; operation_completed for each rank of each
/// communicator: `seq` is how many collectives it launched, `op` the kind in which ranks differ or
/// else the most frequent. log_signature nccl.ras.* about ranks that are gone or failed, each once.
std::vector<Event> ras_events(const RasReport& report, const Origin& origin, Counters& counters);

}  // namespace faultline
