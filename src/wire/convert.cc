#include "wire/convert.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "wire/event_check.h"

namespace faultline {
namespace {

// proto3 reserves 0 for "not set", so every value stands one above ours.
template <class Wire, class Model>
Wire enum_to_wire(Model value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

template <class Model, class Wire>
std::optional<Model> enum_from_wire(Wire value) {
  const int index = static_cast<int>(value) - 1;
  if (index < 0 || index >= static_cast<int>(EnumNames<Model>::values.size())) return std::nullopt;
  return static_cast<Model>(index);
}

void attempt_to_wire(const AttemptId& attempt, v1::Attempt& message) {
  message.set_job(attempt.job);
  message.set_restart(attempt.restart);
}

AttemptId attempt_from_wire(const v1::Attempt& message) {
  return {message.job(), message.restart()};
}

void subject_to_wire(const Subject& subject, v1::Subject& message) {
  message.set_kind(enum_to_wire<v1::SubjectKind>(subject.kind));
  message.set_node(subject.node);
  message.set_part(subject.part);
  if (subject.attempt != AttemptId{}) attempt_to_wire(subject.attempt, *message.mutable_attempt());
  if (subject.rank != -1) message.set_rank(subject.rank);
}

Result<Subject> subject_from_wire(const v1::Subject& message) {
  const auto kind = enum_from_wire<SubjectKind>(message.kind());
  if (!kind) return Error{ErrorCode::invalid_argument, "subject of unknown kind"};
  return Subject{*kind, message.node(), message.part(), attempt_from_wire(message.attempt()),
                 message.has_rank() ? message.rank() : -1};
}

std::int64_t instant_to_wire(Instant instant) { return instant.time_since_epoch().count(); }
Instant instant_from_wire(std::int64_t nanoseconds) { return Instant{Duration{nanoseconds}}; }

Result<Fields> fields_from_wire(const v1::Event& message) {
  // Before anything is copied: a message may hold a hundred thousand of them.
  if (static_cast<std::size_t>(message.fields_size()) > event_fields_max) {
    return Error{ErrorCode::invalid_argument,
                 "more than " + std::to_string(event_fields_max) + " fields"};
  }
  Fields fields;
  for (const auto& field : message.fields()) {
    if (!fields.emplace(field.name(), field.value()).second) {
      return Error{ErrorCode::invalid_argument,
                   "field '" + printable(field.name(), 80) + "' given twice"};
    }
  }
  return fields;
}

Status enums_from_wire(const v1::Event& message, Event& event) {
  const auto source = enum_from_wire<EventSource>(message.source());
  const auto kind = enum_from_wire<EventKind>(message.kind());
  const auto clock = enum_from_wire<ClockDomain>(message.clock());
  if (!source) return Error{ErrorCode::invalid_argument, "unknown source"};
  if (!kind) return Error{ErrorCode::invalid_argument, "unknown kind"};
  if (!clock) return Error{ErrorCode::invalid_argument, "unknown clock"};
  event.source = *source;
  event.kind = *kind;
  event.clock = *clock;
  return ok_status();
}

}  // namespace

void event_to_wire(const Event& event, v1::Event& message) {
  message.set_id(event.id);
  message.set_source(enum_to_wire<v1::Source>(event.source));
  message.set_kind(enum_to_wire<v1::Kind>(event.kind));
  message.set_reporter(event.reporter);
  subject_to_wire(event.subject, *message.mutable_subject());
  if (event.attempt) attempt_to_wire(*event.attempt, *message.mutable_attempt());
  message.set_observed_at_ns(instant_to_wire(event.observed_at));
  message.set_clock(enum_to_wire<v1::ClockDomain>(event.clock));
  message.set_received_at_ns(instant_to_wire(event.received_at));
  message.set_signature(event.signature);
  for (const auto& [name, value] : event.fields) {
    auto& field = *message.add_fields();
    field.set_name(name);
    field.set_value(value);
  }
  if (event.raw == RawLine{}) return;
  auto& raw = *message.mutable_raw();
  raw.set_path(event.raw.path);
  raw.set_offset(event.raw.offset);
  raw.set_boot_id(event.raw.boot_id);
  raw.set_text(event.raw.text);
}

Result<Event> event_from_wire(const v1::Event& message) {
  Event event;
  FAULTLINE_TRY(enums_from_wire(message, event));
  auto subject = subject_from_wire(message.subject());
  if (!subject) return subject.error();
  auto fields = fields_from_wire(message);
  if (!fields) return fields.error();
  event.id = message.id();
  event.reporter = message.reporter();
  event.subject = std::move(subject).value();
  if (message.has_attempt()) event.attempt = attempt_from_wire(message.attempt());
  event.observed_at = instant_from_wire(message.observed_at_ns());
  event.received_at = instant_from_wire(message.received_at_ns());
  event.signature = message.signature();
  event.fields = std::move(fields).value();
  event.raw = {message.raw().path(), message.raw().offset(), message.raw().boot_id(),
               message.raw().text()};
  FAULTLINE_TRY(check_event(event));
  return event;
}

}  // namespace faultline
