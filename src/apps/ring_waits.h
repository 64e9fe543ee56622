// Of several black boxes of one job: who is waited for, by what the ranks' operations say together.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/ring_command.h"

namespace faultline {

/// For each job with more than one rank in `views`; "" if nobody waits for long.
std::string ring_waits_text(const std::vector<RingView>& views);
/// A list of the same: job, restart, kind (StuckKind), ranks, unread, operation, sequence,
/// communicator, waiting, waited_s, differs.
nlohmann::json ring_waits_json(const std::vector<RingView>& views);

}  // namespace faultline
