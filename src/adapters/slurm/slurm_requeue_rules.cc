#include "adapters/slurm/slurm_requeue_rules.h"

#include <algorithm>

#include "adapters/slurm/slurm_queries.h"
#include "adapters/slurm/slurm_tie.h"
#include "base/contains.h"
#include "base/text.h"

namespace faultline {
namespace {

/// Whether the tail "2_[1-3,7,10-20:2]" has the task "2_2". A step may say yes to too many.
bool tail_has(const SlurmJob& tail, std::string_view task_id) {
  const auto prefix = tail.array_job + "_";
  if (!task_id.starts_with(prefix)) return false;
  const auto task = parse_number<std::uint32_t>(task_id.substr(prefix.size()));
  const auto ranges = split(tail.array_tasks, ',');
  return task && std::any_of(ranges.begin(), ranges.end(), [&](std::string_view range) {
           range = range.substr(0, range.find(':'));
           const auto dash = range.find('-');
           const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
           const auto last = dash == std::string_view::npos
                                 ? first
                                 : parse_number<std::uint32_t>(range.substr(dash + 1));
           return first && last && *first <= *task && *task <= *last;
         });
}

}  // namespace

std::string why_not_again(const SlurmJob& job) {
  if (job.state == AttemptState::completed) return job.id + " has completed; nothing to requeue";
  if (job.state == AttemptState::cancelled) return job.id + " was cancelled; it is not requeued";
  if (!job.batch)
    return "job " + job.id + " is interactive (srun or salloc): Slurm cannot requeue it";
  if (!job.requeue) return "job " + job.id + " was submitted with --no-requeue (Requeue=0)";
  return {};
}

std::string where_it_runs(const SlurmJob& job) {
  return job.id + " runs on " + join(job.nodes, ",") + " (restart " + std::to_string(job.restart) +
         ")";
}

bool SlurmRequeueRules::excludes(const SlurmJob& job) const {
  return std::all_of(action_.nodes.begin(), action_.nodes.end(),
                     [&](const auto& node) { return contains(job.excluded, node); });
}

std::vector<std::string> SlurmRequeueRules::merged_exclusions(const SlurmJob& job) const {
  std::vector<std::string> all = job.excluded;
  for (const auto& node : action_.nodes) {
    if (!contains(all, node)) all.push_back(node);
  }
  return all;
}

bool SlurmRequeueRules::on_excluded_node(const SlurmJob& job) const {
  return std::any_of(action_.nodes.begin(), action_.nodes.end(),
                     [&](const auto& node) { return contains(job.nodes, node); });
}

std::string SlurmRequeueRules::asked_for(const SlurmJob& job) const {
  if (is_tied(job)) return {};
  std::vector<std::string> names;
  for (const auto& node : action_.nodes) {
    if (contains(job.required, node)) names.push_back(node);
  }
  return join(names, ",");
}

bool SlurmRequeueRules::is_target(const SlurmJob& job) const {
  const auto& wanted = action_.attempt->job;
  if (job.id == wanted) return true;
  return !job.het_job.empty() && job.het_job == base_job(wanted);
}

bool SlurmRequeueRules::stands_in_tail(const std::vector<SlurmJob>& jobs) const {
  return std::any_of(jobs.begin(), jobs.end(), [&](const SlurmJob& job) {
    return !job.array_tasks.empty() && tail_has(job, action_.attempt->job);
  });
}

bool SlurmRequeueRules::lacks_exclusion(const SlurmJob& job) const {
  return !is_target(job) && !job.array_job.empty() && job.state == AttemptState::pending &&
         !excludes(job) && asked_for(job).empty();
}

bool SlurmRequeueRules::is_brought_away(const SlurmJob& job) const {
  return !is_target(job) && job.state == AttemptState::running && on_excluded_node(job) &&
         why_not_again(job).empty() && asked_for(job).empty();
}

std::string SlurmRequeueRules::kept_away(const std::vector<SlurmJob>& jobs) const {
  std::vector<std::string> kept;
  for (const auto& job : jobs) {
    if (!is_target(job) && !job.array_job.empty() && !ended(job.state) && excludes(job))
      kept.push_back(update_target(job));
  }
  if (kept.empty()) return {};
  return join(kept, ", ") + " of the same array: " + join(action_.nodes, ",") + " excluded; ";
}

std::string SlurmRequeueRules::staying(const std::vector<SlurmJob>& jobs) const {
  std::string text;
  for (const auto& job : jobs) {
    if (is_target(job) || job.array_job.empty() || job.state != AttemptState::running ||
        !on_excluded_node(job) || is_brought_away(job))
      continue;
    const auto reason = why_not_again(job);
    text += "; " + where_it_runs(job) + " and stays there: " +
            (reason.empty() ? "it asks for " + asked_for(job) + " by name" : reason);
  }
  return text;
}

}  // namespace faultline
