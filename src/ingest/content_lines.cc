// Logs that nothing heads: whose lines are they? Each line that has the shape of a kernel's, a
// daemon's or Slurm's line counts for it, and a log is theirs when hardly any line is not.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/content_forms.h"
#include "ingest/kernel_lines.h"
#include "ingest/line_prefix.h"

namespace faultline {
namespace {

enum class Voice { other, system, scheduler, program, job };

/// Who writes as a job does, though a journal keeps it.
constexpr auto job_programs = std::to_array<std::string_view>(
    {"python", "python3", "torchrun", "deepspeed", "accelerate", "srun", "mpirun", "bash", "sh",
     "docker", "podman", "conda", "ray"});

constexpr auto slurm_programs =
    std::to_array<std::string_view>({"slurmctld", "slurmd", "slurmstepd", "slurmdbd"});

constexpr auto slurm_openings = std::to_array<std::string_view>(
    {"error: ",       "fatal: ",       "debug",       "sched",
     "backfill",      "slurm",         "_",           "drain_nodes",
     "ping_nodes",    "preempted",     "Recover",     "Prolog",
     "Epilog",        "job",           "Job",         "node",
     "Node",          "update_",       "launch task", "Launching",
     "task",          "done with job", "Batch",       "cleanup",
     "requeue",       "Requeu",        "Resending",   "Killing",
     "Kill",          "Terminat",      "Time limit",  "validate_node",
     "agent",         "auth/",         "cred",        "select",
     "CPU frequency", "Warning: "});

bool starts_with_any(std::string_view text, const auto& openings) {
  return std::any_of(openings.begin(), openings.end(),
                     [&](std::string_view opening) { return text.starts_with(opening); });
}

/// "[2026-11-29T21:18:32.123] error: ...": a time in brackets as Slurm spells it, and its words.
bool is_slurm_line(const LinePrefix& prefix, std::string_view line) {
  if (prefix.time_form != TimeForm::iso || !line.starts_with('[')) return false;
  if (prefix.time.size() < 19 || prefix.time[10] != 'T' || prefix.time.size() > 23) return false;
  const auto body = line.substr(prefix.body);
  return !prefix.step.empty() || starts_with_any(body, slurm_openings) ||
         body.find("JobId=") != std::string_view::npos ||
         body.find("StepId=") != std::string_view::npos;
}

/// dmesg's ISO form has six digits behind a comma; Python's logging has three, and no 'T'.
bool is_dmesg_line(const LinePrefix& prefix) {
  if (!prefix.from_dmesg) return false;
  if (prefix.time_form != TimeForm::iso) return true;
  const auto comma = prefix.time.find(',');
  return prefix.time[10] == 'T' && comma != std::string_view::npos &&
         prefix.time.find_first_not_of("0123456789", comma + 1) == comma + 7;
}

/// Who else writes an ISO time, a word and a colon is a job: a daemon gives its process id, in
/// brackets or, as RFC 5424 has it, after a space.
bool is_syslog_line(const LinePrefix& prefix, std::string_view line) {
  if (!prefix.from_syslog || prefix.program.empty()) return false;
  if (prefix.time_form == TimeForm::month_day || prefix.program == "kernel") return true;
  const auto after = static_cast<std::size_t>(prefix.program.end() - line.begin());
  return after < line.size() && (line[after] == '[' || line[after] == ' ');
}

/// What only a job's own output has, without a head: its launcher's words, a rank's tag, a
/// traceback.
constexpr auto job_openings =
    std::to_array<std::string_view>({"srun: ", "slurmstepd: ", "[rank", "[default",
                                     "Traceback (most recent call last)", "torchrun"});

/// "slurmd.service: Failed with result 'exit-code'.", "Starting Slurm node daemon...": what comes
/// with a daemon's own lines where its unit's journal is printed.
bool tells_of_slurm(std::string_view words) {
  return words.find("slurm") != std::string_view::npos ||
         words.find("Slurm ") != std::string_view::npos;
}

Voice voice_of(std::string_view line) {
  const LinePrefix prefix = parse_system_prefix(line);
  if (is_syslog_line(prefix, line)) {
    if (contains(slurm_programs, prefix.program)) return Voice::scheduler;
    if (prefix.program == "systemd" && tells_of_slurm(line.substr(prefix.body)))
      return Voice::scheduler;
    return contains(job_programs, prefix.program) ? Voice::program : Voice::system;
  }
  if (is_slurm_line(prefix, line)) return Voice::scheduler;
  if (starts_with_any(line, job_openings)) return Voice::job;
  constexpr auto bare =
      std::to_array<std::string_view>({"NVRM: Xid (", "-- Logs begin", "-- Journal begins",
                                       "-- Boot ", "-- Reboot --", "-- No entries --"});
  const bool of_machine = is_dmesg_line(prefix) || prefix.time_form == TimeForm::month_day_year;
  return of_machine || starts_with_any(line, bare) ? Voice::system : Voice::other;
}

/// Of a daemon's or a job's line in a syslog; "" for the kernel's and for lines without a head.
std::string_view writer_of(std::string_view line) {
  const LinePrefix prefix = parse_system_prefix(line);
  return is_syslog_line(prefix, line) && prefix.program != "kernel" ? prefix.program
                                                                    : std::string_view();
}

struct Tally {
  std::size_t lines = 0;
  std::size_t system = 0;
  std::map<std::string_view, std::size_t> writers;  // of those
  std::size_t scheduler = 0;
  std::size_t program = 0;
  std::size_t job = 0;
};

Tally tally_of(const ContentLines& lines) {
  Tally tally;
  Voice before = Voice::other;
  for (const auto line : lines) {
    const bool goes_on = is_kmsg_continuation(line) || driver_continuation(line) > 0;
    const Voice voice = goes_on ? before : voice_of(line);
    ++tally.lines;
    tally.system += voice == Voice::system ? 1 : 0;
    if (voice == Voice::system && !goes_on) ++tally.writers[writer_of(line)];
    tally.scheduler += voice == Voice::scheduler ? 1 : 0;
    tally.program += voice == Voice::program ? 1 : 0;
    tally.job += voice == Voice::job ? 1 : 0;
    before = voice;
  }
  return tally;
}

/// Four in five: stack traces and wrapped lines have no head.
bool most(std::size_t part, std::size_t whole) { return part * 5 >= whole * 4; }

/// One unit's output in the journal's form, without a line of the kernel's: a job that runs as a
/// service, whatever its program is called. What looks after the node is no job.
bool is_one_service(const Tally& tally) {
  if (tally.writers.contains({})) return false;
  return std::any_of(tally.writers.begin(), tally.writers.end(), [&](const auto& writer) {
    return most(writer.second, tally.lines) && !is_node_daemon(writer.first);
  });
}

}  // namespace

ContentKind line_log_kind(const ContentLines& lines) {
  const Tally tally = tally_of(lines);
  if (tally.lines == 0) return ContentKind::job_log;
  if (most(tally.scheduler, tally.lines)) return ContentKind::scheduler_log;
  // Whatever else a job prints, be it a whole kernel log, its output is no kernel's.
  if (tally.job > 0 || most(tally.program, tally.lines) || is_one_service(tally))
    return ContentKind::job_log;
  return most(tally.system + tally.scheduler + tally.program, tally.lines) ? ContentKind::kernel_log
                                                                           : ContentKind::job_log;
}

ContentLines kernel_lines_without_job(const ContentLines& lines) {
  const Tally tally = tally_of(lines);
  ContentLines of_kernel;
  if (tally.system == 0 || tally.job > 0 || tally.program > 0) return of_kernel;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(of_kernel),
               [](std::string_view line) {
                 return voice_of(line) == Voice::system && writer_of(line).empty();
               });
  return of_kernel;
}

}  // namespace faultline
