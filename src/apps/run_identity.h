// Who am I: the job, attempt, rank and node of the process that `faultline run` wraps, read from
// what launchers leave in the environment. Launchers nest (mpirun inside an allocation, torchrun
// inside srun): the job is the outermost one's, the rank is the innermost one's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/job_environment.h"
#include "model/subject.h"

namespace faultline {

/// This process's environment.
Environment process_environment();

struct RunIdentity {
  AttemptId attempt;
  std::int32_t rank = 0;
  std::int32_t local_rank = 0;
  std::int32_t world = 1;
  std::string node;
  std::vector<std::string> gpus;  // as CUDA_VISIBLE_DEVICES lists them
  std::string job_from;           // "slurm", "local", "torchrun", "openmpi" or "alone"
  std::string rank_from;          // "torchrun", "openmpi", "pmi", "slurm", "environment" or "alone"

  bool operator==(const RunIdentity&) const = default;
};

/// Never fails: what is missing or malformed falls back to "alone". `host` and `pid` are this
/// machine's.
RunIdentity identify_run(const Environment& environment, std::string_view host, std::int64_t pid);

}  // namespace faultline
