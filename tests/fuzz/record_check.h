// For the fuzzers of decoders: the shipped catalog, and what holds for every event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ingest/record_lines.h"
#include "model/names.h"

namespace faultline {

inline const Catalog& fuzz_catalog() {
  static const Catalog loaded = [] {
    auto result = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    FAULTLINE_CHECK(result.ok());
    return std::move(result).value();
  }();
  return loaded;
}

inline const SystemDatabases& fuzz_databases() {
  static const SystemDatabases opened = [] {
    const auto open = [](EventSource source) {
      Counters counters;
      auto database = SignatureDatabase::open(fuzz_catalog(), layers_of(source), {}, counters);
      FAULTLINE_CHECK(database.ok());
      return database.value();
    };
    return SystemDatabases{open(EventSource::kernel_log), open(EventSource::scheduler)};
  }();
  return opened;
}

inline Origin fuzz_origin() {
  Origin origin;
  origin.path = "file";
  origin.last_written = parse_instant("2026-03-01T12:00:00Z").value_or(Instant{});
  return origin;
}

inline void check_event(const Event& event, std::uint64_t bytes) {
  FAULTLINE_CHECK(event.id == make_event_id(event));
  FAULTLINE_CHECK(event.fields.size() <= event_fields_max);
  FAULTLINE_CHECK(event.raw.text.size() <= raw_text_bytes_max);
  FAULTLINE_CHECK(event.raw.offset <= bytes);
  FAULTLINE_CHECK(event.subject.node.empty() || valid_node_name(event.subject.node));
  for (const auto& [name, value] : event.fields) {
    FAULTLINE_CHECK(value.size() <= field_bytes_max);
    FAULTLINE_CHECK(value.find('\n') == std::string::npos);
  }
  FAULTLINE_CHECK((event.kind == EventKind::log_signature) ==
                  (fuzz_catalog().signature(event.signature) != nullptr));
}

inline void check_events(const std::vector<Event>& events, std::uint64_t bytes) {
  for (const Event& event : events) check_event(event, bytes);
}

}  // namespace faultline
