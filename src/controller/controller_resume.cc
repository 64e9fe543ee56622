// One life of the controller after another: what the earlier one knew, decided and left half done
// is taken up from the store.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/controller.h"
#include "model/json.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

constexpr std::size_t replay_events_max = 200000;
constexpr std::size_t alive_attempts_max = 16384;
// The scheduler's nodes as they were seen last, for questions and for the next life.
constexpr const char* nodes_value = "scheduler.nodes";
constexpr const char* nodes_seen_at_value = "scheduler.nodes_seen_at";

}  // namespace

Status Controller::replay(Instant now) {
  const Instant since = now - options_.limits.repeat_window;
  const auto verdicts = replay_verdicts(since, now);
  if (!verdicts) return verdicts.error();
  const auto incidents = store_.incidents({open_verdicts_max, since});
  if (!incidents) return incidents.error();
  for (const auto& incident : *incidents) incidents_.restore(incident, *verdicts);
  // What counts within the window may rest on a failure up to a window before it.
  const Instant heard_since = since - options_.limits.repeat_window;
  FAULTLINE_TRY(replay_running_attempts(heard_since));
  return replay_events(heard_since, now, *verdicts);
}

/// What was judged and done already. Returns the verdicts, oldest first.
Result<std::vector<Verdict>> Controller::replay_verdicts(Instant since, Instant now) {
  auto verdicts = store_.verdicts({open_verdicts_max, since});
  if (!verdicts) return verdicts.error();
  for (const auto& verdict : *verdicts) {
    const auto decisions = store_.decisions_of_verdict(verdict.id);
    if (!decisions) return decisions.error();
    judge_.remember(verdict, *decisions);
    for (const auto& decision : *decisions) {
      rulings_.decision(decision);
      // Killed before people heard of it; of what is older nobody wants to be woken.
      if (is_told_of(decision) && now - decision.decided_at <= options_.limits.verdict_age_max)
        tell(decision);
    }
  }
  for (const auto& entry : history_.entries) {
    if (entry.outcome) rulings_.outcome(*entry.outcome);
  }
  std::reverse(verdicts.value().begin(), verdicts.value().end());
  return verdicts;
}

/// The ruling board learns of verdicts among the events, in the order of then: a verdict about a
/// node is none about an attempt that began there afterwards.
Status Controller::replay_events(Instant since, Instant now, const std::vector<Verdict>& verdicts) {
  const auto events = store_.events({replay_events_max, since});
  if (!events) return events.error();
  auto next = verdicts.begin();
  const auto rule_before = [&](Instant at) {
    for (; next != verdicts.end() && next->updated_at < at; ++next) rulings_.verdict(*next, {});
  };
  for (const auto& event : *events) {
    rule_before(event.received_at);
    judge_.observe(event);
    rulings_.observe(event, event.received_at);
    if (!event.reporter.empty()) agents_[event.reporter] = now;  // silent from here on, it is lost
    if (event.kind == EventKind::agent_lost) {                   // and told already
      agents_[event.subject.node] = event.received_at;
      lost_agents_.insert(event.subject.node);
    }
  }
  rule_before(Instant::max());
  if (!events->empty()) judge_.replayed(events->back().received_at);
  return ok_status();
}

/// Without a last view, or with one that cannot be read, the first view of this life is where it
/// begins.
void Controller::resume_watch() {
  const auto text = store_.value(nodes_value);
  const auto at = store_.value(nodes_seen_at_value);
  if (!text || !*text || !at || !*at) return;
  const auto nodes = parse_json(**text);
  const auto taken_at = parse_instant(**at);
  if (!nodes || !taken_at) return counters_.add("controller_last_view_unreadable_total");
  ClusterView last;
  last.taken_at = *taken_at;
  for (const auto& item : *nodes) {
    if (const auto node = scheduler_node_from_json(item)) last.nodes[node->name] = *node;
  }
  watch_.resume(last);
}

/// A long run began before the replayed window; without its beginning nobody knows where its ranks
/// are.
Status Controller::replay_running_attempts(Instant since) {
  const auto attempts = store_.attempts_alive_since(since, alive_attempts_max);
  if (!attempts) return attempts.error();
  for (const auto& attempt : *attempts) {
    const bool over = ended(attempt.state) && attempt.ended_at < since;
    if (over || attempt.started_at >= since) continue;
    const auto events = store_.events_of_attempt(attempt.id, {replay_events_max, {}});
    if (!events) return events.error();
    for (const auto& event : *events) {
      const bool begins =
          event.kind == EventKind::attempt_started || event.kind == EventKind::rank_started;
      if (!begins || event.received_at >= since) continue;
      judge_.observe(event);
      rulings_.observe(event, event.received_at);
    }
  }
  return ok_status();
}

void Controller::save_view() {
  nlohmann::json nodes = nlohmann::json::array();
  Instant taken_at;
  {
    const std::lock_guard lock(mutex_);
    taken_at = view_.taken_at;
    for (const auto& [name, node] : view_.nodes) nodes.push_back(to_json(node));
  }
  if (!known(taken_at)) return;  // what the life before saw counts until the scheduler answers
  // The date comes second: killed in between, a node was last seen up earlier than it was, and
  // never later.
  note_store(store_.put_value(nodes_value, dump(nodes)), "view");
  note_store(store_.put_value(nodes_seen_at_value, to_text(taken_at)), "view");
}

Status Controller::resume_decided(Work work, Instant since) {
  // Killed after a decision was stored and before its intent was: nothing was done, and the judge
  // will not decide again.
  const auto decisions = store_.decisions({open_verdicts_max, since});
  if (!decisions) return decisions.error();
  for (auto it = decisions->rbegin(); it != decisions->rend(); ++it) {
    if (it->action.kind == ActionKind::notify || work_of(it->action.kind) != work) continue;
    // Tests may have stood in line for long.
    const bool late = clock_.now() - it->decided_at > options_.limits.verdict_age_max;
    if (late && work != Work::tests) continue;
    const auto resumed = to_be_resumed(*it);
    if (!resumed) return resumed.error();
    if (*resumed) enqueue(*it);
  }
  return ok_status();
}

Result<bool> Controller::to_be_resumed(const Decision& decision) {
  if (decision.ruling != Ruling::act) {
    const auto dry_run = dry_run_of(store_, decision);
    if (!dry_run) return dry_run.error();
    return wants_dry_run(decision) && !*dry_run;
  }
  if (!may_act(decision)) return false;
  const auto record = store_.action(decision.action.id);
  if (!record) return record.error();
  return !*record && still_stands(decision);
}

Status Controller::resume_outcomes(Instant now) {
  for (const auto& entry : history_.entries) {
    if (!entry.outcome) continue;
    const auto& node = entry.action.subject.node;
    const auto state = node_states_.find(node);
    const bool followed =
        node.empty() || (state != node_states_.end() && state->second.since >= entry.outcome->at);
    const bool young = now - entry.outcome->at <= options_.limits.verdict_age_max;
    if (followed && !young) continue;
    const auto decision = store_.decision(entry.action.decision);
    if (!decision) return decision.error();
    if (!*decision) continue;
    if (!followed) follow(**decision, *entry.outcome);
    if (young) tell(**decision);
  }
  return ok_status();
}

}  // namespace faultline
