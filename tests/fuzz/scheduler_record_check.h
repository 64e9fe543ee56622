// What is always so for events that are made of a scheduler's records.
#pragma once

#include <cstddef>

#include "base/check.h"
#include "model/names.h"
#include "tests/fuzz/record_check.h"

namespace faultline {

inline Origin scheduler_fuzz_origin() {
  Origin origin;
  origin.source = EventSource::scheduler;
  origin.path = "document";
  origin.utc_offset = std::chrono::hours{-7};
  return origin;
}

inline void check_record_event(const Event& event, std::size_t document_bytes) {
  FAULTLINE_CHECK(event.source == EventSource::scheduler);
  FAULTLINE_CHECK(event.id == make_event_id(event));
  FAULTLINE_CHECK(event.fields.size() <= event_fields_max);
  FAULTLINE_CHECK(event.raw.text.size() <= raw_text_bytes_max);
  FAULTLINE_CHECK(event.raw.offset < document_bytes);
  FAULTLINE_CHECK(!known(event.received_at));
  for (const auto& [name, value] : event.fields) {
    // A list of nodes stays as it was written.
    FAULTLINE_CHECK(name == "nodes" || value.size() <= field_bytes_max);
    for (const char c : value) FAULTLINE_CHECK(c != '\n' && c != '\0' && c != '\033');
  }
  const Subject& subject = event.subject;
  FAULTLINE_CHECK(subject.node.empty() || valid_node_name(subject.node));
  FAULTLINE_CHECK(subject.attempt.job.empty() || valid_job_id(subject.attempt.job));
  FAULTLINE_CHECK((event.kind == EventKind::log_signature) ==
                  (fuzz_catalog().signature(event.signature) != nullptr));
}

}  // namespace faultline
