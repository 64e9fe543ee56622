#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "detect/place_words.h"
#include "diagnose/report.h"

namespace faultline {
namespace {

constexpr std::size_t label_columns = 11;
constexpr std::size_t hang_columns = 2;
/// Who wants all of a log's line goes to its place.
constexpr std::size_t quoted_rows_max = 3;
constexpr std::size_t line_bytes_max = 16384;
constexpr std::size_t evidence_shown_max = 6;

/// Columns of valid UTF-8; wide characters count as one, which at worst wraps early or late.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

/// The first `most` columns of valid UTF-8, of which the last is an ellipsis where there are more.
std::string first_columns(std::string_view text, std::size_t most) {
  if (columns(text) <= most) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80U;
    if (begins && ++seen >= most) break;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

class Page {
 public:
  explicit Page(const ReportStyle& style) : style_(style) {}

  /// A label, and text wrapped beside it; its later lines stand `hang` columns further in.
  void row(std::string_view label, std::string_view text, std::size_t hang = 0) {
    add_wrapped(labelled(label), clean(text), label_columns + hang);
  }
  /// Of a log's line as much as is good to read here. In full where nothing is wrapped: there a
  /// program reads it.
  void quote(std::string_view line) {
    const std::string text = clean(trim(line.substr(0, line.find('\n'))));
    const std::size_t room =
        std::max(style_.width, 2 * label_columns) - label_columns - hang_columns;
    row("", "  " + (style_.width == 0 ? text : first_columns(text, room * quoted_rows_max)),
        hang_columns);
  }
  /// A line that is pasted or looked up: never wrapped.
  void verbatim(std::string_view label, std::string_view text) {
    text_ += labelled(label) + clean(text) + "\n";
  }
  void headline(std::string_view text, const char* colour) {
    if (style_.colour) text_ += std::string("\033[") + colour + "m";
    add_wrapped("", clean(text), 2);
    if (style_.colour) text_.insert(text_.size() - 1, "\033[0m");
  }
  void gap() { text_ += "\n"; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  /// A terminal obeys what stands in a log, if it is let.
  static std::string clean(std::string_view text) { return printable(text, line_bytes_max); }

  static std::string labelled(std::string_view label) {
    std::string line(label);
    line.resize(std::max(line.size() + 1, label_columns), ' ');
    return line;
  }

  void add_wrapped(std::string line, std::string_view text, std::size_t indent) {
    std::size_t used = line.size();
    bool first = true;
    for (const std::string_view word : split(text, ' ')) {
      const bool full = style_.width > 0 && !first && used + 1 + columns(word) > style_.width;
      if (full) {
        text_ += line + "\n";
        line.assign(indent, ' ');
        used = indent;
        first = true;
      }
      if (!first) line += ' ';
      used += columns(word) + (first ? 0 : 1);
      line += word;
      first = false;
    }
    text_ += line + "\n";
  }

  const ReportStyle& style_;
  std::string text_;
};

constexpr const char* bold_red = "1;31";
constexpr const char* bold_yellow = "1;33";
constexpr const char* bold_green = "1;32";

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

void add_headline(Page& page, const Diagnosis& diagnosis) {
  switch (diagnosis.status) {
    case DiagnosisStatus::nothing_wrong:
      page.headline("NOTHING WRONG", bold_green);
      page.row("", "Nothing in what was read says that anything broke.");
      return;
    case DiagnosisStatus::undecided:
      page.headline("UNDECIDED", bold_yellow);
      if (diagnosis.cause.empty()) page.row("", diagnosis.explanation);
      break;
    case DiagnosisStatus::attributed:
      page.headline(diagnosis.summary + ": " + subject_words(diagnosis.subjects.front()), bold_red);
      break;
  }
}

void add_run(Page& page, const Diagnosis& diagnosis) {
  if (diagnosis.files == 0) return;
  const std::string files =
      std::to_string(diagnosis.files) + (diagnosis.files == 1 ? " file" : " files");
  page.row("run", diagnosis.run + ", " + files +
                      (diagnosis.folder.empty() ? "" : " in " + diagnosis.folder));
}

void add_facts(Page& page, const Diagnosis& diagnosis) {
  add_run(page, diagnosis);
  if (diagnosis.cause.empty()) return;
  page.row("cause", diagnosis.cause + " (class " + std::string(to_text(diagnosis.cause_class)) +
                        ", rule " + diagnosis.rule + ")");
  for (const Subject& subject : diagnosis.subjects) page.row("subject", subject_words(subject));
  page.row("sure", percent(diagnosis.confidence));
  page.row("evict", diagnosis.evict ? "yes" : "no node");
  if (!diagnosis.explanation.empty()) page.row("why", diagnosis.explanation);
}

void add_evidence(Page& page, const Diagnosis& diagnosis) {
  std::string_view label = "evidence";
  std::size_t shown = 0;
  for (const EvidenceLine& line : diagnosis.evidence) {
    if (++shown > evidence_shown_max) {
      page.verbatim("", "and " + std::to_string(diagnosis.evidence.size() - evidence_shown_max) +
                            " more lines (--json has them)");
      return;
    }
    page.verbatim(label, line.file + (line.line == 0 ? "" : ":" + std::to_string(line.line)));
    if (!line.text.empty()) page.quote(line.text);
    label = "";
  }
}

void add_timeline(Page& page, const Diagnosis& diagnosis) {
  if (diagnosis.timeline.size() < 2) return;
  page.gap();
  std::string_view label = "time line";
  for (const TimelineEntry& entry : diagnosis.timeline) {
    const std::string at = entry.timed ? to_text(entry.at) : std::string(27, ' ');
    const std::string more = entry.repeats == 0
                                 ? ""
                                 : " and " + std::string(entry.at_least ? "at least " : "") +
                                       std::to_string(entry.repeats) + " more like it";
    const std::string_view mark = entry.role == TimelineRole::first_cause   ? "FIRST "
                                  : entry.role == TimelineRole::consequence ? "then  "
                                                                            : "      ";
    page.row(label,
             at + "  " + std::string(mark) + subject_words(entry.subject) + ": " + entry.what +
                 "  [" + entry.place + "]" + more,
             hang_columns);
    label = "";
  }
}

void add_list(Page& page, std::string_view label, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    page.row(label, item);
    label = "";
  }
}

void add_cases(Page& page, const Diagnosis& diagnosis) {
  std::string_view label = "like";
  for (const PublicCase& told : diagnosis.cases) {
    page.row(label, case_words(told) + (told.link.empty() ? "" : ", " + told.link));
    label = "";
  }
}

}  // namespace

std::string case_words(const PublicCase& told) {
  if (told.title.empty()) return told.id;
  return told.id + ": " + told.title + " (" + told.by + ")";
}

std::string warning_words(const InputWarning& warning) {
  return warning.file + " " + warning.what + "; left out: " + warning.left_out;
}

std::string subject_words(const Subject& subject) {
  const std::string on = subject.node.empty() ? "" : " on " + node_words(subject.node);
  switch (subject.kind) {
    case SubjectKind::cluster: return "the cluster";
    case SubjectKind::rack: return "rack " + subject.part;
    case SubjectKind::node:
      return subject.node == unnamed_node ? node_words(subject.node) : "node " + subject.node;
    case SubjectKind::gpu: return "GPU " + subject.part + on;
    case SubjectKind::nic: return "NIC " + subject.part + on;
    case SubjectKind::link: return "link " + subject.part + on;
    case SubjectKind::network_switch: return "switch " + subject.part;
    case SubjectKind::storage: return "storage " + subject.part;
    case SubjectKind::rank: return "rank " + std::to_string(subject.rank) + on;
    case SubjectKind::job: return "job " + subject.attempt.job;
    case SubjectKind::attempt:
    case SubjectKind::communicator:
    case SubjectKind::data_parallel_group: break;
  }
  const std::string part = subject.part.empty() ? "" : " " + subject.part;
  return (subject.kind == SubjectKind::attempt
              ? "job "
              : std::string(to_text(subject.kind)) + part + " of job ") +
         subject.attempt.job;
}

std::string report_text(const Diagnosis& diagnosis, const ReportStyle& style) {
  Page page(style);
  add_headline(page, diagnosis);
  add_facts(page, diagnosis);
  if (!diagnosis.action.empty() || !diagnosis.commands.empty()) page.gap();
  if (!diagnosis.action.empty()) page.row("do", diagnosis.action);
  for (const std::string& command : diagnosis.commands) page.verbatim("", "  " + command);
  if (!diagnosis.missing.empty()) page.gap();
  add_list(page, "send", diagnosis.missing);
  if (!diagnosis.evidence.empty()) page.gap();
  add_evidence(page, diagnosis);
  add_timeline(page, diagnosis);
  if (!diagnosis.also_seen.empty()) page.gap();
  add_list(page, "also seen", diagnosis.also_seen);
  add_cases(page, diagnosis);
  for (const InputWarning& warning : diagnosis.warnings)
    page.row("warning", warning_words(warning));
  return page.take();
}

}  // namespace faultline
