// What a file is, from its first bytes, so that the decoder that can read it gets it. Never from
// its name. Decided by structure (keys and how deep they lie, headings, the shape of most lines),
// not by single words: a Python log that quotes a kernel line is a job's log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/enum_text.h"

namespace faultline {

enum class ContentKind {
  empty,
  binary,      // nothing that we read: a checkpoint, a core dump
  program,     // a script or a source: what it would print is no report
  job_log,     // also whatever text is none of the others
  kernel_log,  // also a syslog or a journal's text of all units: its lines say whose they are
  scheduler_log,
  journal_json,
  journal_export,
  dmesg_json,
  nvidia_smi_text,
  nvidia_smi_xml,
  nvlink_state,
  nvidia_bug_report,
  ib_state,
  bmc_events,
  redfish_log,
  boot_records,
  flight_recorder_pickle,
  flight_recorder_json,
  nccl_inspector,
  nccl_ras_json,
  nccl_ras_text,
  sacct_parsable,
  sacct_json,
  slurm_nodes_json,
  scontrol_show,
  sinfo_reasons,
  kubernetes_json,
  kubernetes_yaml,
  kubernetes_text,
};
FAULTLINE_ENUM_NAMES(ContentKind, "empty", "binary", "program", "job_log", "kernel_log",
                     "scheduler_log", "journal_json", "journal_export", "dmesg_json",
                     "nvidia_smi_text", "nvidia_smi_xml", "nvlink_state", "nvidia_bug_report",
                     "ib_state", "bmc_events", "redfish_log", "boot_records",
                     "flight_recorder_pickle", "flight_recorder_json", "nccl_inspector",
                     "nccl_ras_json", "nccl_ras_text", "sacct_parsable", "sacct_json",
                     "slurm_nodes_json", "scontrol_show", "sinfo_reasons", "kubernetes_json",
                     "kubernetes_yaml", "kubernetes_text");

/// utf8 also stands for whatever else spells ASCII as ASCII does.
enum class TextEncoding { utf8, utf8_bom, utf16_le, utf16_be };
FAULTLINE_ENUM_NAMES(TextEncoding, "utf8", "utf8_bom", "utf16_le", "utf16_be");

/// Of a text, from its first bytes; of what is no text it says nothing.
TextEncoding encoding_of(std::string_view head);

struct Content {
  ContentKind kind = ContentKind::empty;
  TextEncoding encoding = TextEncoding::utf8;
};

inline constexpr std::size_t content_head_bytes = 64 * 1024;

/// `head`: the first content_head_bytes of a stream, fewer if it ends before. Fewer still may be
/// given, and then less is known.
Content content_of(std::string_view head);
inline ContentKind content_kind(std::string_view head) { return content_of(head).kind; }

/// A pickle of protocol 0, which is text: it begins with what it imports ("cos", "system", "p0" or
/// "(S'...'"), or with a list, dictionary or tuple that it numbers, and ends with a dot.
bool is_pickle_text(std::string_view head);

/// The kernel's own lines at the head of a job_log that has none of a job's words: perhaps a piece
/// of a kernel log that somebody pasted among words of theirs. "" where a job may have printed
/// them.
std::string pasted_kernel_lines(std::string_view head);

}  // namespace faultline
