#include "ingest/scheduler_events.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

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

Event as_told(Event event, RawLine raw) {
  event.received_at = {};
  event.clock = known(event.observed_at) ? ClockDomain::scheduler : ClockDomain::none;
  event.raw = std::move(raw);
  event.id = make_event_id(event);
  return event;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t bytes_max = raw_text_bytes_max - 3;  // a cut is marked with three more
  constexpr std::string_view blank = " \t\r\n";
  std::string line;
  while (line.size() <= bytes_max) {
    const auto word = text.find_first_not_of(blank);
    if (word == std::string_view::npos) break;
    text.remove_prefix(word);
    const auto end = text.find_first_of(blank);
    if (!line.empty()) line += ' ';
    line += text.substr(0, std::min(end, bytes_max + 1));
    text.remove_prefix(std::min(end, text.size()));
  }
  return printable(line, bytes_max);
}

}  // namespace faultline
