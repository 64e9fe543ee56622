// Incident: what people call one failure. It only groups; the truth is in the verdicts, decisions
// and outcomes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/subject.h"

namespace faultline {

struct Incident {
  std::string id;  // "i-" and 16 hexadecimal digits
  Instant opened_at;
  Instant closed_at;  // unknown while open
  std::optional<AttemptId> attempt;
  Subject subject;
  std::string cause;  // of the leading verdict
  std::vector<std::string> verdicts;
  std::vector<std::string> told;  // what people heard: "notify", "drain_node node:n3 done"

  bool operator==(const Incident&) const = default;
};

}  // namespace faultline
