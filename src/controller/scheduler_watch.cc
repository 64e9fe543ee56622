#include "controller/scheduler_watch.h"

#include "ingest/scheduler_events.h"

namespace faultline {
namespace {

// What a node event is about: everything that changes what may be done with the node.
bool same_standing(const SchedulerNode& a, const SchedulerNode& b) {
  return a.available == b.available && a.drained == b.drained && a.down == b.down &&
         a.maintenance == b.maintenance && a.drain_reason == b.drain_reason &&
         a.boot_time == b.boot_time;
}

}  // namespace

void SchedulerWatch::watch_attempts(const ClusterView& view, std::vector<Event>& events) {
  std::map<AttemptId, Attempt> seen;
  for (const auto& attempt : view.attempts) {
    if (attempt.state == AttemptState::pending) continue;
    const auto before = attempts_.find(attempt.id);
    const bool was_known = before != attempts_.end();
    if (!was_known)
      events.push_back(attempt_event(EventKind::attempt_started, attempt, view.taken_at));
    if (ended(attempt.state) && (!was_known || !ended(before->second.state))) {
      events.push_back(attempt_event(EventKind::attempt_ended, attempt, view.taken_at));
    }
    seen.emplace(attempt.id, attempt);
  }
  for (auto& [id, attempt] : attempts_) {
    if (seen.contains(id) || ended(attempt.state)) continue;
    // It left the scheduler's list: requeued (a later attempt exists or the job is pending again)
    // or forgotten.
    Attempt gone = attempt;
    gone.ended_at = view.taken_at;
    gone.state = AttemptState::unknown;
    for (const auto& other : view.attempts) {
      if (other.id.job == id.job && other.id.restart > id.restart)
        gone.state = AttemptState::requeued;
    }
    events.push_back(attempt_event(EventKind::attempt_ended, gone, view.taken_at));
  }
  attempts_ = std::move(seen);
}

void SchedulerWatch::watch_nodes(const ClusterView& view, std::vector<Event>& events) {
  for (const auto& [name, node] : view.nodes) {
    const auto before = nodes_.find(name);
    if (before == nodes_.end() || same_standing(before->second, node)) continue;
    // A loss is as old as the last view that showed the node up. After a long absence of the
    // controller or the scheduler that is too old to act upon, which is right: people have been at
    // it meanwhile.
    const bool lost = node.down && !before->second.down;
    events.push_back(node_event(node, before->second.down, lost ? viewed_at_ : view.taken_at));
    events.back().received_at = view.taken_at;
  }
  nodes_ = view.nodes;
  viewed_at_ = view.taken_at;
}

void SchedulerWatch::resume(const ClusterView& last) {
  nodes_ = last.nodes;
  viewed_at_ = last.taken_at;
}

std::vector<Event> SchedulerWatch::update(const ClusterView& view) {
  std::vector<Event> events;
  watch_attempts(view, events);
  watch_nodes(view, events);
  return events;
}

}  // namespace faultline
