#include "controller/incidents.h"

#include <algorithm>

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

void IncidentBook::restore(const Incident& incident) {
  auto& open = open_[key_for(incident.attempt, incident.subject)];
  if (open.id.empty() || open.opened_at <= incident.opened_at) open = incident;
}

std::optional<Incident> IncidentBook::add(const Verdict& verdict, Instant now) {
  const std::string key = key_of(verdict);
  const auto it = open_.find(key);
  const bool fresh = it == open_.end() || now - it->second.opened_at > same_incident_window;
  if (fresh && verdict.status == VerdictStatus::cleared) return std::nullopt;
  Incident incident = fresh ? Incident{} : it->second;
  if (fresh) {
    incident.id = "i-" + StableHash().add(key).add(verdict.id).hex();
    incident.opened_at = now;
    incident.attempt = verdict.attempt;
    incident.subject = verdict.subject;
    incident.cause = verdict.cause;
  }
  const bool listed = std::find(incident.verdicts.begin(), incident.verdicts.end(), verdict.id) !=
                      incident.verdicts.end();
  if (!listed) incident.verdicts.push_back(verdict.id);
  // The leading cause is the one that is confirmed; a later "unknown" does not take its place.
  const bool leads = verdict.status == VerdictStatus::confirmed && incident.cause != verdict.cause;
  if (leads) {
    incident.cause = verdict.cause;
    incident.subject = verdict.subject;
  }
  if (!fresh && listed && !leads) return std::nullopt;
  open_[key] = incident;
  if (open_.size() > open_incidents_max) {
    open_.erase(std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.opened_at < b.second.opened_at;
    }));
  }
  return incident;
}

}  // namespace faultline
