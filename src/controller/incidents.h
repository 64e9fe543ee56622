// Incidents: the verdicts of one failure under one name. Grouping only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/incident.h"
#include "model/verdict.h"

namespace faultline {

/// Beyond it the one opened first is let go; a later verdict of it opens another.
inline constexpr std::size_t open_incidents_max = 4096;

class IncidentBook {
 public:
  /// Puts back what an earlier life grouped. `cleared`: those of its verdicts that were taken back.
  void restore(const Incident& incident, std::set<VerdictId> cleared = {});
  /// The incident that `verdict` belongs to, if it changed by it: that of its attempt, or of its
  /// node if it has none, if that is open and was opened within the last hour, else a new one. It
  /// is closed when the last of its verdicts is cleared, and open again if one comes back.
  std::optional<Incident> add(const Verdict& verdict, Instant now);
  /// The node was given back: those of it that were open, closed now.
  std::vector<Incident> close_of_node(const std::string& node, Instant now);

 private:
  struct Entry {
    Incident incident;
    std::set<VerdictId> cleared;
  };
  [[nodiscard]] std::string key_of(const Verdict& verdict) const;
  static std::optional<Incident> clear(Entry& entry, const VerdictId& verdict, Instant now);
  void let_go_beyond_limit();
  std::map<std::string, Entry> latest_;  // by key; closed ones, too
};

}  // namespace faultline
