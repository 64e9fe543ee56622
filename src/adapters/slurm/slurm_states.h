// Slurm's words for states, in one place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/slurm/slurm_documents.h"

namespace faultline {

/// Sets state and completing of a job from its base state and flags, e.g. {"PENDING",
/// "COMPLETING"}.
void apply_job_states(const std::vector<std::string>& words, SlurmJob& job);

/// Sets the flags of a node from its words, e.g. {"IDLE", "DRAIN"}.
void apply_node_states(const std::vector<std::string>& words, SlurmNode& node);

/// held, and the attempt's exit code from a wait status.
void apply_hold(std::int64_t priority, SlurmJob& job);
std::int32_t exit_code_of_status(std::int64_t wait_status);

}  // namespace faultline
