// Incidents: the verdicts of one failure under one name. Grouping only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/incident.h"
#include "model/verdict.h"

namespace faultline {

/// Beyond it the one opened first is let go; a later verdict of it opens another.
inline constexpr std::size_t open_incidents_max = 4096;

class IncidentBook {
 public:
  /// Puts back what an earlier life grouped.
  void restore(const Incident& incident);
  /// The incident that `verdict` belongs to, if it changed by it: that of its attempt, or of its
  /// node if it has none, if that was opened within the last hour, else a new one.
  std::optional<Incident> add(const Verdict& verdict, Instant now);

 private:
  [[nodiscard]] std::string key_of(const Verdict& verdict) const;
  std::map<std::string, Incident> open_;  // by key
};

}  // namespace faultline
