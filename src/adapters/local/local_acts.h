// What an action does to the state of a local cluster, where it is done by writing the state alone:
// drain, return, hold. The requeue has processes to stop and lies in local_rules.h; the test runs a
// command and lies in local_cluster.cc.
#pragma once

#include <string>
#include <vector>

#include "adapters/local/local_state.h"
#include "base/result.h"
#include "model/action.h"

namespace faultline {

/// Everything that is used of an action, whoever made it: names, ids, and the reason that carries
/// the id.
Status check_local_action(const Action& action);

/// drain_node, return_node, hold_job. not_found: no such node or job. conflict: somebody else's
/// drain.
Result<Outcome> act_on_state(LocalState& state, const Action& action);
/// The same as a look: failed with retryable if it did not happen and could.
Outcome inspect_in_state(const LocalState& state, const Action& action);

/// "local: drain n3 reason='...'": what would be done.
std::vector<std::string> planned_commands(const Action& action,
                                          const std::vector<std::string>& test_command);

}  // namespace faultline
