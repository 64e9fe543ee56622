#include "policy/proposal.h"

#include <utility>

namespace faultline {
namespace {

constexpr Duration node_deadline = std::chrono::seconds{30};
constexpr Duration requeue_deadline = std::chrono::minutes{1};  // KillWait, 30 s, and the epilog
constexpr Duration test_deadline = std::chrono::minutes{10};

Action make_action(const PolicyInput& input, ActionKind kind, Subject subject, Duration deadline) {
  Action action;
  action.kind = kind;
  action.decision = make_decision_id(input.verdict.id, kind, subject);
  action.id = make_action_id(action.decision);
  action.subject = std::move(subject);
  action.reason = reason_text(action.id, input.verdict.cause);
  action.deadline = deadline;
  return action;
}

/// A proposal about the verdict's node, or about its subject where that has none: the guards say
/// why not.
Proposal about_node(const PolicyInput& input, const Cause* cause, ActionKind kind,
                    Duration deadline) {
  const std::string node = node_of(input.verdict.subject);
  const Subject subject = node.empty() ? input.verdict.subject : Subject::of_node(node);
  return {make_action(input, kind, subject, deadline), node, cause};
}

Proposal about_job(const PolicyInput& input, const Cause* cause, ActionKind kind,
                   const AttemptId& attempt) {
  const std::string node = node_of(input.verdict.subject);
  Proposal proposal{make_action(input, kind, Subject::of_job(attempt.job), requeue_deadline), node,
                    cause};
  proposal.action.attempt = attempt;
  if (kind == ActionKind::requeue_excluding && !node.empty()) proposal.action.nodes = {node};
  return proposal;
}

/// Clocks of nodes and scheduler differ by less; what shows later than this after an attempt's end
/// did not end it.
constexpr Duration after_end_max = std::chrono::seconds{10};

bool came_too_late(const Verdict& verdict, const Attempt& attempt) {
  return ended(attempt.state) && known(attempt.ended_at) &&
         verdict.since > attempt.ended_at + after_end_max;
}

bool has_node(const Attempt& attempt, const std::string& node) {
  for (const auto& name : attempt.nodes) {
    if (name == node) return true;
  }
  return false;
}

void propose_requeues(const PolicyInput& input, const Cause* cause,
                      std::vector<Proposal>& proposals) {
  if (input.verdict.attempt) {
    const Attempt* attempt = input.view.attempt(*input.verdict.attempt);
    // Unknown to the scheduler: the guards say so.
    const bool late = attempt != nullptr && came_too_late(input.verdict, *attempt);
    if (!late && (attempt == nullptr || cause == nullptr || requeue_is_due(*attempt, *cause))) {
      proposals.push_back(
          about_job(input, cause, ActionKind::requeue_excluding, *input.verdict.attempt));
    }
    return;
  }
  const std::string node = node_of(input.verdict.subject);
  for (const auto& attempt : input.view.attempts) {
    if (attempt.state != AttemptState::running || !has_node(attempt, node)) continue;
    if (cause != nullptr && requeue_is_due(attempt, *cause)) {
      proposals.push_back(about_job(input, cause, ActionKind::requeue_excluding, attempt.id));
    }
  }
}

std::vector<Proposal> propose_return(const PolicyInput& input, const Cause* cause) {
  const std::string name = node_of(input.verdict.subject);
  const SchedulerNode* node = input.view.node(name);
  if (node == nullptr || !node->drained) return {};
  const auto drain = make_action_id(
      make_decision_id(input.verdict.id, ActionKind::drain_node, Subject::of_node(name)));
  if (action_of_reason(node->drain_reason) != drain) return {};
  Proposal proposal = about_node(input, cause, ActionKind::return_node, node_deadline);
  proposal.action.reason =
      reason_text(drain, input.verdict.cause);  // what the actuator must find on the node
  return {proposal};
}

}  // namespace

std::vector<Proposal> propose(const PolicyInput& input) {
  const Cause* cause = input.catalog.cause(input.verdict.cause);
  if (input.verdict.status == VerdictStatus::cleared) return propose_return(input, cause);
  const Remedy remedy = cause == nullptr ? Remedy::none : cause->remedy;
  std::vector<Proposal> proposals;
  for (const auto kind : input.catalog.policy().actions_for(input.verdict.cause, remedy)) {
    switch (kind) {
      case ActionKind::drain_node:
        proposals.push_back(about_node(input, cause, kind, node_deadline));
        break;
      case ActionKind::test_node:
        proposals.push_back(about_node(input, cause, kind, test_deadline));
        break;
      case ActionKind::requeue_excluding: propose_requeues(input, cause, proposals); break;
      case ActionKind::hold_job:
        if (input.verdict.attempt)
          proposals.push_back(about_job(input, cause, kind, *input.verdict.attempt));
        break;
      case ActionKind::notify:
        proposals.push_back({make_action(input, kind, input.verdict.subject, node_deadline),
                             node_of(input.verdict.subject), cause});
        break;
      case ActionKind::return_node: break;  // never proposed by a rule
    }
  }
  return proposals;
}

Proposal propose_hold(const PolicyInput& input, const Proposal& requeue) {
  return about_job(input, requeue.cause, ActionKind::hold_job, *requeue.action.attempt);
}

bool requeue_is_due(const Attempt& attempt, const Cause& cause) {
  switch (attempt.state) {
    case AttemptState::failed:
    case AttemptState::node_fail:
    case AttemptState::out_of_memory:
    case AttemptState::requeued: return true;
    case AttemptState::running:
    case AttemptState::unknown: return cause.severity >= Severity::critical;
    case AttemptState::pending:     // it runs nowhere; a drain keeps it away from the node
    case AttemptState::completing:  // how it ended is not known yet; this is asked again
    case AttemptState::completed:
    case AttemptState::cancelled:
    case AttemptState::timeout:
    case AttemptState::preempted: return false;  // nobody wants it run again for this
  }
  return false;
}

std::string node_of(const Subject& subject) {
  const bool has_one = concerns_node(subject) || subject.kind == SubjectKind::rank;
  return has_one ? subject.node : std::string{};
}

std::string reason_text(const ActionId& action, const std::string& cause) {
  return "faultline:" + action + " " + cause;
}

ActionId action_of_reason(std::string_view reason) {
  if (!reason_is_ours(reason)) return {};
  const auto tag = reason.substr(0, reason.find(' '));
  return std::string(tag.substr(tag.find(':') + 1));
}

}  // namespace faultline
