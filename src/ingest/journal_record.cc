#include "ingest/journal_record.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/line_prefix.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::int64_t micros_max = 4'102'444'800'000'000;  // the year 2100
constexpr std::int64_t micros_per_second = 1'000'000;
constexpr std::size_t boot_id_bytes_max = 64;  // 32 in use
constexpr std::int64_t users_min = 1000;       // accounts below are the system's

std::int64_t micros(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text).value_or(0);
  return value > 0 && value < micros_max ? value : 0;
}

/// journald itself writes the fields that begin with '_'; the identifier is the sender's word.
/// What a process writes to /dev/kmsg comes by the kernel's transport, with another facility.
bool from_kernel(const JournalRecord& record) {
  if (!record.facility.empty() && record.facility != "0") return false;
  if (!record.transport.empty()) return record.transport == "kernel";
  return record.identifier == "kernel";  // exported without the field
}

bool is_slurm_daemon(std::string_view name) {
  static constexpr std::array<std::string_view, 4> daemons = {"slurmctld", "slurmd", "slurmstepd",
                                                              "slurmdbd"};
  return contains(daemons, name);
}

std::string_view program_of(const JournalRecord& record) {
  return record.identifier.empty() ? record.command : record.identifier;
}

/// A user's process can take any name, but runs in a unit of its session.
bool from_slurm(const JournalRecord& record) {
  return is_slurm_daemon(program_of(record)) &&
         (record.unit.empty() || record.unit.find("slurm") != std::string::npos);
}

/// What the name of a node daemon's unit has in it.
std::string_view unit_word(std::string_view daemon) {
  if (daemon == "nv-fabricmanager") return "fabricmanager";
  if (daemon == "mmfs") return "gpfs";
  return daemon == "systemd" ? "init.scope" : daemon;
}

/// Anybody can take a daemon's name. Its unit, and an account of the system, only root can give;
/// where neither is told the name is all there is.
bool from_node_daemon(const JournalRecord& record) {
  const std::string_view daemon = program_of(record);
  if (!is_node_daemon(daemon)) return false;
  const bool own_unit =
      record.unit.empty() || record.unit.find(unit_word(daemon)) != std::string::npos;
  const bool own_account =
      record.uid.empty() || parse_number<std::int64_t>(record.uid).value_or(users_min) < users_min;
  return own_unit && own_account;
}

std::string kernel_stamp(const JournalRecord& record) {
  const auto stamp = micros(record.source_monotonic_us);
  if (stamp == 0) return {};
  return fmt::format("[{:5}.{:06}] ", stamp / micros_per_second, stamp % micros_per_second);
}

std::string head_of(const JournalRecord& record, std::string_view program) {
  std::string head;
  if (const auto at = micros(record.realtime_us); at > 0)
    head = to_text(Instant{std::chrono::microseconds{at}}) + " ";
  if (!head.empty() && valid_node_name(record.host)) head += record.host + " ";
  return head + std::string(program) + ": ";
}

}  // namespace

std::string JournalRecord::*JournalRecord::field(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string JournalRecord::*>, 11>
      fields = {{
          {"MESSAGE", &JournalRecord::message},
          {"_TRANSPORT", &JournalRecord::transport},
          {"SYSLOG_FACILITY", &JournalRecord::facility},
          {"SYSLOG_IDENTIFIER", &JournalRecord::identifier},
          {"_COMM", &JournalRecord::command},
          {"_SYSTEMD_UNIT", &JournalRecord::unit},
          {"_UID", &JournalRecord::uid},
          {"_HOSTNAME", &JournalRecord::host},
          {"_BOOT_ID", &JournalRecord::boot_id},
          {"__REALTIME_TIMESTAMP", &JournalRecord::realtime_us},
          {"_SOURCE_MONOTONIC_TIMESTAMP", &JournalRecord::source_monotonic_us},
      }};
  for (const auto& [known_name, value] : fields) {
    if (known_name == name) return value;
  }
  return nullptr;
}

void add_journal_record(const JournalRecord& record, Instant now, RecordLines& lines,
                        Counters& counters) {
  LogRecord out;
  out.offset = record.offset;
  const std::string boot_id = printable(record.boot_id, boot_id_bytes_max);
  out.boot_id = boot_id;
  out.message = record.message;
  std::string head;
  if (from_kernel(record)) {
    head = head_of(record, "kernel") + kernel_stamp(record);
  } else if (from_node_daemon(record)) {
    head = head_of(record, program_of(record));
  } else if (from_slurm(record)) {
    out.source = EventSource::scheduler;
    head = head_of(record, program_of(record));
  } else {
    const bool false_name = record.transport == "kernel" || record.identifier == "kernel" ||
                            is_slurm_daemon(record.identifier) || is_node_daemon(record.identifier);
    if (false_name) counters.add("ingest_journal_false_names_total");
    return;
  }
  if (record.message.empty()) return;
  out.head = head;
  lines.add(out, now);
}

}  // namespace faultline
