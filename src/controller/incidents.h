// Incidents: the verdicts of one failure under one name. Grouping only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
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
  /// Puts back what an earlier life grouped. `verdicts`: those on record, of this incident and of
  /// others.
  void restore(const Incident& incident, std::span<const Verdict> verdicts);
  /// The incident that `verdict` belongs to, if it changed by it. That is the one that has it
  /// already; else one that is open, was opened within the last hour, and rests on an event that
  /// the verdict rests on, or has the same cause on the same node at the same moment, or is that of
  /// its attempt, or of its node if it has none; else a new one. It is closed when the last of its
  /// verdicts is cleared, and open again if one comes back.
  std::optional<Incident> add(const Verdict& verdict, Instant now);
  /// The node was given back: those of it that were open, closed now.
  std::vector<Incident> close_of_node(const std::string& node, Instant now);
  /// That of the verdict; nullptr if it was let go.
  [[nodiscard]] const Incident* of(const VerdictId& verdict) const;
  /// That with this id, with what is on its way to people as told; nothing if it was let go.
  [[nodiscard]] std::optional<Incident> as_said(const std::string& id) const;
  /// This of it is on its way to people. It counts as told once they have it: the next life says
  /// what they do not.
  void say(const Incident& incident);
  /// People have this of it. Returns it, unless it was let go.
  std::optional<Incident> told(const Incident& incident);

 private:
  /// What ties a later verdict to one that is in.
  struct Member {
    bool cleared = false;
    std::string place;  // the node, or what else it is about
    std::string cause;
    Instant since;
  };
  struct Entry {
    Incident incident;
    std::set<std::string> ties;  // what a later verdict may share with it
    std::map<VerdictId, Member> members;
    std::vector<std::string> said;  // what was told, and what is on its way
  };
  enum class Tie { none, key, moment, evidence };  // the later the stronger
  static Tie tie(const Entry& entry, const Verdict& verdict);
  void tie_to(Entry& entry, const std::vector<std::string>& ties);
  static Member member_of(const Verdict& verdict);
  static std::optional<Incident> clear(Entry& entry, const VerdictId& verdict, Instant now);
  [[nodiscard]] const Entry* entry_of(const VerdictId& verdict) const;
  [[nodiscard]] const Entry* joined_by(const Verdict& verdict, Instant now) const;
  Entry& open(const Verdict& verdict, Instant now);
  void let_go_beyond_limit();
  std::map<std::string, Entry> entries_;               // by id; closed ones, too
  std::map<std::string, std::set<std::string>> tied_;  // ids, by what may tie a verdict to them
  std::map<VerdictId, std::string> incident_of_;
};

}  // namespace faultline
