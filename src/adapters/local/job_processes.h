// The processes of a job, found by their session: launchers give their children process groups of
// their own, but a session is left only by those who mean to.
#pragma once

#include <cstdint>
#include <vector>

#include "adapters/process/process.h"

namespace faultline {

/// Sends `signal` to every process of the session that `leader` made; returns how many still ran. A
/// session whose number belongs to somebody else by now is left alone.
std::size_t signal_session(const ProcessId& leader, int signal);

/// Children of this process that have not ended.
std::vector<std::int64_t> children_of_this_process();

}  // namespace faultline
