// On which nodes a job ran, where it prints its environment: "SLURM_JOB_NODELIST=n[1-2]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// Each once; empty where the text has none, or several lists that differ: it is of several jobs.
std::vector<std::string> nodes_printed_by_job(std::string_view text);

}  // namespace faultline
