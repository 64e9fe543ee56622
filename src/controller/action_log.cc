#include "controller/action_log.h"

#include <algorithm>

#include "store/person_request.h"

namespace faultline {
namespace {

constexpr std::size_t history_entries_max = 10000;

Status load_entries(Store& store, Instant since, ActionHistory& history) {
  const auto decisions = store.decisions({history_entries_max, since});
  if (!decisions) return decisions.error();
  for (const auto& decision : *decisions) {
    if (decision.ruling != Ruling::act) continue;
    ActionHistory::Entry entry{decision.action, decision.decided_at, {}, {}};
    const auto record = store.action(decision.action.id);
    if (!record) return record.error();
    if (*record) entry.outcome = (*record)->outcome;
    const auto verdict = store.verdict(decision.verdict);
    if (!verdict) return verdict.error();
    if (*verdict) entry.cause = (*verdict)->cause;
    history.entries.push_back(std::move(entry));
  }
  std::reverse(history.entries.begin(), history.entries.end());  // the store gives the newest first
  return ok_status();
}

}  // namespace

std::optional<Instant> StoreJournal::intended_at(const ActionId& id) {
  const auto record = store_.action(id);
  if (!record || !*record) return std::nullopt;
  return (*record)->intended_at;
}

void remember_answer(ActionHistory& history, bool approved, const std::string& decision,
                     const std::string& who) {
  auto& now = approved ? history.approved : history.denied;
  auto& before = approved ? history.denied : history.approved;
  now[decision] = who;
  before.erase(decision);
}

Result<ActionHistory> load_history(Store& store, Instant since) {
  ActionHistory history;
  FAULTLINE_TRY(load_entries(store, since, history));
  const auto requests = store.requests({history_entries_max, since});
  if (!requests) return requests.error();
  for (const auto& request : *requests) {
    const bool approves = request.kind == RequestKind::approve;
    const bool answers = approves || request.kind == RequestKind::deny;
    if (answers && accepted(request.answer.kind))
      remember_answer(history, approves, request.target, request.who);
  }
  return history;
}

Result<std::vector<Silence>> load_silences(Store& store, Instant now) {
  const auto requests = store.requests({history_entries_max, now - silence_max});
  if (!requests) return requests.error();
  auto silences = silences_of(*requests);
  std::erase_if(silences, [&](const Silence& silence) { return !silence.holds(now); });
  return silences;
}

void set_outcome(ActionHistory& history, const Outcome& outcome) {
  for (auto it = history.entries.rbegin(); it != history.entries.rend(); ++it) {
    if (it->action.id != outcome.action) continue;
    it->outcome = outcome;
    return;
  }
}

void forget_old(ActionHistory& history, Instant before) {
  std::erase_if(history.entries,
                [&](const auto& entry) { return entry.outcome && entry.decided_at < before; });
  if (history.entries.size() > history_entries_max) {
    history.entries.erase(history.entries.begin(), history.entries.end() - history_entries_max);
  }
}

}  // namespace faultline
