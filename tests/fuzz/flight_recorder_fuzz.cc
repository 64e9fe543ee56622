// Any bytes as a flight-recorder dump: refused, or events that are bounded, printable and the
// same the next time. The first byte is the rank that the name of the file says.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/counters.h"
#include "ingest/flight_recorder_events.h"

namespace {

using namespace faultline;

void check_dump(const FlightRecorderDump& dump) {
  FAULTLINE_CHECK(dump.entries.size() <= recorder_entries_max);
  FAULTLINE_CHECK(dump.groups.size() <= recorder_groups_max);
  FAULTLINE_CHECK(dump.frames.size() <= recorder_frames_max);
  for (const RecorderEntry& entry : dump.entries) {
    FAULTLINE_CHECK(entry.group < dump.groups.size());
    FAULTLINE_CHECK(entry.frames.size() <= recorder_stack_frames_max);
    for (const std::uint32_t frame : entry.frames) FAULTLINE_CHECK(frame < dump.frames.size());
    for (const auto* text : {&entry.profiling_name, &entry.in_sizes, &entry.out_sizes,
                             &entry.in_dtypes, &entry.out_dtypes})
      FAULTLINE_CHECK(text->size() <= recorder_text_bytes_max);
  }
}

void check_event(const Event& event) {
  FAULTLINE_CHECK(event.source == EventSource::collective_trace);
  FAULTLINE_CHECK(!event.id.empty());
  FAULTLINE_CHECK(event.fields.size() <= event_fields_max);
  FAULTLINE_CHECK(event.raw.text.size() <= raw_text_bytes_max + 3);
  for (const auto& [name, value] : event.fields) {
    FAULTLINE_CHECK(value.size() <= field_bytes_max);
    FAULTLINE_CHECK(std::none_of(value.begin(), value.end(), [&](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\t' && !(c == '\n' && name == "stack");
    }));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  TreeLimits limits;
  limits.tree_bytes_max = 4U << 20U;
  limits.memo_entries_max = 1U << 16U;
  Counters counters;
  const auto dump = read_flight_recorder(bytes, counters, limits);
  if (!dump) return 0;
  check_dump(*dump);
  Origin origin;
  origin.path = "fr/rank";
  origin.rank = data[0] == 0xff ? -1 : data[0];
  const auto events = flight_recorder_events(*dump, origin, counters);
  FAULTLINE_CHECK(!events.empty() && events[0].kind == EventKind::trace_read);
  for (const Event& event : events) check_event(event);
  const auto again = read_flight_recorder(bytes, counters, limits);
  FAULTLINE_CHECK(again.ok() && *again == *dump);
  FAULTLINE_CHECK(flight_recorder_events(*again, origin, counters) == events);
  return 0;
}
