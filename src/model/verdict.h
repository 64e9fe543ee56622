// Verdict: cause x subject x status, with the events that carry it. Not an action.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/time.h"
#include "model/event.h"
#include "model/subject.h"

namespace faultline {

enum class VerdictStatus { suspected, confirmed, cleared, unknown };
FAULTLINE_ENUM_NAMES(VerdictStatus, "suspected", "confirmed", "cleared", "unknown");

using VerdictId = std::string;  // "v-" and 16 hexadecimal digits

struct Verdict {
  VerdictId id;
  std::string detector;  // who says so, e.g. "attribution"
  std::string rule;      // its rule that had the answer, where it has several
  std::string cause;     // catalog cause id
  Subject subject;
  VerdictStatus status = VerdictStatus::unknown;
  double confidence = 0;             // 0 to 1
  std::optional<AttemptId> attempt;  // the attempt whose failure is explained, if any
  Instant since;                     // onset on the controller's clock
  Instant updated_at;
  std::vector<EventId> evidence;       // events that carry the cause, first cause first
  std::vector<EventId> consequences;   // events explained by it
  std::vector<EventSource> witnesses;  // distinct sources of the evidence
  std::vector<std::string> reporters;  // distinct nodes that reported the evidence
  std::vector<std::string> missing;    // what would settle it: "kernel log of n3"
  std::string explanation;             // one to three sentences for people
  bool acts_at_once =
      false;  // kernel-source fact whose catalog remedy concerns the node: no settling needed

  bool operator==(const Verdict&) const = default;
};

/// The id of a verdict: the same detector, cause, subject, attempt and first evidence always give
/// the same id.
VerdictId make_verdict_id(const Verdict& verdict);

}  // namespace faultline
