#include "ingest/scheduler_remarks.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/line_prefix.h"
#include "ingest/subject_of.h"

namespace faultline {
namespace {

Event remark_in(const Hit& hit, const Event& record) {
  Event event = record;
  event.kind = EventKind::log_signature;
  event.signature = hit.signature->id;
  event.fields.clear();
  for (const auto& [name, value] : hit.captures)
    event.fields.emplace(name, printable(value, field_bytes_max - 3));
  if (!record.subject.node.empty()) event.fields.emplace("host", record.subject.node);
  if (record.attempt) event.fields.emplace("jobid", record.attempt->job);
  return event;
}

}  // namespace

SchedulerRemarks::SchedulerRemarks(std::shared_ptr<const SignatureDatabase> database,
                                   const Origin& origin, Counters& counters)
    : origin_(origin) {
  origin_.source = EventSource::scheduler;
  if (database != nullptr)
    engine_ = std::make_unique<SignatureEngine>(std::move(database), counters);
}

std::vector<Event> SchedulerRemarks::of(std::string_view line, const Event& record) {
  std::vector<Event> events;
  if (engine_ == nullptr) return events;
  LineBlock block;
  block.add(line.substr(0, line.find('\n')), 0, 0);
  for (const Hit& hit : engine_->scan(block)) {
    // A parser alone found where the words stand, and nothing in them.
    if (hit.signature->use == SignatureUse::identity || hit.signature->use == SignatureUse::parser)
      continue;
    const Event event = remark_in(hit, record);
    for (Subject& subject : subjects_of(*hit.signature, event.fields, {}, origin_)) {
      Event one = event;
      const bool nowhere = subject.kind == SubjectKind::cluster && record.attempt.has_value();
      one.subject = nowhere ? Subject::of_attempt(*record.attempt) : std::move(subject);
      one.id = make_event_id(one);
      events.push_back(std::move(one));
    }
  }
  return events;
}

std::vector<Event> SchedulerRemarks::of_reason(const Event& seen) {
  return of("update_node: node " + seen.subject.node +
                " reason set to: " + std::string(seen.field("reason")),
            seen);
}

}  // namespace faultline
