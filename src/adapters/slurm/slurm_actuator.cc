#include "adapters/slurm/slurm_actuator.h"

#include <algorithm>
#include <utility>

#include "adapters/slurm/slurm_queries.h"
#include "adapters/slurm/slurm_requeue.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t test_output_bytes_max = 400;

/// "faultline:a-0123456789abcdef" of a reason of ours, "" of another.
std::string_view tag_of(std::string_view reason) {
  return reason_is_ours(reason) ? reason.substr(0, reason.find(' ')) : std::string_view{};
}

bool carries(const SchedulerNode& node, const ActionId& action) {
  return node.drained && tag_of(node.drain_reason) == "faultline:" + action;
}

/// Slurm itself writes these onto a node that is down; they belong to no person.
bool written_by_slurm(std::string_view reason) {
  return reason.empty() || reason.starts_with("Not responding") ||
         reason.starts_with("Node unexpectedly rebooted");
}

std::string foreign_text(const SchedulerNode& node) {
  return node.name + " is " + node.state_text + " by " +
         (node.drain_owner.empty() ? "somebody else" : node.drain_owner) + " (" +
         (node.drain_reason.empty() ? "no reason" : node.drain_reason) + "); left alone";
}

std::vector<std::string> drain_command(const Action& action) {
  return {"scontrol", "update", "nodename=" + action.subject.node, "state=drain",
          "reason=" + action.reason};
}

std::vector<std::string> return_command(const Action& action) {
  return {"scontrol", "update", "nodename=" + action.subject.node, "state=resume"};
}

std::vector<std::string> hold_command(const std::string& job) { return {"scontrol", "hold", job}; }

std::string job_of(const Action& action) {
  return action.attempt ? action.attempt->job : action.subject.attempt.job;
}

/// Everything that becomes an argument is checked here, whoever made the action.
Status check(const Action& action) {
  const auto bad = [](std::string text) {
    return Error{ErrorCode::invalid_argument, std::move(text)};
  };
  const auto bad_node = [](std::string_view node) {
    // scontrol takes ALL for every node.
    return !valid_node_name(node) || to_lower(node) == "all";
  };
  switch (action.kind) {
    case ActionKind::drain_node:
      if (tag_of(action.reason) != "faultline:" + action.id)
        return bad("a drain's reason must carry its action id");
      [[fallthrough]];
    case ActionKind::return_node:
      if (tag_of(action.reason).empty())
        return bad("a return's reason must be that of the drain it undoes");
      [[fallthrough]];
    case ActionKind::test_node:
      if (action.subject.kind != SubjectKind::node || bad_node(action.subject.node)) {
        return bad("bad node name '" + printable(action.subject.node, 64) + "'");
      }
      break;
    case ActionKind::requeue_excluding:
      if (!action.attempt || action.nodes.empty())
        return bad("a requeue needs an attempt and nodes to exclude");
      if (std::any_of(action.nodes.begin(), action.nodes.end(), bad_node))
        return bad("bad name of a node to exclude");
      [[fallthrough]];
    case ActionKind::hold_job:
      if (!slurm_job_id(job_of(action)))
        return bad("bad job id '" + printable(job_of(action), 64) + "'");
      break;
    case ActionKind::notify: return bad("notify is not the scheduler's");
  }
  if (printable(action.reason, 256) != action.reason)
    return bad("the reason holds control characters or is too long");
  return ok_status();
}

}  // namespace

SlurmActuator::SlurmActuator(const SlurmOptions& options, const Clock& clock, Counters& counters)
    : SlurmActuator(options, clock, counters, process_runner(options)) {}

SlurmActuator::SlurmActuator(SlurmOptions options, const Clock& clock, Counters& counters,
                             CommandRunner runner)
    : command_(std::move(options), std::move(runner)), clock_(clock), counters_(counters) {}

Result<Outcome> SlurmActuator::execute(const Action& action) {
  if (const auto status = check(action); !status) {
    counters_.add("slurm_actions_refused_total");
    return outcome(action, OutcomeStatus::failed, status.error().message);
  }
  if (action.dry_run) return dry_run(action);
  switch (action.kind) {
    case ActionKind::drain_node: return drain(action);
    case ActionKind::requeue_excluding: return SlurmRequeue(command_, clock_, action).execute();
    case ActionKind::hold_job: return hold(action);
    case ActionKind::test_node: return test(action);
    case ActionKind::return_node: return return_node(action);
    case ActionKind::notify: break;
  }
  return outcome(action, OutcomeStatus::failed, "not an act of the scheduler");
}

Result<Outcome> SlurmActuator::inspect(const Action& action) {
  if (const auto status = check(action); !status)
    return outcome(action, OutcomeStatus::failed, status.error().message);
  switch (action.kind) {
    case ActionKind::drain_node: return inspect_drain(action);
    case ActionKind::requeue_excluding: return SlurmRequeue(command_, clock_, action).inspect();
    case ActionKind::hold_job: return inspect_hold(action);
    case ActionKind::return_node: return inspect_return(action);
    case ActionKind::test_node: {
      auto result =
          outcome(action, OutcomeStatus::failed, "a test leaves no trace; it can be run again");
      result.retryable = true;
      return result;
    }
    case ActionKind::notify: break;
  }
  return outcome(action, OutcomeStatus::failed, "not an act of the scheduler");
}

Result<Outcome> SlurmActuator::drain(const Action& action) {
  const auto before = inspect_drain(action);
  if (!before || !before->retryable) return before;  // done already, or not ours to drain
  const auto argv = drain_command(action);
  const auto run = command_.run(argv);
  if (!run) return run.error();
  auto after = inspect_drain(action);
  if (!after) return after.error();
  if (after->status != OutcomeStatus::done) {
    // Somebody changed it at the same moment: theirs stands.
    return outcome(action, OutcomeStatus::failed, "after the drain: " + after->detail);
  }
  after.value().commands = {command_text(argv)};
  return after;
}

Result<Outcome> SlurmActuator::inspect_drain(const Action& action) {
  const auto read = read_node_as_text(command_, action.subject.node);
  if (!read) return read.error();
  if (!*read)
    return outcome(action, OutcomeStatus::failed,
                   "Slurm does not know node " + action.subject.node);
  const auto& node = (*read)->node;
  if (carries(node, action.id))
    return outcome(action, OutcomeStatus::done, node.name + " is drained by faultline");
  if (node.maintenance) {
    return outcome(action, OutcomeStatus::failed,
                   node.name + " is in a maintenance reservation; left alone");
  }
  if (node.drained && reason_is_ours(node.drain_reason)) {
    return outcome(action, OutcomeStatus::done,
                   node.name + " is drained by faultline already (" + node.drain_reason + ")");
  }
  if (node.drained || (node.down && !written_by_slurm(node.drain_reason))) {
    return outcome(action, OutcomeStatus::failed, foreign_text(node));
  }
  auto result = outcome(action, OutcomeStatus::failed,
                        node.name + " is not drained (" + node.state_text + ")");
  result.retryable = true;
  return result;
}

Result<Outcome> SlurmActuator::return_node(const Action& action) {
  const auto before = inspect_return(action);
  if (!before || !before->retryable) return before;
  const auto argv = return_command(action);
  const auto run = command_.run(argv);
  if (!run) return run.error();
  auto after = inspect_return(action);
  if (after) after.value().commands = {command_text(argv)};
  return after;
}

Result<Outcome> SlurmActuator::inspect_return(const Action& action) {
  const auto read = read_node_as_text(command_, action.subject.node);
  if (!read) return read.error();
  if (!*read)
    return outcome(action, OutcomeStatus::failed,
                   "Slurm does not know node " + action.subject.node);
  const auto& node = (*read)->node;
  if (!node.drained) {
    return outcome(action, OutcomeStatus::done,
                   node.name + " is in service (" + node.state_text + ")");
  }
  if (tag_of(node.drain_reason) != tag_of(action.reason))
    return outcome(action, OutcomeStatus::failed, foreign_text(node));
  auto result =
      outcome(action, OutcomeStatus::failed, node.name + " is still drained by faultline");
  result.retryable = true;
  return result;
}

Result<Outcome> SlurmActuator::test(const Action& action) {
  const auto& argv = command_.options().test_command;
  if (argv.empty()) return outcome(action, OutcomeStatus::unknown, "no test command is configured");
  const auto read = read_node_as_text(command_, action.subject.node);
  if (!read) return not_now(action, read.error().message);
  if (!*read) return not_now(action, "Slurm does not know node " + action.subject.node);
  const auto& node = (*read)->node;
  const bool ours = node.drained && reason_is_ours(node.drain_reason);
  if (!ours && !node.idle) {
    return not_now(action, node.name + " is neither drained by faultline nor idle (" +
                               node.state_text + "); not tested");
  }
  const auto ran =
      command_.run_foreign(argv, action.deadline, {"FAULTLINE_NODE=" + action.subject.node});
  if (!ran)
    return outcome(action, OutcomeStatus::unknown,
                   "the test could not be run: " + ran.error().message);
  const std::string last =
      printable(trim(ran->err.empty() ? ran->out : ran->err), test_output_bytes_max);
  std::string detail = ran->timed_out
                           ? "the test did not end within " + to_text(action.deadline)
                           : "the test ended with exit code " + std::to_string(ran->exit_code);
  if (!last.empty()) detail += ": " + last;
  const auto verdict = ran->exit_code == 0 ? OutcomeStatus::done : OutcomeStatus::failed;
  auto result = outcome(action, ran->timed_out ? OutcomeStatus::unknown : verdict, detail);
  result.commands = {"FAULTLINE_NODE=" + action.subject.node + " " + command_text(argv)};
  return result;
}

Result<Outcome> SlurmActuator::hold(const Action& action) {
  const auto before = inspect_hold(action);
  if (!before || !before->retryable) return before;
  const auto argv = hold_command(job_of(action));
  const auto run = command_.run(argv);
  if (!run && run.error().code != ErrorCode::conflict) return run.error();
  auto after = inspect_hold(action);
  if (after) after.value().commands = {command_text(argv)};
  return after;
}

/// A hold on a running job lets it run and keeps its next start back.
Result<Outcome> SlurmActuator::inspect_hold(const Action& action) {
  const auto jobs = read_jobs_as_text(command_, job_of(action));
  if (!jobs) return jobs.error();
  const auto found = std::find_if(jobs->begin(), jobs->end(),
                                  [&](const auto& job) { return job.id == job_of(action); });
  if (found == jobs->end())
    return outcome(action, OutcomeStatus::failed, "Slurm does not know job " + job_of(action));
  if (ended(found->state)) {
    return outcome(action, OutcomeStatus::done,
                   found->id + " has ended (" + std::string(to_text(found->state)) + ")");
  }
  if (found->held || found->reason.starts_with("JobHeld")) {
    return outcome(action, OutcomeStatus::done, found->id + " is held");
  }
  auto result = outcome(action, OutcomeStatus::failed, found->id + " is not held");
  result.retryable = true;
  return result;
}

Outcome SlurmActuator::dry_run(const Action& action) const {
  auto result = outcome(action, OutcomeStatus::done, "dry run: nothing was done");
  switch (action.kind) {
    case ActionKind::drain_node: result.commands = {command_text(drain_command(action))}; break;
    case ActionKind::requeue_excluding: result.commands = SlurmRequeue::plan(action); break;
    case ActionKind::hold_job:
      result.commands = {command_text(hold_command(job_of(action)))};
      break;
    case ActionKind::return_node: result.commands = {command_text(return_command(action))}; break;
    case ActionKind::test_node:
      result.commands = {"FAULTLINE_NODE=" + action.subject.node + " " +
                         command_text(command_.options().test_command)};
      break;
    case ActionKind::notify: break;
  }
  return result;
}

/// Nothing was changed, and it may be tried again.
Outcome SlurmActuator::not_now(const Action& action, std::string detail) const {
  auto result = outcome(action, OutcomeStatus::failed, std::move(detail));
  result.retryable = true;
  return result;
}

Outcome SlurmActuator::outcome(const Action& action, OutcomeStatus status,
                               std::string detail) const {
  return {action.id, status, clock_.now(), std::move(detail), {}, false};
}

}  // namespace faultline
