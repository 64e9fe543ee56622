// Small questions about single jobs and nodes, answered by text: cheap enough to ask again and
// again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_spares.h"

namespace faultline {

/// All records of the job, its array or its heterogeneous set; of every job if `job` is "". Empty
/// if slurmctld does not know it (any more). `job` must be a valid job id; `left_out` as in
/// slurm_documents.h.
Result<std::vector<SlurmJob>> read_jobs_as_text(const SlurmCommand& command, const std::string& job,
                                                std::size_t* left_out = nullptr);

/// nullopt if Slurm has no such node. Looks at maintenance reservations too.
Result<std::optional<SlurmNode>> read_node_as_text(const SlurmCommand& command,
                                                   const std::string& node);

/// What spares are chosen from.
Result<SlurmPool> read_pool(const SlurmCommand& command);

/// True for a job id of Slurm: 123, 123_4 or 123+1.
bool slurm_job_id(std::string_view job);

/// "123" of "123_4" or "123+1".
std::string base_job(std::string_view job);

}  // namespace faultline
