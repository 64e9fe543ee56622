// For the tests of decoders that read a node's records: the databases, and events in a line each.
#pragma once

#include <string>
#include <vector>

#include "ingest/decoder_fixture.h"
#include "ingest/record_lines.h"

namespace faultline {

class RecordTest : public DecoderTest {
 protected:
  static SystemDatabases databases() {
    return {database(EventSource::kernel_log), database(EventSource::scheduler)};
  }

  /// A file on a node that nobody has named.
  static Origin file_origin() {
    Origin origin;
    origin.source = EventSource::kernel_log;
    origin.path = "file";
    origin.last_written = test_time("2026-12-01T00:00:00Z");
    return origin;
  }

  /// "xid.79 gpu:n3/0000:3b:00.0 @17".
  static std::string brief(const Event& event) {
    const std::string what =
        event.kind == EventKind::log_signature ? event.signature : std::string(to_text(event.kind));
    return what + " " + event.subject.text() + " @" + std::to_string(event.raw.offset);
  }
  static std::vector<std::string> briefs(const std::vector<Event>& events) {
    std::vector<std::string> out;
    for (const Event& event : events) out.push_back(brief(event));
    return out;
  }

  /// Feeds `text` in chunks; what feed and finish gave, together.
  template <class Decoder>
  std::vector<Event> run(Decoder& decoder, std::string_view text, std::size_t chunk_bytes) {
    std::vector<Event> events;
    for (std::size_t at = 0; at < text.size(); at += chunk_bytes) {
      for (auto& event : decoder.feed(text.substr(at, chunk_bytes), at, now_))
        events.push_back(std::move(event));
    }
    for (auto& event : decoder.finish(now_)) events.push_back(std::move(event));
    return events;
  }
};

}  // namespace faultline
