#include "policy/proposal.h"

#include <utility>
#include <vector>

#include "base/contains.h"
#include "policy/tallies.h"
#include "policy/words.h"

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

/// The healthy rest of the attempt's nodes: once it waits, the scheduler does not know them any
/// more.
std::vector<std::string> nodes_to_keep(const AttemptId& id, const std::vector<std::string>& lost,
                                       const ClusterView& view) {
  const Attempt* attempt = view.attempt(id);
  if (attempt == nullptr) return {};
  std::vector<std::string> keep = attempt->nodes;
  std::erase_if(keep, [&](const auto& name) {
    const SchedulerNode* node = view.node(name);
    return contains(lost, name) || node == nullptr || !node->available;
  });
  return keep;
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
  if (kind == ActionKind::requeue_excluding && !node.empty()) {
    proposal.action.nodes = {node};
    proposal.action.keep = nodes_to_keep(attempt, proposal.action.nodes, input.view);
  }
  return proposal;
}

/// Clocks of nodes and scheduler differ by less; what shows later than this after an attempt's end
/// did not end it.
constexpr Duration after_end_max = std::chrono::seconds{10};

bool came_too_late(const Verdict& verdict, const Attempt& attempt) {
  return ended(attempt.state) && known(attempt.ended_at) &&
         verdict.since > attempt.ended_at + after_end_max;
}

/// The attempt itself cannot be requeued, but the next tasks of its array are kept off the node.
bool exclusion_is_due(const Attempt& attempt, const Cause& cause, const PolicyInput& input) {
  return !can_be_requeued(attempt) && attempt.state != AttemptState::pending &&
         cause.severity >= Severity::critical &&
         array_meets(attempt, node_of(input.verdict.subject), input.view);
}

void propose_requeues(const PolicyInput& input, const Cause* cause,
                      std::vector<Proposal>& proposals) {
  if (input.verdict.attempt) {
    const Attempt* attempt = input.view.attempt(*input.verdict.attempt);
    // Unknown to the scheduler: the guards say so.
    const bool late = attempt != nullptr && came_too_late(input.verdict, *attempt);
    if (!late && (attempt == nullptr || cause == nullptr || requeue_is_due(*attempt, *cause) ||
                  exclusion_is_due(*attempt, *cause, input))) {
      proposals.push_back(
          about_job(input, cause, ActionKind::requeue_excluding, *input.verdict.attempt));
    }
    return;
  }
  const std::string node = node_of(input.verdict.subject);
  for (const auto& attempt : input.view.attempts) {
    if (attempt.state != AttemptState::running || !contains(attempt.nodes, node)) continue;
    if (cause != nullptr && requeue_is_due(attempt, *cause)) {
      proposals.push_back(about_job(input, cause, ActionKind::requeue_excluding, attempt.id));
    }
  }
}

ActionId drain_of(const Verdict& verdict) {
  return make_action_id(make_decision_id(verdict.id, ActionKind::drain_node,
                                         Subject::of_node(node_of(verdict.subject))));
}

Proposal about_return(const PolicyInput& input, const Cause* cause) {
  Proposal proposal = about_node(input, cause, ActionKind::return_node, node_deadline);
  // What the actuator must find on the node.
  proposal.action.reason = reason_text(drain_of(input.verdict), input.verdict.cause);
  return proposal;
}

std::vector<Proposal> propose_return(const PolicyInput& input, const Cause* cause) {
  if (!drain_stands(input.verdict, input.view)) return {};
  return {about_return(input, cause)};
}

/// What follows a drain has an id of its own: the verdict may have had the node tested before.
void follow(Proposal& proposal, const ActionId& drain) {
  auto& action = proposal.action;
  action.decision = make_decision_id(drain, action.kind, action.subject);
  action.id = make_action_id(action.decision);
}

void propose_after_drain(const PolicyInput& input, const Cause* cause,
                         std::vector<Proposal>& proposals) {
  if (!input.tests.configured || !input.tests.after_drain ||
      !drain_stands(input.verdict, input.view))
    return;
  const ActionId drain = drain_of(input.verdict);
  Proposal test = about_node(input, cause, ActionKind::test_node, test_deadline);
  follow(test, drain);
  const bool passed = has_passed(input.history, test.action.id);
  proposals.push_back(std::move(test));
  if (!passed || !input.tests.return_passed) return;
  proposals.push_back(about_return(input, cause));
  follow(proposals.back(), drain);
}

/// A node that only a job accuses is tested rather than drained.
bool test_is_due(const PolicyInput& input) {
  return input.tests.configured && input.verdict.status == VerdictStatus::suspected &&
         stands_on_words(input.verdict);
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
        if (test_is_due(input))
          proposals.push_back(about_node(input, cause, ActionKind::test_node, test_deadline));
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
  propose_after_drain(input, cause, proposals);
  return proposals;
}

bool drain_stands(const Verdict& verdict, const ClusterView& view) {
  const SchedulerNode* node = view.node(node_of(verdict.subject));
  return node != nullptr && node->drained &&
         action_of_reason(node->drain_reason) == drain_of(verdict);
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

bool can_be_requeued(const Attempt& attempt) {
  return attempt.restartable && attempt.state != AttemptState::completed &&
         attempt.state != AttemptState::cancelled;
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
