// Proposals: what the catalog asks for, before any guard has ruled on it. Private to policy.
#pragma once

#include <string>
#include <vector>

#include "model/action.h"
#include "policy/policy.h"

namespace faultline {

struct Proposal {
  Action action;
  std::string node;  // the node that the proposal is about, "" if none is known
  const Cause* cause = nullptr;
};

/// What the rules propose for the verdict, in the order in which it would be carried out. A cleared
/// verdict proposes the return of the node that its own drain took out, and nothing else.
std::vector<Proposal> propose(const PolicyInput& input);

/// The proposal to hold a job whose requeue ran into the restart limit.
Proposal propose_hold(const PolicyInput& input, const Proposal& requeue);

/// THE rule of what a fault does to a job on its node. A drain leaves running jobs alone; a job is
/// requeued without the node only if its attempt has failed, or if the fault is fatal to it: a
/// cause of severity critical or fatal.
bool requeue_is_due(const Attempt& attempt, const Cause& cause);

/// False if the scheduler will not run it again, whatever it is told.
bool can_be_requeued(const Attempt& attempt);

/// The node of a subject that has one, else "".
std::string node_of(const Subject& subject);

/// "faultline:a-0123456789abcdef cause"
std::string reason_text(const ActionId& action, const std::string& cause);

/// "a-0123456789abcdef" of a reason of ours, else "".
ActionId action_of_reason(std::string_view reason);

}  // namespace faultline
