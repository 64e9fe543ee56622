// What stands before a log line's own words: time, host, program, rank. Only where it is, not what
// it means: times are resolved by line_time.h, and only for lines that matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// How a line writes its time.
enum class TimeForm {
  none,
  kernel_micros,   // "5678901": microseconds since boot, /dev/kmsg
  kernel_seconds,  // "901233.11": seconds since boot, dmesg
  unix_seconds,    // "1746061323.123456": seconds since 1970, journalctl -o short-unix
  ctime,           // "Wed Nov  5 11:20:01 2025": dmesg -T, the kernel's time on the wall
  iso,             // "2025-02-11T03:21:44,283302+00:00", ' ' or 'T'; fraction and offset may lack
  month_day,       // "Oct 02 09:14:02": syslog, no year
  glog,            // "1129 19:50:15.346000" or "818 17:40:34.227": month and day, no year
  month_day_year,  // "Nov 05 2025 14:44:42": the log of NVIDIA's fabric manager
  clock,           // "17:58:03.102": time of day
};

/// The views point into the parsed line.
struct LinePrefix {
  TimeForm time_form = TimeForm::none;
  std::string_view time;
  /// The kernel's own time where a syslog daemon put its time before it.
  std::string_view kernel_seconds;
  std::string_view host;
  /// Of syslog forms: "kernel", "slurmd".
  std::string_view program;
  /// The line says who wrote it, so `program` counts.
  bool from_syslog = false;
  /// A kernel form without a program.
  bool from_dmesg = false;
  /// The record's facility is another than the kernel's: a process wrote it into the kernel's log.
  bool from_process = false;
  /// Written by `faultline run`.
  bool own_tag = false;
  /// Of /dev/kmsg.
  std::optional<std::uint64_t> sequence;
  /// "53532.0" of slurmd's logs.
  std::string_view step;
  std::int32_t rank = -1;
  std::int32_t local_rank = -1;
  /// Where the line's own words start.
  std::size_t body = 0;
};

/// Kernel logs and scheduler logs: /dev/kmsg records, dmesg in its forms (raw, -T, -x, -d, -H,
/// iso), syslog (RFC 3164 and 5424, ISO dates), journal (its short forms), talosctl dmesg,
/// slurmctld and slurmd, the fabric manager's own log; and what pdsh, kubectl and grep put before
/// them. What is none of these is all body. The body of a node daemon's line begins with its name,
/// so that nothing it says can be taken for the kernel's words.
LinePrefix parse_system_prefix(std::string_view line);

/// A daemon that looks after the node's fabric, memory or file systems and says how they fare.
bool is_node_daemon(std::string_view program);
/// True if one's name stands anywhere in the text.
bool names_node_daemon(std::string_view text);

/// A line that belongs to the record before it: " SUBSYSTEM=pci" of /dev/kmsg.
bool is_kmsg_continuation(std::string_view line);

/// What is known of a job's log before its lines are read.
struct JobLogHints {
  /// Then "3: " is the job's own text and not srun's label.
  bool one_rank = false;
  /// Names that may stand before ": "; empty: whatever looks like a host name.
  std::vector<std::string> nodes;
};

/// A job's log: `faultline run` ("2026-11-29T21:18:32.123456Z n3 rank3 | "), torchrun ("[rank3]:",
/// "[default0]:"), srun -l ("3: "), mpirun ("[1,3]<stdout>:"), horovodrun, Ray ("(Worker pid=1,
/// ip=10.0.0.7) "), pdsh and DeepSpeed ("c000001: "), "[host:3]", what container runtimes and
/// kubectl put before them, and times in front of or between them. Of several ranks the innermost
/// counts: what a launcher wrapped knows better which rank it is.
LinePrefix parse_job_prefix(std::string_view line, const JobLogHints& hints);

/// True for "c000001" and "gpu-node-7", false for "epoch3" and "torch": a guess, for logs whose
/// nodes are not known.
bool looks_like_host(std::string_view name);

}  // namespace faultline
