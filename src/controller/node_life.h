// A node's life as verdicts and outcomes move it: in service, suspected, drained, testing, in
// repair, returned.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"
#include "model/cluster_view.h"
#include "model/node_state.h"
#include "model/verdict.h"

namespace faultline {

using NodeStates = std::map<std::string, NodeState, std::less<>>;

/// The state that `verdict` puts its node into, if that is a change: suspected, or back in service
/// when it was cleared.
std::optional<NodeState> after_verdict(const NodeStates& states, const Verdict& verdict,
                                       Instant now);

/// The state that a test which begins puts its node into, if that is a change.
std::optional<NodeState> before_test(const NodeStates& states, const std::string& node,
                                     Instant now);

/// The state that a finished act puts its node into, if that is a change.
std::optional<NodeState> after_outcome(const NodeStates& states, const Decision& decision,
                                       const Outcome& outcome);

/// A person's word that the node is in repair, with a note if there is one. What a failed test
/// began becomes theirs; said again it changes the note alone. conflict, with why, unless the node
/// is out of service, whoever took it out.
Result<NodeState> into_repair(const NodeStates& states, const SchedulerNode& node,
                              const std::string& note, const std::string& who, Instant now);

/// A returned node that the scheduler uses again is in service; a drained node that somebody else
/// resumed is, too.
std::optional<NodeState> after_view(const NodeState& state, const SchedulerNode& node, Instant now);

}  // namespace faultline
