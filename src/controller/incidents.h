// Incidents: the verdicts of one failure under one name. Grouping only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/incident.h"
#include "model/verdict.h"

namespace faultline {

class IncidentBook {
 public:
  /// Puts back what an earlier life grouped.
  void restore(const Incident& incident);
  /// The incident that `verdict` belongs to, if it changed by it. A verdict of an attempt goes to
  /// that attempt's incident; one about a node without an attempt to the node's, opened within the
  /// last hour, else to a new one.
  std::optional<Incident> add(const Verdict& verdict, Instant now);

 private:
  [[nodiscard]] std::string key_of(const Verdict& verdict) const;
  std::map<std::string, Incident> open_;  // by key
};

}  // namespace faultline
