#include "adapters/slurm/slurm_requeue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "adapters/slurm/slurm_queries.h"
#include "adapters/slurm/slurm_tie.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

/// A pending job with one of these reasons has not been looked at by the scheduler yet, or waits
/// for a time.
constexpr std::array<std::string_view, 3> unsettled_reasons{"None", "BeginTime", ""};

/// slurmctld's clock against ours; a requeue puts a job off by two minutes.
constexpr Duration clock_difference_max = std::chrono::seconds{10};

/// Reasons of a completing job that say that it failed.
constexpr std::array<std::string_view, 6> failure_reasons{
    "NonZeroExitCode", "NodeDown", "RaisedSignal", "TimeLimit", "OutOfMemory", "JobLaunchFailure"};

/// The whole heterogeneous set is requeued and released by its leader's number.
std::string control_target(const SlurmJob& job) {
  return job.het_job.empty() ? update_target(job) : job.het_job;
}

const std::string& leader(const SlurmJob& job) {
  return job.het_job.empty() ? job.number : job.het_job;
}

/// slurmctld was not reached, or did not answer; everything else is a refusal.
bool may_pass(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::deadline_exceeded;
}

}  // namespace

SlurmRequeue::SlurmRequeue(const SlurmCommand& command, const Clock& clock, const Action& action)
    : command_(command), clock_(clock), action_(action), rules_(action) {}

std::vector<std::string> SlurmRequeue::plan(const Action& action) {
  const std::string job = action.attempt ? action.attempt->job : action.subject.attempt.job;
  return {
      command_text({"scontrol", "requeuehold", job}),
      command_text(
          {"scontrol", "update", "jobid=" + job, "ExcNodeList=" + join(action.nodes, ",")}),
      command_text({"scontrol", "release", job}),
      command_text({"scontrol", "update", "jobid=" + job, "StartTime=now"}),
  };
}

Result<Outcome> SlurmRequeue::execute() {
  end_ = clock_.monotonic() + action_.deadline;
  for (;;) {
    auto step = advance_all();
    // Once begun it is seen through: a job must not stay held because slurmctld was away for a
    // moment.
    if (!step && (!may_pass(step.error()) || requeued_.empty())) return step.error();
    const std::string detail = step ? step->detail : step.error().message;
    if (step && step->progress == Progress::refused) return outcome(OutcomeStatus::failed, detail);
    if (step && step->progress == Progress::done) return outcome(OutcomeStatus::done, detail);
    if (clock_.monotonic() >= end_) {
      // A hung node keeps a job completing for minutes. It starts by itself once that is over.
      if (step && set_up_)
        return outcome(OutcomeStatus::done,
                       detail + "; it starts without " + join(action_.nodes, ","));
      return outcome(OutcomeStatus::unknown,
                     detail + " at the deadline of " + to_text(action_.deadline), true);
    }
    clock_.sleep(command_.options().poll_interval);
  }
}

Result<Outcome> SlurmRequeue::inspect() {
  const auto all = read_jobs_as_text(command_, action_.attempt->job);
  if (!all) return all.error();
  std::vector<SlurmJob> jobs = *all;
  std::erase_if(jobs, [&](const SlurmJob& job) { return !rules_.is_target(job); });
  if (jobs.empty()) return inspect_without_target(*all, "slurmctld does not know the job any more");
  for (const auto& job : jobs) {
    const bool waits = job.state == AttemptState::pending;
    if (const auto refusal = why_not_again(job);
        !refusal.empty() && !waits && job.restart <= action_.attempt->restart)
      return inspect_without_target(*all, refusal);
    if (job.state == AttemptState::pending || job.state == AttemptState::completing) {
      if (hold_is_ours(job))
        return outcome(OutcomeStatus::unknown, job.id + " is requeued and still held", true);
      if (is_tied(job))
        return outcome(OutcomeStatus::unknown, job.id + " is tied to its old nodes", true);
      if (job.restart > action_.attempt->restart && !rules_.excludes(job)) {
        return outcome(OutcomeStatus::failed, job.id + " waits without the exclusion", true);
      }
      if (job.restart <= action_.attempt->restart)
        return outcome(OutcomeStatus::failed, job.id + " is not requeued", true);
      continue;
    }
    if (job.restart > action_.attempt->restart && !rules_.on_excluded_node(job)) continue;
    return outcome(OutcomeStatus::failed, job.id + " is not requeued", true);
  }
  return outcome(OutcomeStatus::done,
                 jobs.front().state == AttemptState::running
                     ? where_it_runs(jobs.front())
                     : jobs.front().id + " waits with " + join(action_.nodes, ",") + " excluded");
}

/// The action's own job is not run again: whether its array goes on elsewhere.
Outcome SlurmRequeue::inspect_without_target(const std::vector<SlurmJob>& jobs,
                                             const std::string& refusal) const {
  for (const auto& job : jobs) {
    if (rules_.is_target(job)) continue;
    if (hold_is_ours(job))
      return outcome(OutcomeStatus::unknown, job.id + " is requeued and still held", true);
    if (rules_.lacks_exclusion(job) || rules_.is_brought_away(job))
      return outcome(OutcomeStatus::failed, job.id + " is not kept off " + join(action_.nodes, ","),
                     true);
  }
  if (rules_.stands_in_tail(jobs))
    return outcome(OutcomeStatus::unknown, action_.attempt->job + " is being requeued", true);
  const auto kept = rules_.kept_away(jobs);
  return outcome(kept.empty() ? OutcomeStatus::failed : OutcomeStatus::done,
                 kept + refusal + rules_.staying(jobs));
}

/// Gives every waiting task of the same array the exclusion.
Status SlurmRequeue::exclude_from_waiting_siblings(const std::vector<SlurmJob>& jobs) {
  for (const auto& job : jobs) {
    if (!rules_.lacks_exclusion(job)) continue;
    const auto status = exclude(job);
    // conflict: it has just started; the next look meets it where it runs.
    if (!status && status.error().code != ErrorCode::conflict) return status.error();
  }
  return ok_status();
}

Result<SlurmRequeue::Step> SlurmRequeue::advance_all() {
  const auto jobs = read_jobs_as_text(command_, action_.attempt->job);
  if (!jobs) return jobs.error();
  const auto put_back = std::find_if(jobs->begin(), jobs->end(),
                                     [&](const auto& job) { return is_put_back_tied(job); });
  if (put_back != jobs->end()) return untie_alone(*put_back);
  // The waiting siblings first: the moment this job leaves its nodes, one of them may be put there.
  FAULTLINE_TRY(exclude_from_waiting_siblings(*jobs));
  target_on_excluded_ = std::any_of(jobs->begin(), jobs->end(), [&](const auto& job) {
    return rules_.is_target(job) && rules_.on_excluded_node(job);
  });
  const bool found = std::any_of(jobs->begin(), jobs->end(),
                                 [&](const auto& job) { return rules_.is_target(job); });
  set_up_ = found && std::all_of(jobs->begin(), jobs->end(), [&](const auto& job) {
              return !rules_.is_target(job) || is_set_up(job);
            });
  Step all{Progress::done, ""};
  std::string refusal = "slurmctld does not know job " + action_.attempt->job + " (any more)";
  for (const auto& job : *jobs) {
    // A sibling that runs on the bad node is brought away from it too, where it can be requeued.
    const bool sibling = !rules_.is_target(job);
    if (sibling && !rules_.is_brought_away(job) && !requeued_.contains(leader(job))) continue;
    auto step = advance(job);
    if (!step) return step.error();
    if (!sibling) refusal = step->progress == Progress::refused ? step->detail : "";
    if (!sibling && !refusal.empty()) {
      if (job.array_job.empty()) return step;
      continue;
    }
    if (step->progress == Progress::waiting) all.progress = Progress::waiting;
    if (!sibling || step->progress == Progress::waiting) all.detail = step->detail;
  }
  return refusal.empty() ? all : without_target(*jobs, all, refusal);
}

/// What cannot be requeued is said; that the rest of its array goes elsewhere is the act.
SlurmRequeue::Step SlurmRequeue::without_target(const std::vector<SlurmJob>& jobs,
                                                const Step& siblings,
                                                const std::string& refusal) const {
  // Just excluded, or just started instead: the next look says so.
  const bool open = std::any_of(jobs.begin(), jobs.end(),
                                [&](const auto& job) { return rules_.lacks_exclusion(job); });
  if (open || siblings.progress == Progress::waiting)
    return {Progress::waiting, refusal + "; its array is being given the exclusion"};
  if (rules_.stands_in_tail(jobs))
    return {Progress::waiting, action_.attempt->job + " is being requeued"};
  const auto kept = rules_.kept_away(jobs);
  return {kept.empty() ? Progress::refused : Progress::done, kept + refusal + rules_.staying(jobs)};
}

Result<SlurmRequeue::Step> SlurmRequeue::advance(const SlurmJob& job) {
  if (const auto names = rules_.asked_for(job); !names.empty() && !hold_is_ours(job)) {
    // Slurm would hold it for ever with BadConstraints. What its user wants instead, only they
    // know.
    return Step{
        Progress::refused,
        job.id + " asks for " + names +
            " by name (--nodelist) and cannot run without; nothing was changed. Its user can "
            "submit it again without, or `scontrol update jobid=" +
            update_target(job) + " ReqNodeList=` once it waits"};
  }
  switch (job.state) {
    case AttemptState::pending: return advance_pending(job);
    case AttemptState::running: return advance_running(job);
    case AttemptState::completing: return advance_completing(job);
    case AttemptState::failed:
    case AttemptState::node_fail:
    case AttemptState::timeout:
    case AttemptState::out_of_memory:
    case AttemptState::preempted: return advance_ended(job);
    case AttemptState::completed:
    case AttemptState::cancelled: return Step{Progress::refused, why_not_again(job)};
    case AttemptState::requeued:
    case AttemptState::unknown: break;
  }
  return Step{Progress::waiting, job.id + " is in a state that faultline does not know"};
}

Result<SlurmRequeue::Step> SlurmRequeue::advance_completing(const SlurmJob& job) {
  const Step waiting{Progress::waiting, job.id + " is still completing on " + join(job.nodes, ",")};
  if (hold_is_ours(job)) {
    // Slurm takes the exclusion while the nodes still complete, and with it in place nothing is
    // left to hold the job for.
    if (!rules_.excludes(job)) FAULTLINE_TRY(exclude(job));
    FAULTLINE_TRY(run({"scontrol", "release", control_target(job)}));
    return waiting;
  }
  // A hung node keeps it completing for minutes. Slurm takes the requeue already, but only a
  // failure is requeued, and the state alone does not tell it from a success.
  const bool failed = std::any_of(failure_reasons.begin(), failure_reasons.end(),
                                  [&](auto reason) { return job.reason.starts_with(reason); });
  return failed && job.restart <= action_.attempt->restart && !requeued_.contains(leader(job))
             ? requeue(job)
             : waiting;
}

Result<SlurmRequeue::Step> SlurmRequeue::advance_ended(const SlurmJob& job) {
  if (requeued_.contains(leader(job))) {
    if (job.restart <= action_.attempt->restart && rules_.is_target(job))
      return Step{Progress::waiting, job.id + " is being requeued"};
    return Step{Progress::done,
                job.id + " was requeued and has ended again: " + std::string(to_text(job.state))};
  }
  if (!target_on_excluded_ && rules_.is_target(job)) {
    return Step{Progress::refused, job.id + " ended on " + join(job.nodes, ",") +
                                       ", without any of " + join(action_.nodes, ",") +
                                       "; left alone"};
  }
  return requeue(job);
}

Result<SlurmRequeue::Step> SlurmRequeue::advance_running(const SlurmJob& job) {
  if (rules_.on_excluded_node(job)) return requeue(job);
  if (job.restart > action_.attempt->restart || !rules_.is_target(job))
    return Step{Progress::done, where_it_runs(job)};
  if (target_on_excluded_ || requeued_.contains(leader(job))) {
    return Step{Progress::waiting, job.id + " is requeued with the rest of its set"};
  }
  return Step{Progress::refused,
              where_it_runs(job) + " without any of " + join(action_.nodes, ",") + "; left alone"};
}

Result<SlurmRequeue::Step> SlurmRequeue::requeue(const SlurmJob& job) {
  if (auto refusal = why_not_again(job); !refusal.empty())
    return Step{Progress::refused, std::move(refusal)};
  if (job.state == AttemptState::running) mark(job);  // Slurm refuses it once the job has ended
  const auto status = run({"scontrol", "requeuehold", control_target(job)});
  if (!status) {
    // It moved on between the look and the act; the next look decides.
    if (status.error().code == ErrorCode::conflict)
      return Step{Progress::waiting, status.error().message};
    if (status.error().code == ErrorCode::invalid_argument ||
        status.error().code == ErrorCode::permission_denied) {
      return Step{Progress::refused, status.error().message};
    }
    return status.error();
  }
  requeued_.insert(leader(job));
  pending_at_.erase(job.number);
  return Step{Progress::waiting, job.id + " is requeued and held"};
}

Result<SlurmRequeue::Step> SlurmRequeue::advance_pending(const SlurmJob& job) {
  const auto since = pending_at_.try_emplace(job.number, clock_.monotonic()).first->second;
  if (!rules_.excludes(job)) {
    FAULTLINE_TRY(exclude(job));
    return Step{Progress::waiting, job.id + " is being given the exclusion"};
  }
  const bool held_by_other = job.held && !hold_is_ours(job);
  if (is_tied(job) && (held_by_other || !tie_is_young(job))) return untie(job, Progress::waiting);
  if (held_by_other) {
    return Step{Progress::done, job.id + " has " + join(action_.nodes, ",") +
                                    " excluded and stays held (" +
                                    (job.description.empty() ? job.reason : job.description) +
                                    "): somebody else's hold is not ours to release"};
  }
  FAULTLINE_TRY(take_spares(job));
  if (job.held || is_put_off(job)) {
    const bool rested = clock_.monotonic() - since >= command_.options().requeue_settle;
    if (!rested) return Step{Progress::waiting, job.id + " lets old credentials expire"};
    FAULTLINE_TRY(tie(job));
    // A requeue puts the begin time two minutes ahead.
    FAULTLINE_TRY(run({"scontrol", "update", "jobid=" + control_target(job), "StartTime=now"}));
    if (job.held) FAULTLINE_TRY(run({"scontrol", "release", control_target(job)}));
    return Step{Progress::waiting, job.id + " is released"};
  }
  if (is_tied(job)) return Step{Progress::waiting, job.id + " waits for the nodes that it had"};
  // After the release the old reason stays until the scheduler has looked.
  const bool unsettled =
      held_by_requeue(job) || std::find(unsettled_reasons.begin(), unsettled_reasons.end(),
                                        job.reason) != unsettled_reasons.end();
  const bool put_back_since = job.restart > action_.attempt->restart && !is_our_requeue(job);
  if (!unsettled || put_back_since) {
    return Step{Progress::done, job.id + " waits with " + join(action_.nodes, ",") + " excluded (" +
                                    job.reason + ")" + spare_trouble_};
  }
  return Step{Progress::waiting, job.id + " waits to be scheduled"};
}

/// Our requeue is what it waits after. A later one is somebody else's.
bool SlurmRequeue::is_our_requeue(const SlurmJob& job) const {
  return requeued_.contains(leader(job)) || job.restart == action_.attempt->restart + 1;
}

/// A begin time ahead is the requeue's and not the user's. While the nodes of the run before
/// completed, or slurmctld restarted, ours was overwritten. The reason does not always say so: a
/// task beyond its array's limit names that, and is put off all the same.
bool SlurmRequeue::is_put_off(const SlurmJob& job) const {
  return is_our_requeue(job) &&
         (job.reason == "BeginTime" || job.eligible > clock_.now() + clock_difference_max);
}

bool SlurmRequeue::tie_is_young(const SlurmJob& job) const {
  const auto tied = tied_at_.find(job.number);
  return tied != tied_at_.end() &&
         clock_.monotonic() - tied->second < command_.options().placement_wait;
}

/// Neither of a set whose parts are placed together, nor over a list or a comment that is somebody
/// else's, nor when no time is left to take it back.
bool SlurmRequeue::may_be_tied(const SlurmJob& job) const {
  const bool ours = requeued_.contains(leader(job)) || act_of(job) == action_.id;
  return ours && is_our_requeue(job) && rules_.is_target(job) && job.het_job.empty() &&
         job.required.empty() && may_comment(job) && !tied_at_.contains(job.number) &&
         clock_.monotonic() + command_.options().placement_wait < end_;
}

/// Once, while the requeue still keeps the job back: what Slurm refuses, or does not start soon, it
/// places as it likes.
Status SlurmRequeue::tie(const SlurmJob& job) {
  if (action_.keep.empty() || !may_be_tied(job)) return ok_status();
  const auto pool = read_pool(command_);
  if (!pool) return may_pass(pool.error()) ? Status(pool.error()) : ok_status();
  const auto nodes = placement(job, *pool, action_, command_.options().spare_feature);
  const auto status = nodes.empty() ? ok_status()
                                    : run({"scontrol", "update", "jobid=" + update_target(job),
                                           "ReqNodeList=" + join(nodes, ","),
                                           "AdminComment=" + comment_of(action_.id, nodes)});
  if (!status && may_pass(status.error())) return status;
  tied_at_.emplace(job.number, clock_.monotonic());
  return ok_status();
}

/// Only ever to the empty list: another one, given to a job that has just started, would shrink it
/// to those nodes. To the empty one Slurm says no then, and the next look meets it running.
Result<SlurmRequeue::Step> SlurmRequeue::untie(const SlurmJob& job, Progress after) {
  const auto status = run({"scontrol", "update", "jobid=" + update_target(job), "ReqNodeList="});
  if (!status && may_pass(status.error())) return status.error();
  if (!status) return Step{Progress::waiting, job.id + ": " + status.error().message};
  return Step{after, job.id + " is no longer tied to the nodes that it had"};
}

/// This act was through with it, and somebody else's requeue brought it back since.
bool SlurmRequeue::is_put_back_tied(const SlurmJob& job) const {
  return rules_.is_target(job) && is_tied(job) && act_of(job) == action_.id && !is_our_requeue(job);
}

/// Nothing but the tie is taken back: the node may have been returned meanwhile, so its array is
/// not moved once more.
Result<SlurmRequeue::Step> SlurmRequeue::untie_alone(const SlurmJob& job) {
  if (job.state == AttemptState::completing)
    return Step{Progress::waiting, job.id + " is still completing on " + join(job.nodes, ",")};
  if (job.state != AttemptState::pending) return Step{Progress::done, where_it_runs(job)};
  return untie(job, Progress::done);
}

/// Merges the exclusion into the job's own.
Status SlurmRequeue::exclude(const SlurmJob& job) {
  std::vector<std::string> argv{"scontrol", "update", "jobid=" + update_target(job),
                                "ExcNodeList=" + join(rules_.merged_exclusions(job), ",")};
  if (is_tied(job)) argv.push_back("ReqNodeList=");
  if (may_comment(job) && requeued_.contains(leader(job)))
    argv.push_back("AdminComment=" + comment_of(action_.id, {}));
  return run(std::move(argv));
}

/// Once for a job that has left its nodes: gives it what it lacks out of the site's reservation of
/// spares.
Status SlurmRequeue::take_spares(const SlurmJob& job) {
  const auto& reservation = command_.options().spare_reservation;
  const bool ran_before = job.restart > action_.attempt->restart || requeued_.contains(leader(job));
  if (reservation.empty() || !ran_before || supplied_.contains(job.number)) return ok_status();
  auto pool = read_pool(command_);
  if (!pool) return pool.error();
  const auto spares = spares_to_take(job, *pool, reservation);
  if (spares.empty()) {
    supplied_.insert(job.number);
    return ok_status();
  }
  const auto status = run({"scontrol", "update", "reservationname=" + reservation,
                           "nodes=" + join(spares_left(*pool, reservation, spares), ",")});
  if (!status && status.error().code == ErrorCode::unavailable) return status;
  supplied_.insert(job.number);
  if (status) return status;
  // Not allowed to, or somebody took it meanwhile: the job waits for a node, and people are told
  // why.
  spare_trouble_ = "; no spare out of " + reservation + ": " + status.error().message;
  return ok_status();
}

/// Writes down that the hold to come is ours, so that a later life releases it and nobody else's.
void SlurmRequeue::mark(const SlurmJob& job) {
  if (!may_comment(job)) return;
  const auto tied_to = is_tied(job) ? job.required : std::vector<std::string>{};
  // Without the mark all still works, but for a crash before the release.
  static_cast<void>(run({"scontrol", "update", "jobid=" + update_target(job),
                         "AdminComment=" + comment_of(action_.id, tied_to)}));
}

Status SlurmRequeue::run(std::vector<std::string> argv) {
  commands_.push_back(command_text(argv));
  const auto out = command_.run(std::move(argv));
  return out ? ok_status() : Status(out.error());
}

/// Nothing more to be done but to wait for Slurm: requeued, with the exclusion, and not held.
bool SlurmRequeue::is_set_up(const SlurmJob& job) const {
  const bool waits = job.state == AttemptState::pending || job.state == AttemptState::completing;
  return waits && job.restart > action_.attempt->restart && rules_.excludes(job) && !job.held &&
         !hold_is_ours(job) && !is_tied(job);
}

bool SlurmRequeue::hold_is_ours(const SlurmJob& job) const {
  if (!held_by_requeue(job)) return false;
  return requeued_.contains(leader(job)) || act_of(job) == action_.id;
}

Outcome SlurmRequeue::outcome(OutcomeStatus status, std::string detail, bool retryable) const {
  return {action_.id, status, clock_.now(), std::move(detail), commands_, retryable};
}

}  // namespace faultline
