#include "adapters/local/local_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/text.h"

namespace faultline {
namespace {

Error conflict(std::string text) { return {ErrorCode::conflict, std::move(text)}; }
Error not_found(std::string text) { return {ErrorCode::not_found, std::move(text)}; }

bool waits(const LocalTask& task) { return task.latest().state == AttemptState::pending; }

Status submit(LocalState& state, const LocalRequest& request, Instant now) {
  if (!state.tasks_of(request.job).empty())
    return conflict("job " + request.job + " exists already");
  const std::size_t count = std::max<std::size_t>(request.array.tasks.size(), 1);
  if (state.tasks.size() + count > tasks_max) {
    return Error{ErrorCode::exhausted,
                 fmt::format("more than {} jobs are known; wait for some to end", tasks_max)};
  }
  if (request.node_count > state.nodes.size()) {
    return Error{ErrorCode::invalid_argument, fmt::format("{} nodes asked for, the cluster has {}",
                                                          request.node_count, state.nodes.size())};
  }
  LocalTask task;
  task.job = request.job;
  task.name = request.name;
  task.user = request.by;
  task.node_count = request.node_count;
  task.submitted_at = now;
  task.attempts.emplace_back();
  if (request.array.tasks.empty()) state.tasks.push_back(task);
  for (const auto number : request.array.tasks) {
    task.job = request.job + "_" + std::to_string(number);
    task.array_job = request.job;
    task.array_task = number;
    task.array_limit = request.array.limit;
    state.tasks.push_back(task);
  }
  return ok_status();
}

Status cancel(LocalState& state, const LocalRequest& request, Instant now) {
  const auto tasks = state.tasks_of(request.job);
  if (tasks.empty()) return not_found("no job " + request.job);
  for (auto* task : tasks) {
    if (waits(*task)) {
      task->latest().state = AttemptState::cancelled;
      task->latest().ended_at = now;
      task->latest().detail = "cancelled by " + request.by;
    }
    if (live(task->latest())) task->cancelled = true;
  }
  return ok_status();
}

Status release(LocalState& state, const LocalRequest& request) {
  const auto tasks = state.tasks_of(request.job);
  if (tasks.empty()) return not_found("no job " + request.job);
  const bool over = std::all_of(tasks.begin(), tasks.end(),
                                [](const auto* task) { return ended(task->latest().state); });
  if (over) {
    return conflict("job " + request.job + " ended (" +
                    std::string(to_text(tasks.front()->latest().state)) +
                    "): there is nothing to release; submit it again");
  }
  const auto held = [](const auto* task) { return !task->held_by.empty(); };
  if (std::none_of(tasks.begin(), tasks.end(), held))
    return conflict("job " + request.job + " is not held");
  for (auto* task : tasks) task->held_by.clear();
  return ok_status();
}

Status drain_or_resume(LocalState& state, const LocalRequest& request) {
  auto* node = state.node(request.node);
  if (node == nullptr) return not_found("no node " + request.node);
  const bool drain = request.kind == LocalRequestKind::drain;
  if (drain && node->drained && node->drain_owner != request.by &&
      !reason_is_ours(node->drain_reason)) {
    return conflict(node->name + " is drained by " + node->drain_owner + " already (" +
                    node->drain_reason + ")");
  }
  node->drained = drain;
  node->drain_reason = drain ? request.reason : "";
  node->drain_owner = drain ? request.by : "";
  return ok_status();
}

std::uint32_t running_of_array(const LocalState& state, const std::string& array_job) {
  return static_cast<std::uint32_t>(std::count_if(
      state.tasks.begin(), state.tasks.end(),
      [&](const auto& task) { return task.array_job == array_job && live(task.latest()); }));
}

bool array_is_full(const LocalState& state, const LocalTask& task) {
  return task.array_limit > 0 && running_of_array(state, task.array_job) >= task.array_limit;
}

/// Where its ranks were: the nodes of the last attempt that had some.
const std::vector<std::string>& last_nodes(const LocalTask& task) {
  static const std::vector<std::string> none;
  for (auto it = task.attempts.rbegin(); it != task.attempts.rend(); ++it) {
    if (!it->nodes.empty()) return it->nodes;
  }
  return none;
}

/// Free nodes that the task may have, in the order of the cluster.
std::vector<const LocalNode*> free_nodes(const LocalState& state, const LocalTask& task) {
  const auto busy = state.busy_nodes();
  std::vector<const LocalNode*> free;
  for (const auto& node : state.nodes) {
    if (!node.drained && !busy.contains(node.name) && !task.excludes(node.name))
      free.push_back(&node);
  }
  return free;
}

bool failed(AttemptState state) {
  return ended(state) && state != AttemptState::completed && state != AttemptState::cancelled;
}

void add_pending_attempt(LocalTask& task) {
  LocalAttempt next;
  next.restart = task.latest().restart + 1;
  task.attempts.push_back(next);
  if (task.attempts.size() > attempts_kept) task.attempts.erase(task.attempts.begin());
}

void remember_act(LocalTask& task, const ActionId& action) {
  auto& acts = task.requeue_acts;
  if (std::find(acts.begin(), acts.end(), action) != acts.end()) return;
  acts.push_back(action);
  if (acts.size() > requeue_acts_kept) acts.erase(acts.begin());
}

std::string waits_text(const LocalTask& task, const Action& action) {
  return task.job + " waits with " + join(action.nodes, ",") + " excluded" +
         (task.held_by.empty() ? "" : " and stays held (" + task.held_by + ")");
}

std::string runs_text(const LocalTask& task) {
  return fmt::format("{} runs on {} (restart {})", task.job, join(task.latest().nodes, ","),
                     task.latest().restart);
}

bool excludes_all(const LocalTask& task, const std::vector<std::string>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return task.excludes(node); });
}

struct Siblings {
  bool any = false;  // that live or wait without the nodes
  bool settled = true;
};

/// The other tasks of its array: what waits gets the exclusion, what runs on an excluded node is
/// brought away from it.
Siblings advance_siblings(LocalState& state, const LocalTask& target, const Action& action) {
  Siblings siblings;
  if (target.array_job.empty()) return siblings;
  for (auto& task : state.tasks) {
    if (&task == &target || task.array_job != target.array_job) continue;
    const bool runs_there = live(task.latest()) && task.latest_on_any(action.nodes);
    if (waits(task) || runs_there) task.exclude(action.nodes);
    siblings.any =
        siblings.any || (!ended(task.latest().state) && excludes_all(task, action.nodes));
    if (runs_there && !task.cancelled) {
      remember_act(task, action.id);
      task.requeued_by = action.id;
      siblings.settled = false;
    }
  }
  return siblings;
}

RequeueStep advance_target(LocalTask& task, const Action& action) {
  using Progress = RequeueStep::Progress;
  const auto& latest = task.latest();
  const bool moved_on = latest.restart > action.attempt->restart;
  if (latest.restart < action.attempt->restart) {
    return {Progress::refused, fmt::format("{} is only at restart {}", task.job, latest.restart)};
  }
  if (waits(task)) {
    task.exclude(action.nodes);
    remember_act(task, action.id);
    return {Progress::done, waits_text(task, action)};
  }
  if (live(latest)) {
    if (task.requeued_by == action.id) return {Progress::waiting, task.job + " is being stopped"};
    if (task.cancelled) return {Progress::refused, task.job + " is being cancelled"};
    if (task.latest_on_any(action.nodes)) {
      task.exclude(action.nodes);
      remember_act(task, action.id);
      task.requeued_by = action.id;
      return {Progress::waiting, task.job + " is being stopped"};
    }
    if (moved_on) {
      task.exclude(action.nodes);
      return {Progress::done, runs_text(task)};
    }
    return {Progress::refused,
            runs_text(task) + " without any of " + join(action.nodes, ",") + "; left alone"};
  }
  if (moved_on) {
    return {Progress::done, fmt::format("{} was requeued and has ended again: {}", task.job,
                                        to_text(latest.state))};
  }
  if (!failed(latest.state)) {
    return {Progress::refused,
            fmt::format("{} has ended ({}); nothing to requeue", task.job, to_text(latest.state))};
  }
  task.exclude(action.nodes);
  remember_act(task, action.id);
  add_pending_attempt(task);
  return {Progress::done, waits_text(task, action)};
}

RequeueStep advance_all(LocalState& state, const Action& action) {
  auto* target = state.task(action.attempt->job);
  if (target == nullptr) return {RequeueStep::Progress::refused, "no job " + action.attempt->job};
  using Progress = RequeueStep::Progress;
  auto step = advance_target(*target, action);
  const bool refused = step.progress == Progress::refused;
  if (refused && !target->latest_on_any(action.nodes)) return step;
  // In the same change: the moment the target leaves its nodes, a waiting sibling may be put there.
  const auto siblings = advance_siblings(state, *target, action);
  if (refused && !siblings.any) return step;
  if (!siblings.settled && step.progress != Progress::waiting)
    return {Progress::waiting, "a task of the same array is being stopped"};
  // What is over stays so; what comes next of its array goes elsewhere.
  if (refused)
    return {Progress::done, "the array " + target->array_job + " goes on with " +
                                join(action.nodes, ",") + " excluded; " + step.detail};
  return step;
}

/// What was done to the tasks, which are the same in both. The other tasks of an array that got the
/// exclusion are one command, under the array's name: there may be thousands.
std::vector<std::string> commands_between(const LocalState& before, const LocalState& after,
                                          const Action& action) {
  std::vector<std::string> excludes;
  std::vector<std::string> requeues;
  for (std::size_t i = 0; i < after.tasks.size(); ++i) {
    const auto& was = before.tasks[i];
    const auto& is = after.tasks[i];
    if (is.excluded != was.excluded) {
      const bool target = is.job == action.attempt->job;
      auto command = exclude_command(target ? is.job : is.array_job, action.nodes);
      if (!contains(excludes, command)) excludes.push_back(std::move(command));
    }
    if (is.requeued_by != was.requeued_by || is.latest().restart != was.latest().restart)
      requeues.push_back(requeue_command(is.job));
  }
  excludes.insert(excludes.end(), requeues.begin(), requeues.end());
  return excludes;
}

Attempt make_attempt(const LocalTask& task, const LocalAttempt& local) {
  Attempt attempt;
  attempt.id = {task.job, local.restart};
  attempt.name = task.name;
  attempt.user = task.user;
  attempt.array_job = task.array_job;
  attempt.state = local.state;
  attempt.started_at = local.started_at;
  attempt.ended_at = local.ended_at;
  attempt.nodes = local.nodes;
  attempt.excluded_nodes = task.excluded;
  attempt.restartable = true;
  attempt.exit_code = local.exit_code;
  return attempt;
}

}  // namespace

Status apply_request(LocalState& state, const LocalRequest& request, Instant now) {
  switch (request.kind) {
    case LocalRequestKind::submit: return submit(state, request, now);
    case LocalRequestKind::cancel: return cancel(state, request, now);
    case LocalRequestKind::release: return release(state, request);
    case LocalRequestKind::drain:
    case LocalRequestKind::resume: return drain_or_resume(state, request);
  }
  return Error{ErrorCode::invalid_argument, "no such request"};
}

std::optional<std::vector<std::string>> place(const LocalState& state, const LocalTask& task) {
  auto free = free_nodes(state, task);
  if (free.size() < task.node_count) return std::nullopt;
  const auto& before = last_nodes(task);
  const bool again = before.size() == task.node_count;
  std::vector<std::string> chosen(task.node_count);
  for (std::size_t i = 0; again && i < chosen.size(); ++i) {
    const auto kept = std::find_if(free.begin(), free.end(),
                                   [&](const auto* node) { return node->name == before[i]; });
    if (kept == free.end()) continue;
    chosen[i] = before[i];
    free.erase(kept);
  }
  // A spare is for the place of a lost node, and otherwise the last to be taken.
  std::stable_sort(free.begin(), free.end(), [&](const auto* a, const auto* b) {
    return again ? a->spare && !b->spare : !a->spare && b->spare;
  });
  auto next = free.begin();
  for (auto& name : chosen) {
    if (name.empty()) name = (*next++)->name;
  }
  return chosen;
}

std::vector<std::string> start_what_fits(LocalState& state, Instant now) {
  std::vector<std::string> started;
  for (auto& task : state.tasks) {
    if (!waits(task) || !task.held_by.empty() || array_is_full(state, task)) continue;
    auto nodes = place(state, task);
    if (!nodes) continue;
    task.latest().nodes = std::move(*nodes);
    task.latest().state = AttemptState::running;
    task.latest().started_at = now;
    started.push_back(task.job);
  }
  return started;
}

std::string waiting_reason(const LocalState& state, const LocalTask& task) {
  if (!waits(task)) return "";
  if (!task.held_by.empty()) return "held by " + task.held_by;
  if (array_is_full(state, task))
    return fmt::format("{} of the array run already", task.array_limit);
  const auto free = free_nodes(state, task).size();
  if (free < task.node_count) return fmt::format("{} of {} nodes free", free, task.node_count);
  return "next in turn";
}

std::string exclude_command(const std::string& job, const std::vector<std::string>& nodes) {
  return "local: exclude " + job + " nodes=" + join(nodes, ",");
}

std::string requeue_command(const std::string& job) { return "local: requeue " + job; }

void finish_attempt(LocalTask& task, const LocalEnd& end) {
  auto& attempt = task.latest();
  attempt.ended_at = end.at;
  attempt.exit_code = end.exit_code;
  attempt.detail = end.detail;
  if (task.cancelled) {
    attempt.state = AttemptState::cancelled;
  } else if (!task.requeued_by.empty()) {
    attempt.state = AttemptState::requeued;
    add_pending_attempt(task);
  } else {
    attempt.state = end.exit_code == 0 ? AttemptState::completed : AttemptState::failed;
  }
  task.requeued_by.clear();
}

RequeueStep advance_requeue(LocalState& state, const Action& action) {
  const LocalState before = state;
  auto step = advance_all(state, action);
  step.commands = commands_between(before, state, action);
  return step;
}

Outcome inspect_requeue(const LocalState& state, const Action& action) {
  const auto outcome = [&](OutcomeStatus status, std::string detail, bool retryable) {
    return Outcome{action.id, status, {}, std::move(detail), {}, retryable};
  };
  const auto* target = state.task(action.attempt->job);
  if (target == nullptr)
    return outcome(OutcomeStatus::failed, "no job " + action.attempt->job, false);
  const bool begun = std::any_of(state.tasks.begin(), state.tasks.end(), [&](const auto& task) {
    return live(task.latest()) && task.requeued_by == action.id;
  });
  if (begun) return outcome(OutcomeStatus::unknown, target->job + " is being stopped", true);
  const bool acted = std::find(target->requeue_acts.begin(), target->requeue_acts.end(),
                               action.id) != target->requeue_acts.end();
  // On a copy: the rule says what it would find.
  LocalState copy = state;
  const auto step = advance_target(*copy.task(action.attempt->job), action);
  if (acted && step.progress == RequeueStep::Progress::done)
    return outcome(OutcomeStatus::done, step.detail, false);
  if (step.progress == RequeueStep::Progress::refused) {
    const auto whole = advance_requeue(copy, action);
    if (whole.progress == RequeueStep::Progress::refused)
      return outcome(OutcomeStatus::failed, step.detail, false);
    if (state_text(copy) == state_text(state))
      return outcome(OutcomeStatus::done, whole.detail, false);
    return outcome(OutcomeStatus::failed, "tasks of the same array are not kept away", true);
  }
  const bool kept_away = ended(target->latest().state) || excludes_all(*target, action.nodes);
  if (target->latest().restart > action.attempt->restart && !target->latest_on_any(action.nodes) &&
      !waits(*target) && kept_away) {
    return outcome(OutcomeStatus::done, step.detail, false);
  }
  return outcome(OutcomeStatus::failed, target->job + " is not requeued", true);
}

std::vector<LocalTask> forget_old(LocalState& state) {
  std::size_t ended_count = static_cast<std::size_t>(
      std::count_if(state.tasks.begin(), state.tasks.end(),
                    [](const auto& task) { return ended(task.latest().state); }));
  std::vector<LocalTask> forgotten;
  if (ended_count <= ended_tasks_kept) return forgotten;
  std::erase_if(state.tasks, [&](LocalTask& task) {
    if (ended_count <= ended_tasks_kept || !ended(task.latest().state)) return false;
    --ended_count;
    forgotten.push_back(std::move(task));
    return true;
  });
  return forgotten;
}

ClusterView make_view(const LocalState& state, Instant now) {
  ClusterView view;
  view.taken_at = now;
  view.scheduler = "local";
  const auto busy = state.busy_nodes();
  const bool any_spare = std::any_of(state.nodes.begin(), state.nodes.end(),
                                     [](const auto& node) { return node.spare; });
  for (const auto& local : state.nodes) {
    SchedulerNode node;
    node.name = local.name;
    node.drained = local.drained;
    node.available = !local.drained;
    node.idle = node.available && !busy.contains(local.name);
    // Without configured spares any idle node can stand in.
    node.spare = node.idle && (local.spare || !any_spare);
    node.drain_reason = local.drain_reason;
    node.drain_owner = local.drain_owner;
    node.partitions = {"local"};
    node.state_text = local.drained ? (busy.contains(local.name) ? "draining" : "drained")
                                    : (node.idle ? "idle" : "busy");
    view.nodes.emplace(local.name, std::move(node));
  }
  for (const auto& task : state.tasks) {
    for (const auto& attempt : task.attempts) view.attempts.push_back(make_attempt(task, attempt));
  }
  return view;
}

}  // namespace faultline
