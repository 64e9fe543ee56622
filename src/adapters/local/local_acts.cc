#include "adapters/local/local_acts.h"

#include <algorithm>

#include "adapters/local/local_rules.h"
#include "adapters/process/process.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr const char* owner = "faultline";

/// "faultline:a-0123456789abcdef" of a reason of ours, "" of another.
std::string_view tag_of(std::string_view reason) {
  return reason_is_ours(reason) ? reason.substr(0, reason.find(' ')) : std::string_view{};
}

std::string job_of(const Action& action) {
  return action.attempt ? action.attempt->job : action.subject.attempt.job;
}

Error invalid(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

std::string foreign_text(const LocalNode& node) {
  return node.name + " is drained by " +
         (node.drain_owner.empty() ? "somebody else" : node.drain_owner) + " (" +
         (node.drain_reason.empty() ? "no reason" : node.drain_reason) + "); left alone";
}

/// What a look at the state says of an action.
struct Look {
  enum class Standing { done, open, refused } standing = Standing::open;
  std::string detail;
  ErrorCode refusal = ErrorCode::conflict;
};

Look look_at_drain(const LocalNode& node, const Action& action) {
  if (!node.drained) return {Look::Standing::open, node.name + " is not drained"};
  if (tag_of(node.drain_reason) == "faultline:" + action.id)
    return {Look::Standing::done, node.name + " is drained by faultline"};
  if (reason_is_ours(node.drain_reason)) {
    return {Look::Standing::done,
            node.name + " is drained by faultline already (" + node.drain_reason + ")"};
  }
  return {Look::Standing::refused, foreign_text(node)};
}

Look look_at_return(const LocalNode& node, const Action& action) {
  if (!node.drained) return {Look::Standing::done, node.name + " is in service"};
  if (tag_of(node.drain_reason) != tag_of(action.reason))
    return {Look::Standing::refused, foreign_text(node)};
  return {Look::Standing::open, node.name + " is still drained by faultline"};
}

/// A hold on a running job lets it run and keeps its next start back.
Look look_at_hold(const LocalTask& task) {
  if (ended(task.latest().state)) {
    return {Look::Standing::done,
            task.job + " has ended (" + std::string(to_text(task.latest().state)) + ")"};
  }
  if (!task.held_by.empty())
    return {Look::Standing::done, task.job + " is held by " + task.held_by};
  return {Look::Standing::open, task.job + " is not held"};
}

Look look(const LocalState& state, const Action& action) {
  if (action.kind == ActionKind::hold_job) {
    const auto* task = state.task(job_of(action));
    if (task == nullptr)
      return {Look::Standing::refused, "no job " + job_of(action), ErrorCode::not_found};
    return look_at_hold(*task);
  }
  const auto* node = state.node(action.subject.node);
  if (node == nullptr)
    return {Look::Standing::refused, "no node " + action.subject.node, ErrorCode::not_found};
  return action.kind == ActionKind::drain_node ? look_at_drain(*node, action)
                                               : look_at_return(*node, action);
}

void apply(LocalState& state, const Action& action) {
  if (action.kind == ActionKind::hold_job) {
    state.task(job_of(action))->held_by = owner;
    return;
  }
  auto& node = *state.node(action.subject.node);
  node.drained = action.kind == ActionKind::drain_node;
  node.drain_reason = node.drained ? action.reason : "";
  node.drain_owner = node.drained ? owner : "";
}

}  // namespace

Status check_local_action(const Action& action) {
  switch (action.kind) {
    case ActionKind::drain_node:
      if (tag_of(action.reason) != "faultline:" + action.id)
        return invalid("a drain's reason must carry its action id");
      [[fallthrough]];
    case ActionKind::return_node:
      if (tag_of(action.reason).empty())
        return invalid("a return's reason must be that of the drain it undoes");
      [[fallthrough]];
    case ActionKind::test_node:
      if (action.subject.kind != SubjectKind::node || !valid_node_name(action.subject.node)) {
        return invalid("bad node name '" + printable(action.subject.node, 64) + "'");
      }
      break;
    case ActionKind::requeue_excluding:
      if (!action.attempt || action.nodes.empty())
        return invalid("a requeue needs an attempt and nodes to exclude");
      if (!std::all_of(action.nodes.begin(), action.nodes.end(),
                       [](const auto& node) { return valid_node_name(node); })) {
        return invalid("bad name of a node to exclude");
      }
      [[fallthrough]];
    case ActionKind::hold_job:
      if (!valid_job_id(job_of(action)))
        return invalid("bad job id '" + printable(job_of(action), 64) + "'");
      break;
    case ActionKind::notify: break;
  }
  if (printable(action.reason, 256) != action.reason)
    return invalid("the reason holds control characters or is too long");
  return ok_status();
}

Result<Outcome> act_on_state(LocalState& state, const Action& action) {
  auto seen = look(state, action);
  if (seen.standing == Look::Standing::refused) return Error{seen.refusal, seen.detail};
  Outcome outcome{action.id, OutcomeStatus::done, {}, {}, {}, false};
  if (seen.standing == Look::Standing::open) {
    apply(state, action);
    seen = look(state, action);
    outcome.commands = planned_commands(action, {});
  }
  outcome.detail = seen.detail;
  return outcome;
}

Outcome inspect_in_state(const LocalState& state, const Action& action) {
  const auto seen = look(state, action);
  return {action.id,
          seen.standing == Look::Standing::done ? OutcomeStatus::done : OutcomeStatus::failed,
          {},
          seen.detail,
          {},
          seen.standing == Look::Standing::open};
}

std::vector<std::string> planned_commands(const Action& action,
                                          const std::vector<std::string>& test_command) {
  const auto line = [](const std::vector<std::string>& words) {
    return "local: " + command_text(words);
  };
  switch (action.kind) {
    case ActionKind::drain_node:
      return {line({"drain", action.subject.node, "reason=" + action.reason})};
    case ActionKind::return_node: return {line({"resume", action.subject.node})};
    case ActionKind::hold_job: return {line({"hold", job_of(action)})};
    case ActionKind::requeue_excluding:
      return {exclude_command(job_of(action), action.nodes), requeue_command(job_of(action))};
    case ActionKind::test_node:
      return {"local: FAULTLINE_NODE=" + action.subject.node + " " + command_text(test_command)};
    case ActionKind::notify: break;
  }
  return {};
}

}  // namespace faultline
