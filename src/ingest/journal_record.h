// One entry of a systemd journal, in whatever form it was exported: which of its fields matter, and
// the lines that it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/counters.h"
#include "base/time.h"
#include "ingest/record_lines.h"

namespace faultline {

inline constexpr std::size_t journal_message_bytes_max = 8192;  // what is kept of one field

struct JournalRecord {
  std::uint64_t offset = 0;
  std::string realtime_us;          // __REALTIME_TIMESTAMP
  std::string source_monotonic_us;  // _SOURCE_MONOTONIC_TIMESTAMP: the kernel's own stamp
  std::string boot_id;
  std::string host;
  std::string transport;
  std::string facility;  // SYSLOG_FACILITY
  std::string identifier;
  std::string command;  // _COMM
  std::string unit;     // _SYSTEMD_UNIT
  std::string uid;      // _UID
  std::string message;

  /// Where the value of the journal's field `name` is kept; nullptr if it does not matter.
  static std::string JournalRecord::*field(std::string_view name);
};

/// Gives the lines of the kernel, and those of Slurm's daemons, to `lines`. What only calls itself
/// so (`logger -t kernel`) is counted in ingest_journal_false_names_total and left out.
void add_journal_record(const JournalRecord& record, Instant now, RecordLines& lines,
                        Counters& counters);

}  // namespace faultline
