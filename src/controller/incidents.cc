#include "controller/incidents.h"

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "base/hash.h"

namespace faultline {
namespace {

constexpr Duration same_incident_window = std::chrono::hours{1};
/// Clocks of nodes and scheduler differ by less.
constexpr Duration same_moment = std::chrono::seconds{10};

std::string place_of(const Subject& subject) {
  return concerns_node(subject) ? "node:" + subject.node : subject.text();
}

std::string key_for(const std::optional<AttemptId>& attempt, const Subject& subject) {
  return attempt ? "attempt:" + attempt->text() : place_of(subject);
}

/// Kernels that do not know the job all speak of this one: only an event ties two such verdicts.
bool names_nothing(const std::optional<AttemptId>& attempt, const Subject& subject) {
  return !attempt && subject == Subject::of_unnamed_job();
}

std::string key_tie(const std::string& key) { return "key " + key; }
std::string event_tie(const EventId& event) { return "event " + event; }

/// What another verdict must share to be tied to this one.
std::vector<std::string> ties_of(const Verdict& verdict) {
  std::vector<std::string> ties;
  if (!names_nothing(verdict.attempt, verdict.subject)) {
    ties = {key_tie(key_for(verdict.attempt, verdict.subject)),
            "fault " + place_of(verdict.subject) + " " + verdict.cause};
  }
  for (const auto& event : verdict.evidence) ties.push_back(event_tie(event));
  return ties;
}

bool at_the_same_moment(Instant a, Instant b) {
  return known(a) && known(b) && a - b <= same_moment && b - a <= same_moment;
}

}  // namespace

IncidentBook::Member IncidentBook::member_of(const Verdict& verdict) {
  return {verdict.status == VerdictStatus::cleared, place_of(verdict.subject), verdict.cause,
          verdict.since};
}

void IncidentBook::tie_to(Entry& entry, const std::vector<std::string>& ties) {
  entry.ties.insert(ties.begin(), ties.end());
  for (const auto& tie : ties) tied_[tie].insert(entry.incident.id);
}

void IncidentBook::restore(const Incident& incident, std::span<const Verdict> verdicts) {
  Entry& entry = entries_[incident.id];
  entry = {incident, {}, {}, incident.told};
  if (!names_nothing(incident.attempt, incident.subject))
    tie_to(entry, {key_tie(key_for(incident.attempt, incident.subject))});
  for (const auto& id : incident.verdicts) {
    entry.members[id];
    incident_of_[id] = incident.id;
  }
  for (const auto& verdict : verdicts) {
    const auto member = entry.members.find(verdict.id);
    if (member == entry.members.end()) continue;
    member->second = member_of(verdict);
    tie_to(entry, ties_of(verdict));
  }
}

IncidentBook::Tie IncidentBook::tie(const Entry& entry, const Verdict& verdict) {
  const auto shared = [&](const EventId& event) { return entry.ties.contains(event_tie(event)); };
  if (std::any_of(verdict.evidence.begin(), verdict.evidence.end(), shared)) return Tie::evidence;
  const std::string place = place_of(verdict.subject);
  const auto same_fault = [&](const auto& member) {
    return member.second.place == place && member.second.cause == verdict.cause &&
           at_the_same_moment(member.second.since, verdict.since);
  };
  if (std::any_of(entry.members.begin(), entry.members.end(), same_fault)) return Tie::moment;
  const bool same_key = entry.ties.contains(key_tie(key_for(verdict.attempt, verdict.subject)));
  return same_key ? Tie::key : Tie::none;
}

const IncidentBook::Entry* IncidentBook::entry_of(const VerdictId& verdict) const {
  const auto id = incident_of_.find(verdict);
  return id == incident_of_.end() ? nullptr : &entries_.at(id->second);
}

/// Of several the one with the strongest tie, and of those the one opened last.
const IncidentBook::Entry* IncidentBook::joined_by(const Verdict& verdict, Instant now) const {
  std::set<std::string> candidates;
  for (const auto& tie : ties_of(verdict)) {
    if (const auto tied = tied_.find(tie); tied != tied_.end())
      candidates.insert(tied->second.begin(), tied->second.end());
  }
  std::pair best{Tie::none, Instant{}};
  const Entry* joined = nullptr;
  for (const auto& id : candidates) {
    const Entry& entry = entries_.at(id);
    const Incident& incident = entry.incident;
    if (known(incident.closed_at) || now - incident.opened_at > same_incident_window) continue;
    const std::pair found{tie(entry, verdict), incident.opened_at};
    if (found.first == Tie::none || found < best) continue;
    best = found;
    joined = &entry;
  }
  return joined;
}

IncidentBook::Entry& IncidentBook::open(const Verdict& verdict, Instant now) {
  const std::string key = key_for(verdict.attempt, verdict.subject);
  Incident incident;
  incident.id = "i-" + StableHash().add(key).add(verdict.id).hex();
  incident.opened_at = now;
  incident.subject = verdict.subject;
  incident.cause = verdict.cause;
  Entry& entry = entries_[incident.id];
  entry = {std::move(incident), {}, {}, {}};
  return entry;
}

std::optional<Incident> IncidentBook::add(const Verdict& verdict, Instant now) {
  const Entry* before = entry_of(verdict.id);
  if (verdict.status == VerdictStatus::cleared) {
    return before == nullptr ? std::nullopt
                             : clear(entries_.at(before->incident.id), verdict.id, now);
  }
  const bool listed = before != nullptr;
  if (!listed) before = joined_by(verdict, now);
  Entry& entry = before == nullptr ? open(verdict, now) : entries_.at(before->incident.id);
  Incident& incident = entry.incident;
  const Incident old = incident;
  if (!listed) {
    incident.verdicts.push_back(verdict.id);
    incident_of_[verdict.id] = incident.id;
  }
  if (!incident.attempt) incident.attempt = verdict.attempt;
  const bool came_back = std::exchange(entry.members[verdict.id], member_of(verdict)).cleared;
  if (came_back) incident.closed_at = {};
  tie_to(entry, ties_of(verdict));
  // The leading cause is the one that is confirmed; a later "unknown" does not take its place.
  if (verdict.status == VerdictStatus::confirmed && incident.cause != verdict.cause) {
    incident.cause = verdict.cause;
    incident.subject = verdict.subject;
  }
  if (incident == old) return std::nullopt;
  Incident changed = incident;
  let_go_beyond_limit();
  return changed;
}

std::optional<Incident> IncidentBook::clear(Entry& entry, const VerdictId& verdict, Instant now) {
  entry.members[verdict].cleared = true;
  Incident& incident = entry.incident;
  const bool one_stands = std::any_of(entry.members.begin(), entry.members.end(),
                                      [](const auto& member) { return !member.second.cleared; });
  if (known(incident.closed_at) || one_stands) return std::nullopt;
  incident.closed_at = now;
  return incident;
}

std::vector<Incident> IncidentBook::close_of_node(const std::string& node, Instant now) {
  std::vector<Incident> closed;
  for (auto& [id, entry] : entries_) {
    Incident& incident = entry.incident;
    if (known(incident.closed_at) || incident.subject.node != node) continue;
    incident.closed_at = now;
    closed.push_back(incident);
  }
  return closed;
}

const Incident* IncidentBook::of(const VerdictId& verdict) const {
  const Entry* entry = entry_of(verdict);
  return entry == nullptr ? nullptr : &entry->incident;
}

std::optional<Incident> IncidentBook::as_said(const std::string& id) const {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return std::nullopt;
  Incident incident = entry->second.incident;
  incident.told = entry->second.said;
  return incident;
}

void IncidentBook::say(const Incident& incident) {
  const auto entry = entries_.find(incident.id);
  if (entry != entries_.end()) entry->second.said = incident.told;
}

std::optional<Incident> IncidentBook::told(const Incident& incident) {
  const auto entry = entries_.find(incident.id);
  if (entry == entries_.end()) return std::nullopt;
  entry->second.incident.told = incident.told;
  return entry->second.incident;
}

void IncidentBook::let_go_beyond_limit() {
  if (entries_.size() <= open_incidents_max) return;
  const auto first =
      std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.incident.opened_at < b.second.incident.opened_at;
      });
  for (const auto& verdict : first->second.incident.verdicts) incident_of_.erase(verdict);
  for (const auto& tie : first->second.ties) {
    const auto tied = tied_.find(tie);
    tied->second.erase(first->first);
    if (tied->second.empty()) tied_.erase(tied);
  }
  entries_.erase(first);
}

}  // namespace faultline
