// Attempt: one run of a job. The job itself is only an id; requeues, array tasks and heterogeneous
// parts are attempts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/time.h"
#include "model/subject.h"

namespace faultline {

enum class AttemptState {
  pending,
  running,
  completing,
  completed,
  failed,
  cancelled,
  timeout,
  preempted,
  node_fail,
  out_of_memory,
  requeued,
  unknown
};
FAULTLINE_ENUM_NAMES(AttemptState, "pending", "running", "completing", "completed", "failed",
                     "cancelled", "timeout", "preempted", "node_fail", "out_of_memory", "requeued",
                     "unknown");

inline bool ended(AttemptState state) {
  return state >= AttemptState::completed && state != AttemptState::unknown;
}

/// Where a rank runs.
struct RankPlace {
  std::int32_t rank = -1;
  std::int32_t local_rank = -1;
  std::string node;
  std::int64_t pid = 0;
  std::vector<std::string> gpus;  // PCI addresses or scheduler indices, as known

  bool operator==(const RankPlace&) const = default;
};

struct Attempt {
  AttemptId id;
  std::string name;
  std::string user;
  std::string array_job;  // "123" for "123_4", else ""
  std::string het_job;    // leader id of a heterogeneous job, else ""
  AttemptState state = AttemptState::unknown;
  Instant started_at;
  Instant ended_at;  // unknown while running
  std::vector<std::string> nodes;
  std::vector<RankPlace> ranks;
  std::vector<std::string>
      excluded_nodes;        // the user's own exclusions and ours, as the scheduler has them
  bool restartable = false;  // batch job that the scheduler may requeue
  std::optional<std::int32_t> exit_code;

  bool operator==(const Attempt&) const = default;
};

}  // namespace faultline
