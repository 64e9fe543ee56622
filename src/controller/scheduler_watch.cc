#include "controller/scheduler_watch.h"

#include "base/text.h"

namespace faultline {
namespace {

// What a node event is about: everything that changes what may be done with the node.
bool same_standing(const SchedulerNode& a, const SchedulerNode& b) {
  return a.available == b.available && a.drained == b.drained && a.down == b.down &&
         a.maintenance == b.maintenance && a.drain_reason == b.drain_reason &&
         a.boot_time == b.boot_time;
}

Event scheduler_event(EventKind kind, Subject subject, Instant at) {
  Event event;
  event.source = EventSource::scheduler;
  event.kind = kind;
  event.subject = std::move(subject);
  event.observed_at = at;
  event.received_at = at;
  event.clock = ClockDomain::controller;
  return event;
}

/// `was_down`: it had been seen down before, so that other news of it is not another loss.
Event node_event(const SchedulerNode& node, bool was_down, Instant at) {
  Event event = scheduler_event(EventKind::node_seen, Subject::of_node(node.name), at);
  event.fields = {{"state", printable(node.state_text, 128)},
                  {"available", node.available ? "true" : "false"},
                  {"drained", node.drained ? "true" : "false"},
                  {"down", node.down ? "true" : "false"},
                  {"was_down", was_down ? "true" : "false"},
                  {"reason", printable(node.drain_reason, 512)},
                  {"owner", printable(node.drain_owner, 128)},
                  {"boot_time", to_text(node.boot_time)}};
  event.id = make_event_id(event);
  return event;
}

}  // namespace

Event attempt_event(EventKind kind, const Attempt& attempt, Instant at) {
  // The scheduler's own start and end times make the id of the same fact the same after a restart
  // of the controller.
  const Instant stated = kind == EventKind::attempt_started ? attempt.started_at : attempt.ended_at;
  Event event = scheduler_event(kind, Subject::of_attempt(attempt.id), known(stated) ? stated : at);
  event.received_at = at;
  event.attempt = attempt.id;
  if (known(stated)) event.clock = ClockDomain::scheduler;
  event.fields = {{"nodes", join(attempt.nodes, ",")},
                  {"user", printable(attempt.user, 256)},
                  {"name", printable(attempt.name, 256)},
                  {"state", std::string(to_text(attempt.state))},
                  {"array_job", attempt.array_job},
                  {"het_job", attempt.het_job},
                  {"restartable", attempt.restartable ? "true" : "false"}};
  if (attempt.exit_code) event.fields.emplace("exit_code", std::to_string(*attempt.exit_code));
  event.id = make_event_id(event);
  return event;
}

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
