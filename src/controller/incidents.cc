#include "controller/incidents.h"

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "base/hash.h"

namespace faultline {
namespace {

constexpr Duration same_incident_window = std::chrono::hours{1};

std::string key_for(const std::optional<AttemptId>& attempt, const Subject& subject) {
  if (attempt) return "attempt:" + attempt->text();
  return concerns_node(subject) ? "node:" + subject.node : subject.text();
}

}  // namespace

std::string IncidentBook::key_of(const Verdict& verdict) const {
  return key_for(verdict.attempt, verdict.subject);
}

void IncidentBook::restore(const Incident& incident, std::set<VerdictId> cleared) {
  auto& latest = latest_[key_for(incident.attempt, incident.subject)];
  if (latest.incident.id.empty() || latest.incident.opened_at <= incident.opened_at)
    latest = {incident, std::move(cleared)};
}

std::optional<Incident> IncidentBook::add(const Verdict& verdict, Instant now) {
  const std::string key = key_of(verdict);
  const auto it = latest_.find(key);
  const bool listed = it != latest_.end() && contains(it->second.incident.verdicts, verdict.id);
  if (verdict.status == VerdictStatus::cleared)
    return listed ? clear(it->second, verdict.id, now) : std::nullopt;
  const bool joins = it != latest_.end() && !known(it->second.incident.closed_at) &&
                     now - it->second.incident.opened_at <= same_incident_window;
  const bool fresh = !listed && !joins;
  Entry entry = fresh ? Entry{} : it->second;
  Incident& incident = entry.incident;
  if (fresh) {
    incident.id = "i-" + StableHash().add(key).add(verdict.id).hex();
    incident.opened_at = now;
    incident.attempt = verdict.attempt;
    incident.subject = verdict.subject;
    incident.cause = verdict.cause;
  }
  if (!listed) incident.verdicts.push_back(verdict.id);
  if (entry.cleared.erase(verdict.id) > 0) incident.closed_at = {};
  // The leading cause is the one that is confirmed; a later "unknown" does not take its place.
  if (verdict.status == VerdictStatus::confirmed && incident.cause != verdict.cause) {
    incident.cause = verdict.cause;
    incident.subject = verdict.subject;
  }
  const bool changed = fresh || incident != it->second.incident;
  const Incident result = incident;
  latest_[key] = std::move(entry);
  let_go_beyond_limit();
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<Incident> IncidentBook::clear(Entry& entry, const VerdictId& verdict, Instant now) {
  entry.cleared.insert(verdict);
  Incident& incident = entry.incident;
  if (known(incident.closed_at) || entry.cleared.size() < incident.verdicts.size())
    return std::nullopt;
  incident.closed_at = now;
  return incident;
}

std::vector<Incident> IncidentBook::close_of_node(const std::string& node, Instant now) {
  std::vector<Incident> closed;
  for (auto& [key, entry] : latest_) {
    Incident& incident = entry.incident;
    if (known(incident.closed_at) || incident.subject.node != node) continue;
    incident.closed_at = now;
    closed.push_back(incident);
  }
  return closed;
}

void IncidentBook::let_go_beyond_limit() {
  if (latest_.size() <= open_incidents_max) return;
  latest_.erase(std::min_element(latest_.begin(), latest_.end(), [](const auto& a, const auto& b) {
    return a.second.incident.opened_at < b.second.incident.opened_at;
  }));
}

}  // namespace faultline
