// NCCL's "comm 0x... rank 3 nranks 8 cudaDev 3 busId b7000 ... Init COMPLETE": the line that says
// on which GPU of which host a rank runs. A communicator numbers its own ranks, and a job has many;
// only in the one that holds the whole job are they those of the job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"

namespace faultline {

/// The signature of these lines.
inline constexpr std::string_view nccl_init_signature = "nccl.init";

/// Not thread-safe; one for each log.
class NcclInit {
 public:
  static constexpr std::size_t ranks_max = 16384;

  /// Makes rank_started of the signature's event (fields local_rank, gpus, pid, world, and those of
  /// the line) where the log says which rank of the job wrote the line (field `rank`): true if it
  /// tells more than before. Without that the event is kept.
  bool take(Event& event);

  /// Of the lines that were kept, those of the largest communicator, with its numbers in field
  /// `rank`; each once. None while two places claim one number: those are groups of equal size,
  /// and none of them is the whole job.
  std::vector<Event> told();

 private:
  void keep(Event event, std::int32_t world);

  std::map<std::string, std::int32_t, std::less<>> world_of_;  // by rank: the largest that was told
  std::map<std::int32_t, Event> kept_;                         // by the communicator's number
  std::int32_t world_ = 0;                                     // of the largest communicator
  bool ambiguous_ = false;
  bool changed_ = false;
};

}  // namespace faultline
