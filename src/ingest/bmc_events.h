// The event log of a node's BMC -> events: `ipmitool sel list`, `elist`, both with -v or -c, and
// FreeIPMI's ipmi-sel, also with the host before each line as pdsh writes it. Each record becomes
// one line in words of our own ("bmc_event Power Supply #0x51: Power Supply AC lost"; what is over
// begins with "bmc_end"), and the catalog knows what that means.
//
// A BMC goes by a clock of its own; after a loss of power it counts from its start ("Pre-Init")
// until it is told the time: when such a record was, nobody knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/line_splitter.h"
#include "ingest/record_lines.h"

namespace faultline {

/// True for a line that is one record of such a log: its number, date, time, sensor and event.
bool is_bmc_record(std::string_view line);

/// Not thread-safe; one for each file. Only `databases.kernel` is used. Counters:
/// ingest_bmc_records_total.
class BmcEventDecoder {
 public:
  BmcEventDecoder(const SystemDatabases& databases, Origin origin, Counters& counters,
                  const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  /// As -v prints it, a field a line.
  struct Record {
    std::string time;
    std::string sensor_type;
    std::string sensor;
    std::string event;
    bool over = false;
    std::uint64_t offset = 0;
  };
  void take_line(const Line& line, Instant now);
  void read(std::string_view key, std::string_view value);
  void end_record(Instant now);
  void add(std::string_view host, const Record& record, Instant now);

  Origin origin_;
  Counters& counters_;
  RecordLines records_;
  LineSplitter lines_;
  Record open_;  // that -v has begun
};

}  // namespace faultline
