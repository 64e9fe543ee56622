#include "diagnose/told_ends.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "detect/attempt_tracker.h"
#include "detect/cause_ids.h"
#include "ingest/scheduler_events.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t told_ends_max = 4096;

constexpr std::array<std::pair<std::string_view, AttemptState>, 3> states_by_cause{{
    {cause_id::time_limit, AttemptState::timeout},
    {cause_id::preempted, AttemptState::preempted},
    {cause_id::out_of_memory_cgroup, AttemptState::out_of_memory},
}};

const Signature* root_of(const Event& event, const Catalog& catalog) {
  if (event.kind != EventKind::log_signature) return nullptr;
  const Signature* signature = catalog.signature(event.signature);
  return signature != nullptr && signature->role == Role::root ? signature : nullptr;
}

bool speaks_of_broken_node(const Event& event, const Catalog& catalog) {
  if (event.kind == EventKind::node_seen) return says_down(event);
  const Signature* signature = root_of(event, catalog);
  const Cause* cause = signature == nullptr ? nullptr : catalog.cause(signature->cause);
  return cause != nullptr && concerns_node(cause->remedy);
}

std::optional<AttemptState> told_state(const Event& event, const Catalog& catalog) {
  const Signature* signature = root_of(event, catalog);
  if (event.source != EventSource::scheduler || signature == nullptr ||
      signature->strength != Strength::decisive)
    return std::nullopt;
  for (const auto& [cause, state] : states_by_cause) {
    if (signature->cause == cause) return state;
  }
  return std::nullopt;
}

/// The attempt of the line; of a log whose lines name their jobs it is that job's.
std::optional<AttemptId> attempt_of_line(const Event& event) {
  const std::string unnamed = Subject::of_unnamed_job().attempt.job;
  if (event.attempt && event.attempt->job != unnamed) return event.attempt;
  const std::string job(event.field("jobid"));
  return valid_job_id(job) && job != unnamed ? std::optional(AttemptId{job, 0}) : std::nullopt;
}

}  // namespace

void add_told_ends(Gathered& gathered, const Catalog& catalog) {
  std::set<std::string> told;
  for (const Event& event : gathered.events) {
    if (speaks_of_broken_node(event, catalog)) return;
    if (event.kind == EventKind::attempt_ended && event.attempt) told.insert(event.attempt->job);
  }
  std::vector<Event> ends;
  for (const Event& event : gathered.events) {
    const auto state = told_state(event, catalog);
    const auto id = state ? attempt_of_line(event) : std::nullopt;
    if (!id || ends.size() >= told_ends_max || !told.insert(id->job).second) continue;
    Attempt attempt;
    attempt.id = *id;
    attempt.state = *state;
    attempt.ended_at = event.observed_at;
    Event end = as_told(attempt_event(EventKind::attempt_ended, attempt, {}), event.raw);
    if (const auto line = gathered.lines.find(event.id); line != gathered.lines.end())
      gathered.lines.emplace(end.id, line->second);
    ends.push_back(std::move(end));
  }
  std::move(ends.begin(), ends.end(), std::back_inserter(gathered.events));
}

}  // namespace faultline
