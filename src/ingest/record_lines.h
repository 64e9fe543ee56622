// Logs that are kept as records (a journal, dmesg --json) read as the lines that a log daemon would
// have written of them, so that one decoder knows what lines mean. Events say where the record is
// in the file, and of which boot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "ingest/log_decoder.h"

namespace faultline {

/// The catalog compiled for the logs of a node. Without one of them its lines are passed over.
struct SystemDatabases {
  std::shared_ptr<const SignatureDatabase> kernel;     // of layers_of(kernel_log)
  std::shared_ptr<const SignatureDatabase> scheduler;  // of layers_of(scheduler)
};

struct LogRecord {
  EventSource source = EventSource::kernel_log;  // or scheduler
  /// What stands before each line: "2026-11-29T21:18:32.123456Z n3 kernel: ".
  std::string_view head;
  /// May have several lines.
  std::string_view message;
  std::uint64_t offset = 0;  // of the record in its file
  std::string_view boot_id;  // "" if the record does not say
};

/// Not thread-safe; one for each file. `origin.source` does not count.
class RecordLines {
 public:
  RecordLines(const SystemDatabases& databases, const Origin& origin, Counters& counters,
              const DecoderLimits& limits);

  void add(const LogRecord& record, Instant now);
  /// The events of what was added since the last call, those of the kernel first.
  std::vector<Event> take(Instant now);
  std::vector<Event> finish(Instant now);

 private:
  struct Mark {
    std::uint64_t line_offset = 0;  // of the line in what the decoder was fed
    std::uint64_t offset = 0;       // of the record in its file
    std::string boot_id;
  };
  /// The lines of one source.
  struct Lane {
    std::unique_ptr<LogDecoder> decoder;
    std::string text;
    std::uint64_t text_offset = 1;  // 0 is the place of events that are about no line
    std::vector<Mark> marks;
    std::vector<Event> events;
  };
  static Lane open(std::shared_ptr<const SignatureDatabase> database, EventSource source,
                   Origin origin, Counters& counters, const DecoderLimits& limits);
  static void decode(Lane& lane, Instant now);
  static void place(const Lane& lane, std::vector<Event>& events);

  Lane kernel_;
  Lane scheduler_;
};

}  // namespace faultline
