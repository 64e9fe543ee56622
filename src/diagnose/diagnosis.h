// What `faultline diagnose` concludes about one run: the first cause, where it lies, how it is
// known, and what to do. A value; report_*.h make text of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "diagnose/input.h"
#include "model/cause.h"
#include "model/event.h"
#include "model/subject.h"

namespace faultline {

enum class DiagnosisStatus {
  nothing_wrong,  // nothing in what was read says that anything broke
  attributed,     // there is a cause, and where it can be told a subject
  undecided,      // something broke, and what was read does not say why
};
FAULTLINE_ENUM_NAMES(DiagnosisStatus, "nothing_wrong", "attributed", "undecided");

/// A line that was read, where a person finds it again.
struct EvidenceLine {
  std::string file;
  std::uint64_t line = 0;  // from 1; 0 where the source has no lines (a pickle)
  std::string text;
  Instant at;
  EventSource source = EventSource::job_log;
  Subject subject;
};

enum class TimelineRole { first_cause, evidence, consequence, end };
FAULTLINE_ENUM_NAMES(TimelineRole, "first_cause", "evidence", "consequence", "end");

struct TimelineEntry {
  Instant at;         // where it fits in; what has no time of its own stands behind its neighbour
  bool timed = true;  // `at` is its own
  TimelineRole role = TimelineRole::evidence;
  Subject subject;
  std::string what;
  std::string place;        // "rank3.log:41"
  std::size_t repeats = 0;  // others like it that followed at once
  bool at_least = false;    // there may be more of them than were kept
};

struct Diagnosis {
  std::string run;        // "job 1234", "job unknown"
  std::string folder;     // that all files of the job itself lie in; "" if there is none
  std::size_t files = 0;  // of the job itself
  DiagnosisStatus status = DiagnosisStatus::nothing_wrong;
  CauseClass cause_class = CauseClass::unknown;
  std::string cause;    // catalog id; "" if nothing is wrong
  std::string summary;  // of the cause, one line
  std::string rule;     // which rule had the answer
  std::vector<Subject> subjects;
  double confidence = 0;  // 0 to 1
  /// The node of the first subject is to be taken out of service.
  bool evict = false;
  std::string action;                 // what to do, one or two sentences
  std::vector<std::string> commands;  // exact, to be pasted
  std::string explanation;            // one to three sentences
  std::vector<std::string> missing;   // what would settle it or make it surer
  std::vector<EvidenceLine> evidence;
  std::vector<TimelineEntry> timeline;
  std::vector<PublicCase> cases;       // public incidents like it
  std::vector<std::string> also_seen;  // other findings, one line each
  std::vector<InputWarning> warnings;  // about files of this run alone
};

}  // namespace faultline
