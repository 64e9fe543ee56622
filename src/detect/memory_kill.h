// Whose process did the kernel's out-of-memory killer take? A node that runs short of memory kills
// what is largest, which may be a neighbour of the job.
#pragma once

#include <optional>
#include <string>

#include "detect/failure_case.h"

namespace faultline {

struct MemoryKill {
  const KernelFault* fault = nullptr;
  std::string node;
};

/// The first of which nothing says that it was another job's: a control group that names another
/// job, a process that the launcher does not know and that is not called as its program is, or
/// another node than the one on which the launcher lost it.
std::optional<MemoryKill> memory_kill_of(const FailureCase& failure);

/// True for a job's or a host's memory that ran out.
bool concerns_memory(const Cause& cause);

/// The number of the signal that killed, also where a shell says it in words; 0 if none did.
int signal_in(const JobLine& line);

}  // namespace faultline
