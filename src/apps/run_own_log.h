// Without an agent: what this rank's own log says about why it died. One rank sees its own pain
// only, so this is a first guess and says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/run_identity.h"
#include "base/time.h"

namespace faultline {

/// Lines for people, without prefix. `start` is where this attempt's lines begin in the log.
std::vector<std::string> explain_own_log(const std::filesystem::path& log, std::uint64_t start,
                                         const RunIdentity& me, const std::string& catalog_folder,
                                         Instant now);

}  // namespace faultline
