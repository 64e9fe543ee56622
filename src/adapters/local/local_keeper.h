// The keeper of one attempt: a small process of its own session that starts the job, waits for it,
// ends it when it is told to (SIGTERM), leaves nothing behind and writes the exit code down. It
// outlives the controller, so no end is ever lost.
#pragma once

#include <cstdint>
#include <string>

#include "adapters/local/state_folder.h"
#include "base/clock.h"

namespace faultline {

/// `faultline local-keeper STATE JOB RESTART`. Returns when the job has ended: 0, or 1 if there was
/// nothing to start or another keeper has it. Changes the process's signal mask and makes it the
/// parent of orphans below it.
int keep_job(const StateFolder& folder, const std::string& job, std::uint32_t restart,
             const Clock& clock);

}  // namespace faultline
