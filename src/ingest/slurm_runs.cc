#include "ingest/slurm_runs.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/scheduler_events.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

bool digits(std::string_view text) {
  constexpr std::size_t digits_max = 10;
  return !text.empty() && text.size() <= digits_max &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

void add_field(Event& event, std::string_view name, std::string_view value) {
  if (!value.empty()) event.fields.emplace(name, printable(value, field_bytes_max - 3));
}

Event event_of(EventKind kind, const SlurmRun& run) {
  Event event = as_told(attempt_event(kind, run.attempt, {}), run.raw);
  // Names of thousands of nodes say no more than the list they came from.
  if (event.field("nodes").size() > field_bytes_max) event.fields["nodes"] = run.node_list;
  if (kind == EventKind::attempt_ended) {
    add_field(event, "cancelled_by", run.cancelled_by);
    add_field(event, "reason", run.reason);
    if (valid_node_name(run.failed_node)) add_field(event, "failed_node", run.failed_node);
    add_field(event, "steps", run.steps);
  }
  return event;
}

}  // namespace

bool set_slurm_job(std::string_view id, Attempt& attempt) {
  const auto separator = id.find_first_of("_+");
  const auto leader = id.substr(0, separator);
  if (!digits(leader)) return false;
  attempt.id.job = id;
  if (separator == std::string_view::npos) return true;
  if (!digits(id.substr(separator + 1))) return false;
  (id[separator] == '_' ? attempt.array_job : attempt.het_job) = leader;
  return true;
}

void SlurmRuns::add(SlurmRun run) {
  const std::string& job = run.attempt.id.job;
  const auto [known_run, fresh] =
      by_start_.try_emplace({job, run.attempt.started_at}, runs_.size());
  if (!fresh && known(run.attempt.started_at)) {
    last_[job] = known_run->second;
    runs_[known_run->second] = std::move(run);
    return;
  }
  last_[job] = runs_.size();
  of_job_[job].push_back(runs_.size());
  runs_.push_back(std::move(run));
}

bool SlurmRuns::add_step(const std::string& job, const SlurmStep& step) {
  const auto last = last_.find(job);
  if (last == last_.end()) return false;
  SlurmRun& run = runs_[last->second];
  if (run.steps.size() < field_bytes_max) {
    if (!run.steps.empty()) run.steps += "; ";
    run.steps += step.name + ' ' + step.exit;
    if (!step.node_list.empty()) run.steps += ' ' + step.node_list;
  }
  Attempt& attempt = run.attempt;
  if (attempt.nodes.empty()) {
    attempt.nodes = slurm_hosts(step.node_list);
    run.node_list = step.node_list;
    run.ran = run.ran || !attempt.nodes.empty();
  }
  const bool failed = step.exit_code.value_or(0) != 0 && attempt.state != AttemptState::completed;
  if (failed && attempt.exit_code.value_or(0) == 0) attempt.exit_code = step.exit_code;
  return true;
}

/// What the records say counts; what they leave open follows from the order of the starts.
void SlurmRuns::number_restarts() {
  for (auto& [job, indexes] : of_job_) {
    std::stable_sort(indexes.begin(), indexes.end(), [&](std::size_t a, std::size_t b) {
      const Instant first = runs_[a].attempt.started_at;
      const Instant second = runs_[b].attempt.started_at;
      return known(first) && (!known(second) || first < second);
    });
    std::uint32_t next = 0;
    for (const std::size_t index : indexes) {
      SlurmRun& run = runs_[index];
      run.attempt.id.restart = run.restart.value_or(next);
      if (run.ran) next = run.attempt.id.restart + 1;
    }
  }
}

std::vector<Event> SlurmRuns::events() && {
  number_restarts();
  std::vector<Event> events;
  for (const SlurmRun& run : runs_) {
    if (!run.ran || run.attempt.state == AttemptState::pending) continue;
    events.push_back(event_of(EventKind::attempt_started, run));
    if (ended(run.attempt.state)) events.push_back(event_of(EventKind::attempt_ended, run));
  }
  return events;
}

}  // namespace faultline
