// Forms that show themselves at their top. A heading alone is a word that any log may quote: it has
// to stand at the very beginning, or its form's own lines have to follow.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/bmc_events.h"
#include "ingest/boot_records.h"
#include "ingest/content_forms.h"
#include "ingest/kubernetes_rows.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

using namespace std::string_view_literals;
using Words = std::initializer_list<std::string_view>;
using Lines = std::span<const std::string_view>;

bool starts_with_any(std::string_view text, Words words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.starts_with(word); });
}

Lines first(const ContentLines& lines, std::size_t count) {
  return Lines(lines).first(std::min(count, lines.size()));
}

/// How many of `lines`, indented or not, begin with one of the words.
std::size_t count_starting(Lines lines, Words words) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](std::string_view line) { return starts_with_any(trim(line), words); }));
}

bool any_starts(Lines lines, Words words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](std::string_view line) { return starts_with_any(line, words); });
}

bool has_word(Lines lines, std::string_view word) {
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    return line.find(word) != std::string_view::npos;
  });
}

/// "__REALTIME_TIMESTAMP=1746061323123456": each record's first fields are the journal's own.
bool is_journal_export(const ContentLines& lines) {
  return any_starts(first(lines, 1), {"__", "_", "MESSAGE", "PRIORITY", "SYSLOG_"}) &&
         any_starts(first(lines, 8), {"__CURSOR=", "__REALTIME_TIMESTAMP="});
}

bool is_nvidia_bug_report(const ContentLines& lines) {
  return any_starts(first(lines, 5), {"Start of NVIDIA bug report log file"});
}

bool is_nvidia_smi_xml(const ContentLines& lines) {
  return lines[0].starts_with('<') &&
         any_starts(first(lines, 4), {"<!DOCTYPE nvidia_smi_log", "<nvidia_smi_log"});
}

/// The table of `nvidia-smi` alone. A job's log may begin with one, and goes on.
bool is_nvidia_smi_table(const ContentLines& lines) {
  constexpr std::size_t other_lines_max = 2;  // the time, and a command before it
  return any_starts(first(lines, 4), {"| NVIDIA-SMI "}) &&
         count_starting(lines, {"|", "+"}) + other_lines_max >= lines.size();
}

/// `nvidia-smi -q`, or what it says in its place of a GPU that does not answer.
bool is_nvidia_smi_text(const ContentLines& lines) {
  if (is_nvidia_smi_table(lines)) return true;
  if (any_starts(first(lines, 1), {"Unable to determine the device handle for"})) return true;
  return any_starts(first(lines, 2), {"==============NVSMI LOG=============="}) &&
         count_starting(first(lines, 8), {"Timestamp", "Driver Version", "CUDA Version",
                                          "Attached GPUs", "GPU "}) >= 2;
}

/// `nvidia-smi nvlink -s` or `-e`: a card, then its links; `nvidia-smi -L` has the cards alone.
bool is_nvlink_state(const ContentLines& lines) {
  const auto top = first(lines, 4);
  return any_starts(top, {"GPU "}) && count_starting(top, {"Link "}) > 0 &&
         has_word(top, "(UUID: GPU-") &&
         count_starting(lines, {"GPU ", "Link "}) + 2 >= lines.size();
}

/// ibstat, ibstatus, ibv_devinfo: one of their headings, then nothing but their fields.
bool is_port_list(const ContentLines& lines) {
  if (!any_starts(first(lines, 3), {"CA '", "Infiniband device '", "hca_id:"})) return false;
  const auto fields = count_starting(lines, {"CA ",
                                             "CA type:",
                                             "Number of ports:",
                                             "Firmware version:",
                                             "Hardware ",
                                             "Node GUID:",
                                             "System image ",
                                             "Port ",
                                             "State:",
                                             "Physical s",
                                             "Rate:",
                                             "Base lid:",
                                             "LMC:",
                                             "SM lid:",
                                             "Capability ",
                                             "Port GUID:",
                                             "Link layer:",
                                             "Infiniband ",
                                             "default gid:",
                                             "base lid:",
                                             "sm lid:",
                                             "state:",
                                             "phys state:",
                                             "rate:",
                                             "link_layer:",
                                             "hca_id:",
                                             "transport:",
                                             "fw_ver:",
                                             "node_guid:",
                                             "sys_image_",
                                             "vendor_",
                                             "hw_ver:",
                                             "board_id:",
                                             "phys_port_",
                                             "port:",
                                             "max_mtu:",
                                             "active_mtu:",
                                             "sm_lid:",
                                             "port_lid:",
                                             "port_lmc:",
                                             "max_msg_sz:",
                                             "port_cap_",
                                             "max_vl_num:",
                                             "active_",
                                             "phys_state:",
                                             "GID[",
                                             "device_cap_flags",
                                             "max_"});
  return fields * 3 >= lines.size() * 2;
}

bool is_ib_report(const ContentLines& lines) {
  return any_starts(first(lines, 8), {"Running version:", "Loading IBDIAGNET", "IBDIAGNET",
                                      "-I- Using config", "Running command:"}) &&
         (has_word(first(lines, 8), "IBDIAGNET") || has_word(first(lines, 8), "ibdiagnet")) &&
         count_starting(lines, {"-I-", "-W-", "-E-"}) >= 1;
}

/// The answer of NCCL's RAS thread, or the lines of its monitor.
bool is_nccl_ras(const ContentLines& lines) {
  if (has_word(first(lines, 1), "] PEER_") && has_word(first(lines, 1), ": Process ")) return true;
  const auto top = first(lines, 40);
  const auto summary = std::find(top.begin(), top.end(), "Job summary"sv);
  return summary != top.end() && summary + 1 != top.end() && (summary + 1)->starts_with("====") &&
         any_starts(top, {"Communicators..."});
}

/// Names of sacct's columns, of which any may be asked for.
constexpr auto sacct_columns = std::to_array<std::string_view>(
    {"jobid",   "jobidraw", "jobname", "partition", "account",    "alloccpus", "alloctres",
     "state",   "exitcode", "user",    "nodelist",  "start",      "end",       "submit",
     "elapsed", "nnodes",   "ntasks",  "reqtres",   "timelimit",  "cluster",   "derivedexitcode",
     "reason",  "priority", "qos",     "eligible",  "allocnodes", "workdir",   "elapsedraw"});

constexpr auto job_states = std::to_array<std::string_view>(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
     "PENDING", "PREEMPTED", "REQUEUED", "RUNNING", "TIMEOUT"});

/// Rows without their header: the decoder says that it needs one.
bool is_sacct_row(const std::vector<std::string_view>& fields) {
  return fields.size() >= 3 && !fields[0].empty() && is_digit(fields[0][0]) &&
         fields[0].find_first_not_of("0123456789_+.[]-abcehnrtx") == std::string_view::npos &&
         std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
           return contains(job_states, field.substr(0, field.find(' ')));
         });
}

/// Nothing but names of columns, a job's id among them.
bool is_sacct_header(const std::vector<std::string_view>& fields) {
  const auto known = [](std::string_view field) {
    return contains(sacct_columns, to_lower(field));
  };
  const auto is_id = [](std::string_view field) { return to_lower(field).starts_with("jobid"); };
  return std::any_of(fields.begin(), fields.end(), is_id) &&
         std::count_if(fields.begin(), fields.end(), known) >= 2 &&
         std::all_of(fields.begin(), fields.end(), [](std::string_view field) {
           return std::all_of(field.begin(), field.end(), is_letter);
         });
}

std::vector<std::string_view> words_of(std::string_view line) {
  auto words = split(line, ' ');
  std::erase(words, std::string_view{});
  return words;
}

bool is_sacct(const ContentLines& lines) {
  if (is_sacct_header(split(lines[0], '|'))) return true;
  if (lines.size() > 1 && lines[1].starts_with("----") && is_sacct_header(words_of(lines[0])))
    return true;
  const auto rows = first(lines, 20);
  return std::all_of(rows.begin(), rows.end(),
                     [](std::string_view line) { return is_sacct_row(split(line, '|')); });
}

/// What slurm.conf, which has lines like it, cannot know.
bool is_scontrol_show(const ContentLines& lines) {
  const auto top = first(lines, 40);
  if (lines[0].starts_with("JobId=")) return has_word(top, " JobState=");
  if (!lines[0].starts_with("NodeName=")) return false;
  // A node's record goes on in lines that are set in; slurm.conf has whole lines.
  const bool set_in = std::any_of(
      top.begin(), top.end(), [](std::string_view line) { return line.starts_with("   State="); });
  if (set_in) return true;
  return has_word(top, "State=") && (has_word(top, "CPUAlloc=") || has_word(top, "BootTime=") ||
                                     has_word(top, "SlurmdStartTime="));
}

bool is_sinfo_header(std::string_view line) {
  const bool upper = std::all_of(line.begin(), line.end(), [](char c) {
    return is_upper(c) || " _|/:(),"sv.find(c) != std::string_view::npos;
  });
  // squeue's last column may be a reason too, but of a job.
  const bool of_jobs = line.find("JOBID") != std::string_view::npos;
  return upper && !of_jobs && line.find("REASON") != std::string_view::npos &&
         (line.find("NODELIST") != std::string_view::npos ||
          line.find("HOSTNAMES") != std::string_view::npos);
}

bool is_sinfo_reasons(const ContentLines& lines) {
  const auto top = first(lines, 2);  // -l writes the date before it
  return std::any_of(top.begin(), top.end(), is_sinfo_header);
}

/// What ipmitool and ipmi-sel print of a BMC's event log, with a heading or without.
bool is_bmc_events(const ContentLines& lines) {
  if (any_starts(first(lines, 1), {"SEL Record ID"}))
    return has_word(first(lines, 3), "Record Type");
  const auto top = first(lines, 20);
  const auto records = std::count_if(top.begin(), top.end(), is_bmc_record);
  return records > 0 && static_cast<std::size_t>(records) * 5 + 5 >= top.size() * 4;
}

/// `last -x`, whose lines are of sessions, too, or `journalctl --list-boots`.
bool is_boot_records(const ContentLines& lines) {
  const auto is_boot = [](std::string_view line) {
    return line.starts_with("reboot ") || line.starts_with("shutdown ");
  };
  const auto top = first(lines, 2);  // with a heading or without
  const bool of_journal = std::any_of(
      top.begin(), top.end(), [](std::string_view line) { return journal_boot(line).has_value(); });
  // To look for dates in every line of every log would cost more than the scan of it.
  if (!of_journal && std::none_of(lines.begin(), lines.end(), is_boot)) return false;
  const auto boots = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
    return journal_boot(line).has_value();
  });
  if (boots > 0) return static_cast<std::size_t>(boots) + 1 >= lines.size();
  const auto rows = std::count_if(lines.begin(), lines.end(),
                                  [](std::string_view line) { return boot_row(line).has_value(); });
  const auto records = std::count_if(
      lines.begin(), lines.end(), [](std::string_view line) { return !login_date(line).empty(); });
  return rows > 0 && static_cast<std::size_t>(records) + 3 >= lines.size();
}

bool is_kubernetes_yaml(const ContentLines& lines) {
  const auto top = first(lines, 20);
  return any_starts(first(lines, 5), {"apiVersion:"}) &&
         any_starts(top, {"kind:", "items:", "metadata:"});
}

}  // namespace

std::optional<ContentKind> headed_kind(const ContentLines& lines) {
  if (lines.empty()) return std::nullopt;
  if (is_journal_export(lines)) return ContentKind::journal_export;
  if (is_nvidia_bug_report(lines)) return ContentKind::nvidia_bug_report;
  if (is_nvidia_smi_xml(lines)) return ContentKind::nvidia_smi_xml;
  if (is_nvidia_smi_text(lines)) return ContentKind::nvidia_smi_text;
  if (is_nvlink_state(lines)) return ContentKind::nvlink_state;
  if (is_port_list(lines) || is_ib_report(lines)) return ContentKind::ib_state;
  if (is_bmc_events(lines)) return ContentKind::bmc_events;
  if (is_boot_records(lines)) return ContentKind::boot_records;
  if (is_nccl_ras(lines)) return ContentKind::nccl_ras_text;
  if (is_sacct(lines)) return ContentKind::sacct_parsable;
  if (is_scontrol_show(lines)) return ContentKind::scontrol_show;
  if (is_sinfo_reasons(lines)) return ContentKind::sinfo_reasons;
  if (is_kubernetes_yaml(lines)) return ContentKind::kubernetes_yaml;
  if (is_kubernetes_description(lines) || are_kubernetes_rows(lines))
    return ContentKind::kubernetes_text;
  return std::nullopt;
}

}  // namespace faultline
