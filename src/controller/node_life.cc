#include "controller/node_life.h"

namespace faultline {
namespace {

/// After a drain or a return the scheduler's view needs a moment to show it; before that it proves
/// nothing.
constexpr Duration view_grace = std::chrono::seconds{10};
const std::string us{by_faultline};

NodeState state_of(const NodeStates& states, const std::string& node) {
  const auto it = states.find(node);
  if (it != states.end()) return it->second;
  NodeState state;
  state.node = node;
  return state;
}

std::optional<NodeState> moved(NodeState state, NodePhase to, Instant at, std::string by) {
  if (state.phase == to || !may_move(state.phase, to)) return std::nullopt;
  state.phase = to;
  state.since = at;
  state.by = std::move(by);
  return state;
}

/// Where the node stands after its test: a drained one stays out, one that was only suspected is
/// in service again. A test without a result says nothing about the node.
std::optional<NodePhase> phase_after_test(const NodeState& state, const Outcome& outcome) {
  if (state.phase != NodePhase::testing || outcome.retryable) return std::nullopt;
  const bool drained = !state.action.empty();
  switch (outcome.status) {
    case OutcomeStatus::done: return drained ? NodePhase::drained : NodePhase::in_service;
    case OutcomeStatus::failed: return drained ? NodePhase::in_repair : NodePhase::suspected;
    case OutcomeStatus::unknown: return drained ? NodePhase::drained : NodePhase::suspected;
  }
  return std::nullopt;
}

std::optional<NodePhase> phase_after(const NodeState& state, const Action& action,
                                     const Outcome& outcome) {
  const bool done = outcome.status == OutcomeStatus::done;
  switch (action.kind) {
    case ActionKind::drain_node: return done ? std::optional(NodePhase::drained) : std::nullopt;
    case ActionKind::return_node: return done ? std::optional(NodePhase::returned) : std::nullopt;
    case ActionKind::test_node: return phase_after_test(state, outcome);
    case ActionKind::requeue_excluding:
    case ActionKind::hold_job:
    case ActionKind::notify: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NodeState> after_verdict(const NodeStates& states, const Verdict& verdict,
                                       Instant now) {
  if (!concerns_node(verdict.subject)) return std::nullopt;
  NodeState state = state_of(states, verdict.subject.node);
  const bool fault =
      verdict.status == VerdictStatus::suspected || verdict.status == VerdictStatus::confirmed;
  if (fault && (state.phase == NodePhase::in_service || state.phase == NodePhase::returned)) {
    state.verdict = verdict.id;
    state.action.clear();  // an earlier drain is over
    state.note = verdict.cause;
    return moved(state, NodePhase::suspected, now, us);
  }
  const bool cleared = verdict.status == VerdictStatus::cleared && state.verdict == verdict.id;
  if (cleared && state.phase == NodePhase::suspected)
    return moved(state, NodePhase::in_service, now, us);
  return std::nullopt;
}

std::optional<NodeState> before_test(const NodeStates& states, const std::string& node,
                                     Instant now) {
  NodeState state = state_of(states, node);
  // One that was in line already runs, and moves nothing.
  if (state.in_persons_repair()) return std::nullopt;
  return moved(std::move(state), NodePhase::testing, now, us);
}

std::optional<NodeState> after_outcome(const NodeStates& states, const Decision& decision,
                                       const Outcome& outcome) {
  const NodeState before = state_of(states, decision.action.subject.node);
  const auto phase = phase_after(before, decision.action, outcome);
  if (!phase || decision.action.dry_run) return std::nullopt;
  auto state = moved(before, *phase, outcome.at, us);
  if (!state) return std::nullopt;
  if (decision.action.kind == ActionKind::drain_node) {
    state->verdict = decision.verdict;
    state->action = decision.action.id;
  }
  state->note = outcome.detail;
  return state;
}

Result<NodeState> into_repair(const NodeStates& states, const SchedulerNode& node,
                              const std::string& note, const std::string& who, Instant now) {
  NodeState state = state_of(states, node.name);
  if (state.phase == NodePhase::testing)
    return Error{ErrorCode::conflict, node.name + " is being tested; ask again after the test"};
  const bool ours = state.phase == NodePhase::drained || state.phase == NodePhase::in_repair;
  if (!ours && node.available) {
    return Error{ErrorCode::conflict,
                 node.name + " is " + std::string(to_text(state.phase)) +
                     ", and jobs may still get it: drain it first by the scheduler's own means, or "
                     "let faultline do it (`faultline actions`)"};
  }
  // Somebody else's drain is one, too.
  for (const auto phase : {NodePhase::drained, NodePhase::in_repair})
    if (auto next = moved(state, phase, now, who)) state = std::move(*next);
  if (!state.in_persons_repair()) {  // a failed test put it there
    state.by = who;
    state.since = now;
  }
  if (!note.empty()) state.note = note;
  return state;
}

std::optional<NodeState> after_view(const NodeState& state, const SchedulerNode& node,
                                    Instant now) {
  if (!node.available || now - state.since < view_grace) return std::nullopt;
  if (state.phase == NodePhase::returned) return moved(state, NodePhase::in_service, now, state.by);
  // Whoever resumes a node that waits for its repair has it back; the next fault is a new one.
  if (state.phase != NodePhase::drained && state.phase != NodePhase::in_repair) return std::nullopt;
  auto back = moved(state, NodePhase::returned, now, "scheduler");
  if (back) back->note = "resumed outside faultline";
  return back;
}

}  // namespace faultline
