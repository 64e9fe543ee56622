#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "diagnose/report.h"

namespace faultline {
namespace {

constexpr int lane_height = 34, left = 190, plot_width = 700, top = 16;
constexpr std::size_t lanes_max = 14;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string element(std::string_view name, std::string_view inner, std::string_view cls = {}) {
  std::string open = "<" + std::string(name);
  if (!cls.empty()) open += " class=\"" + std::string(cls) + "\"";
  return open + ">" + std::string(inner) + "</" + std::string(name) + ">\n";
}

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6470;--line:#d5dae0;--bg:#fff;--card:#f6f8fa;--bad:#c62828;
--maybe:#b26a00;--good:#2e7d32;--mark:#1565c0}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa4b0;--line:#38404a;--bg:#14181d;--card:#1d232a;
--bad:#ff7b72;--maybe:#e3a33c;--good:#6fcf78;--mark:#79b8ff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1rem;margin:1.6rem 0 .4rem;color:var(--soft)}
.attributed h1{color:var(--bad)}.undecided h1{color:var(--maybe)}.nothing_wrong h1{color:var(--good)}
dl{display:grid;grid-template-columns:8rem 1fr;gap:.2rem 1rem;margin:.8rem 0}dt{color:var(--soft)}dd{margin:0}
pre{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;overflow-x:auto;margin:.3rem 0;
font:13px/1.45 ui-monospace,monospace}
.do{border-left:4px solid var(--mark);padding:.1rem 0 .1rem .8rem}
table{border-collapse:collapse;width:100%}td{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;vertical-align:top}
td.place{font:13px ui-monospace,monospace;white-space:nowrap;color:var(--soft)}
td.text{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
.figure{overflow-x:auto}svg{min-width:560px}svg text{fill:var(--ink);font:12px system-ui,sans-serif}.grid{stroke:var(--line)}
.first_cause,svg .label{fill:var(--bad)}.evidence{fill:var(--mark)}.consequence{fill:var(--soft)}
article{border-bottom:1px solid var(--line);padding-bottom:1.5rem;margin-bottom:1.5rem}
)";

/// One lane a subject, one mark an event; where nothing says when, marks stand in their order.
class TimelineFigure {
 public:
  explicit TimelineFigure(const Diagnosis& diagnosis) : entries_(diagnosis.timeline) {
    for (const TimelineEntry& entry : entries_) {
      const std::string name = subject_words(entry.subject);
      if (lanes_.size() < lanes_max) lanes_.try_emplace(name, static_cast<int>(lanes_.size()));
      timed_ = timed_ && known(entry.at);
      if (!known(entry.at)) continue;
      first_ = known(first_) ? std::min(first_, entry.at) : entry.at;
      last_ = std::max(last_, entry.at);
    }
  }

  [[nodiscard]] std::string svg() const {
    const int height = top + lane_height * static_cast<int>(lanes_.size()) + 30;
    std::string out = "<svg viewBox=\"0 0 " + std::to_string(left + plot_width + 20) + " " +
                      std::to_string(height) + "\" role=\"img\" aria-label=\"time line\">\n";
    for (const auto& [name, lane] : lanes_) {
      const std::string y = std::to_string(top + lane * lane_height + lane_height / 2);
      out += "<line class=\"grid\" x1=\"" + std::to_string(left) + "\" x2=\"" +
             std::to_string(left + plot_width) + "\" y1=\"" + y + "\" y2=\"" + y + "\"/>";
      out += "<text x=\"" + std::to_string(left - 10) + "\" y=\"" + y +
             "\" dy=\"4\" text-anchor=\"end\">" + escaped(printable(name, 30)) + "</text>\n";
    }
    // The first cause lies on top of what stands at the same place.
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].role != TimelineRole::first_cause) out += mark(i);
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].role == TimelineRole::first_cause) out += mark(i) + label(i);
    }
    const std::string y = std::to_string(height - 6);
    const std::string from = timed_ ? to_text(first_) : "first",
                      to = timed_ ? to_text(last_) : "last";
    out += "<text x=\"" + std::to_string(left) + "\" y=\"" + y + "\">" + from + "</text>";
    out += "<text x=\"" + std::to_string(left + plot_width) + "\" y=\"" + y +
           "\" text-anchor=\"end\">" + to + "</text></svg>\n";
    return out;
  }

 private:
  [[nodiscard]] std::string mark(std::size_t i) const {
    const TimelineEntry& entry = entries_[i];
    const auto lane = lanes_.find(subject_words(entry.subject));
    if (lane == lanes_.end()) return {};
    const int y = top + lane->second * lane_height + lane_height / 2;
    const bool first = entry.role == TimelineRole::first_cause;
    return "<circle class=\"" + std::string(to_text(entry.role)) + "\" cx=\"" +
           std::to_string(left + x_of(i)) + "\" cy=\"" + std::to_string(y) + "\" r=\"" +
           (first ? "8" : "5") + "\"><title>" + escaped(to_text(entry.at)) + "  " +
           escaped(entry.what) + "  " + escaped(entry.place) + "</title></circle>\n";
  }
  [[nodiscard]] std::string label(std::size_t i) const {
    const auto lane = lanes_.find(subject_words(entries_[i].subject));
    if (lane == lanes_.end()) return {};
    const int x = x_of(i), y = top + lane->second * lane_height + lane_height / 2;
    const bool right = x > plot_width / 2;
    return "<text class=\"label\" x=\"" + std::to_string(left + x + (right ? -14 : 14)) +
           "\" y=\"" + std::to_string(y) + "\" dy=\"-5\"" + (right ? " text-anchor=\"end\"" : "") +
           ">" + escaped(printable(entries_[i].what, 80)) + "</text>\n";
  }
  [[nodiscard]] int x_of(std::size_t i) const {
    const auto span = (last_ - first_).count();
    if (!timed_ || span <= 0) return static_cast<int>((i + 1) * plot_width / (entries_.size() + 1));
    const double share =
        static_cast<double>((entries_[i].at - first_).count()) / static_cast<double>(span);
    return static_cast<int>(share * plot_width);
  }

  const std::vector<TimelineEntry>& entries_;
  std::map<std::string, int> lanes_;
  bool timed_ = true;
  Instant first_, last_;
};

std::string headline(const Diagnosis& diagnosis) {
  if (diagnosis.status == DiagnosisStatus::nothing_wrong) return "Nothing wrong";
  if (diagnosis.status == DiagnosisStatus::undecided) return "Undecided";
  return diagnosis.summary + ": " + subject_words(diagnosis.subjects.front());
}

std::string facts(const Diagnosis& diagnosis) {
  std::string rows;
  const auto row = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) rows += element("dt", escaped(label)) + element("dd", escaped(text));
  };
  row("run", diagnosis.run + (diagnosis.folder.empty() ? "" : " in " + diagnosis.folder));
  if (!diagnosis.cause.empty()) {
    row("cause", diagnosis.cause);
    row("class", to_text(diagnosis.cause_class));
    row("rule", diagnosis.rule);
    for (const Subject& subject : diagnosis.subjects) row("subject", subject_words(subject));
    row("sure", std::to_string(std::lround(diagnosis.confidence * 100)) + " %");
    row("evict", diagnosis.evict ? "yes" : "no node");
  }
  return "<dl>\n" + rows + "</dl>\n";
}

std::string list_of(std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string inner;
  for (const std::string& item : items) inner += element("li", escaped(item));
  return element("h2", title) + element("ul", inner);
}

std::string what_to_do(const Diagnosis& diagnosis) {
  if (diagnosis.action.empty() && diagnosis.commands.empty()) return {};
  std::string commands;
  for (const std::string& command : diagnosis.commands) commands += escaped(command) + "\n";
  return element("h2", "What to do") + "<div class=\"do\">" +
         element("p", escaped(diagnosis.action)) +
         (commands.empty() ? "" : element("pre", commands)) + "</div>\n";
}

std::string evidence_table(const Diagnosis& diagnosis) {
  if (diagnosis.evidence.empty()) return {};
  std::string rows;
  for (const EvidenceLine& line : diagnosis.evidence) {
    const std::string place = line.file + (line.line == 0 ? "" : ":" + std::to_string(line.line));
    rows += "<tr>" + element("td", escaped(place), "place") +
            element("td", escaped(printable(line.text, 400)), "text") + "</tr>\n";
  }
  return element("h2", "Evidence") + element("table", rows);
}

std::vector<std::string> warning_lines(const std::vector<InputWarning>& warnings) {
  std::vector<std::string> lines;
  for (const InputWarning& warning : warnings) lines.push_back(warning_words(warning));
  return lines;
}

std::string public_cases(const Diagnosis& diagnosis) {
  if (diagnosis.cases.empty()) return {};
  std::string items;
  for (const PublicCase& told : diagnosis.cases) {
    const std::string words = escaped(case_words(told));
    const std::string open = "<a rel=\"noreferrer\" href=\"" + escaped(told.link) + "\">";
    items += element("li", told.link.empty() ? words : open + words + "</a>");
  }
  return element("h2", "Similar public cases") + element("ul", items);
}

std::string article(const Diagnosis& diagnosis) {
  std::string inner = element("h1", escaped(headline(diagnosis))) + facts(diagnosis);
  if (!diagnosis.explanation.empty()) inner += element("p", escaped(diagnosis.explanation));
  inner += what_to_do(diagnosis) + list_of("What is missing", diagnosis.missing);
  if (!diagnosis.timeline.empty())
    inner += element("h2", "Time line") + element("div", TimelineFigure(diagnosis).svg(), "figure");
  inner += evidence_table(diagnosis) + list_of("Also seen", diagnosis.also_seen) +
           public_cases(diagnosis) + list_of("Not read", warning_lines(diagnosis.warnings));
  return "<article class=\"" + std::string(to_text(diagnosis.status)) + "\">\n" + inner +
         "</article>\n";
}

}  // namespace

std::string report_html(const std::vector<Diagnosis>& diagnoses,
                        const std::vector<InputWarning>& warnings) {
  std::string body;
  for (const Diagnosis& diagnosis : diagnoses) body += article(diagnosis);
  body += list_of("Not read", warning_lines(warnings));
  // Nothing may be loaded from anywhere, whatever a log put into this page.
  return std::string(page_head) +
         "<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width\">"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\"><title>faultline: diagnosis</title><style>" +
         std::string(style) + "</style></head><body>\n" + body + "</body></html>\n";
}

}  // namespace faultline
