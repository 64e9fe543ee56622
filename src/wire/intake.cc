#include "wire/intake.h"

#include <utility>

#include "base/text.h"
#include "wire/convert.h"

namespace faultline {
namespace {

Error denied(std::string message) {
  return Error{ErrorCode::permission_denied, std::move(message)};
}

/// Facts that only the controller, the scheduler or a person can state.
bool above_an_agent(const Event& event) {
  switch (event.kind) {
    case EventKind::attempt_started:
    case EventKind::attempt_ended:
      // The launcher knows when its own attempt starts and ends; policy knows what a launcher's
      // word is worth.
      return event.source != EventSource::launcher;
    case EventKind::node_seen:
    case EventKind::agent_lost:
    case EventKind::test_finished:
    case EventKind::outcome:
    case EventKind::person_request: return true;
    case EventKind::log_signature:
    case EventKind::gpu_identity:
    case EventKind::gpu_sample:
    case EventKind::rank_started:
    case EventKind::rank_exited:
    case EventKind::progress_stalled:
    case EventKind::progress_resumed:
    case EventKind::node_boot:
    case EventKind::source_gap:
    case EventKind::agent_started:
    case EventKind::trace_read:
    case EventKind::group_seen:
    case EventKind::operation_pending:
    case EventKind::operation_completed: break;
  }
  return event.source == EventSource::controller || event.source == EventSource::person;
}

bool speaks_of_its_own_node_only(EventSource source) {
  return source == EventSource::kernel_log || source == EventSource::nvml ||
         source == EventSource::agent;
}

}  // namespace

Status may_say(const Event& event, std::string_view node) {
  if (event.reporter != node) {
    return denied("'" + std::string(node) + "' spoke as '" + printable(event.reporter, 64) +
                  "': an agent speaks for its own node alone");
  }
  if (above_an_agent(event)) {
    return denied("an agent cannot state '" + std::string(to_text(event.kind)) + "' of source '" +
                  std::string(to_text(event.source)) + "'");
  }
  if (speaks_of_its_own_node_only(event.source) && concerns_node(event.subject) &&
      event.subject.node != node) {
    return denied("source '" + std::string(to_text(event.source)) + "' of '" + std::string(node) +
                  "' spoke about '" + event.subject.text() + "'");
  }
  // An id that the content does not give could make the store take this event for another node's,
  // and drop that one.
  if (event.id != make_event_id(event))
    return denied("event id '" + event.id + "' is not that of its content");
  return ok_status();
}

Intake take_batch(const v1::Batch& batch, std::string_view node, Counters& counters) {
  Intake intake;
  const auto refuse = [&](const Error& error) {
    ++intake.refused;
    if (intake.reason.empty()) intake.reason = error.message;
    counters.add(error.code == ErrorCode::permission_denied ? "wire_events_not_permitted_total"
                                                            : "wire_events_malformed_total");
  };
  for (const auto& message : batch.events()) {
    if (intake.events.size() >= batch_events_max) {
      refuse({ErrorCode::exhausted,
              "more than " + std::to_string(batch_events_max) + " events in a batch"});
      continue;
    }
    auto event = event_from_wire(message);
    if (!event) {
      refuse(event.error());
    } else if (const auto permitted = may_say(*event, node); !permitted) {
      refuse(permitted.error());
    } else {
      event.value().received_at = Instant{};
      intake.events.push_back(std::move(event).value());
    }
  }
  counters.add("wire_events_taken_total", intake.events.size());
  return intake;
}

}  // namespace faultline
