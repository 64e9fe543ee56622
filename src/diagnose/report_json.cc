#include <nlohmann/json.hpp>

#include "diagnose/report.h"

namespace faultline {
namespace {

using nlohmann::json;

json time_or_null(Instant at) { return known(at) ? json(to_text(at)) : json(nullptr); }

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

/// Kind, host, rank and gpu as far as they are known; `id` is the whole address.
json subject_json(const Subject& subject) {
  json object = {{"id", subject.text()}, {"kind", to_text(subject.kind)}};
  if (!subject.node.empty()) object["host"] = subject.node;
  if (subject.rank >= 0) object["rank"] = subject.rank;
  if (subject.kind == SubjectKind::gpu) object["gpu"] = subject.part;
  if (subject.kind != SubjectKind::gpu && !subject.part.empty()) object["part"] = subject.part;
  return object;
}

json evidence_json(const EvidenceLine& line) {
  return {{"file", line.file},
          {"line", line.line == 0 ? json(nullptr) : json(line.line)},
          {"text", line.text},
          {"at", time_or_null(line.at)},
          {"source", to_text(line.source)},
          {"subject", subject_json(line.subject)}};
}

json timeline_json(const TimelineEntry& entry) {
  return {{"at", entry.timed ? time_or_null(entry.at) : json(nullptr)},
          {"role", to_text(entry.role)},
          {"subject", subject_json(entry.subject)},
          {"what", entry.what},
          {"place", entry.place},
          {"repeats", entry.repeats},
          {"at_least", entry.at_least}};
}

json warning_json(const InputWarning& warning) {
  return {{"file", warning.file},
          {"what", warning.what},
          {"left_out", warning.left_out},
          {"may_matter", warning.may_matter}};
}

json diagnosis_json(const Diagnosis& diagnosis) {
  json object = {{"run", diagnosis.run},
                 {"folder", text_or_null(diagnosis.folder)},
                 {"files", diagnosis.files},
                 {"status", to_text(diagnosis.status)},
                 {"class", to_text(diagnosis.cause_class)},
                 {"cause", text_or_null(diagnosis.cause)},
                 {"summary", text_or_null(diagnosis.summary)},
                 {"rule", text_or_null(diagnosis.rule)},
                 {"subjects", json::array()},
                 {"confidence", diagnosis.confidence},
                 {"evict", diagnosis.evict},
                 {"action", text_or_null(diagnosis.action)},
                 {"commands", diagnosis.commands},
                 {"explanation", text_or_null(diagnosis.explanation)},
                 {"missing", diagnosis.missing},
                 {"evidence", json::array()},
                 {"timeline", json::array()},
                 {"cases", json::array()},
                 {"also_seen", diagnosis.also_seen}};
  if (diagnosis.status == DiagnosisStatus::nothing_wrong) object["class"] = nullptr;
  for (const Subject& subject : diagnosis.subjects)
    object["subjects"].push_back(subject_json(subject));
  for (const PublicCase& told : diagnosis.cases) object["cases"].push_back(told.id);
  for (const EvidenceLine& line : diagnosis.evidence)
    object["evidence"].push_back(evidence_json(line));
  for (const TimelineEntry& entry : diagnosis.timeline)
    object["timeline"].push_back(timeline_json(entry));
  return object;
}

}  // namespace

json report_json(const std::vector<Diagnosis>& diagnoses,
                 const std::vector<InputWarning>& warnings) {
  json left_out = json::array();
  for (const InputWarning& warning : warnings) left_out.push_back(warning_json(warning));
  json list = json::array();
  for (const Diagnosis& diagnosis : diagnoses) {
    list.push_back(diagnosis_json(diagnosis));
    list.back()["warnings"] = left_out;
    for (const InputWarning& warning : diagnosis.warnings)
      list.back()["warnings"].push_back(warning_json(warning));
  }
  return list.size() == 1 ? list.front() : list;
}

}  // namespace faultline
