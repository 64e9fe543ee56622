#include "controller/notice_desk.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "model/names.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

/// What is done about an incident, as the store has it.
struct Account {
  struct Act {
    std::string line;  // "drain_node node:n3 done"
    Decision decision;
    Verdict verdict;
    std::string state;
  };
  std::vector<Act> acts;
  bool to_be_told = false;  // some decision is no mere hold
  bool under_way = false;
  std::string place;  // " on n3", where the subject does not say it
  Notice notice;
};

/// The name as people say it: "n3", "job 7".
std::string name_of(const Subject& subject) {
  switch (subject.kind) {
    case SubjectKind::node:
    case SubjectKind::gpu: return subject.node;
    case SubjectKind::job: return "job " + subject.attempt.job;
    default: return subject.text();
  }
}

std::string_view done_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::drain_node: return "drained";
    case ActionKind::requeue_excluding: return "requeued";
    case ActionKind::hold_job: return "held";
    case ActionKind::test_node: return "tested";
    case ActionKind::return_node: return "returned";
    case ActionKind::notify: return "told";
  }
  return "";
}

/// The more an act changes for people, the earlier it stands.
int weight(ActionKind kind) {
  switch (kind) {
    case ActionKind::return_node: return 0;
    case ActionKind::drain_node: return 1;
    case ActionKind::hold_job: return 2;
    case ActionKind::requeue_excluding: return 3;
    case ActionKind::test_node: return 4;
    case ActionKind::notify: return 5;
  }
  return 5;
}

std::string without(const Action& action) {
  return action.nodes.empty() ? "" : " without " + join(action.nodes, ", ");
}

constexpr std::string_view asks = "asks";
constexpr std::string_view would = "would";

/// "n3 drained", "job 7 would be requeued without n3".
std::string phrase(const Account::Act& act) {
  const Action& action = act.decision.action;
  const std::string name = name_of(action.subject);
  const std::string done = std::string(done_of(action.kind)) + without(action);
  if (act.state == asks) return name + " to be " + done + " once approved";
  if (act.state == would) return name + " would be " + done;
  const bool ok = act.state == to_text(OutcomeStatus::done);
  const bool failed = act.state == to_text(OutcomeStatus::failed);
  if (action.kind == ActionKind::test_node && (ok || failed))
    return name + (ok ? " passed" : " failed") + " its test";
  if (ok) return name + " " + done;
  return failed ? name + " not " + done : name + " perhaps " + done;
}

std::string summary_of(const Catalog& catalog, const std::string& id) {
  const Cause* cause = catalog.cause(id);
  return cause == nullptr ? id : cause->summary;
}

class Accountant {
 public:
  Accountant(Store& store, const Incident& incident) : store_(store) {
    account_.notice.incident = incident;
  }

  Result<Account> account() {
    for (const auto& id : account_.notice.incident.verdicts) FAULTLINE_TRY(take_verdict(id));
    FAULTLINE_TRY(find_place());
    std::stable_sort(account_.acts.begin(), account_.acts.end(), [](const auto& a, const auto& b) {
      return weight(a.decision.action.kind) < weight(b.decision.action.kind);
    });
    return std::move(account_);
  }

 private:
  Status take_verdict(const VerdictId& id) {
    const auto verdict = store_.verdict(id);
    if (!verdict) return verdict.error();
    if (!*verdict) return ok_status();  // its incident is stored before it
    Notice& notice = account_.notice;
    if (notice.verdict.id.empty() || (*verdict)->cause == notice.incident.cause)
      notice.verdict = **verdict;
    const auto decisions = store_.decisions_of_verdict(id);
    if (!decisions) return decisions.error();
    for (const auto& decision : *decisions) {
      notice.decisions.push_back(decision);
      if (!is_told_of(decision)) continue;
      account_.to_be_told = true;
      if (decision.action.kind != ActionKind::notify) FAULTLINE_TRY(take_act(**verdict, decision));
    }
    return ok_status();
  }

  /// Where somebody has to look for a job that nobody names.
  Status find_place() {
    const Verdict& verdict = account_.notice.verdict;
    if (verdict.subject != Subject::of_unnamed_job() || verdict.evidence.empty())
      return ok_status();
    const auto event = store_.event(verdict.evidence.front());
    if (!event) return event.error();
    if (*event && !(*event)->reporter.empty()) account_.place = " on " + (*event)->reporter;
    return ok_status();
  }

  Status take_act(const Verdict& verdict, const Decision& decision) {
    const auto state = state_of(decision);
    if (!state) return state.error();
    if (state->empty()) {
      // What was taken back is not begun any more; a test is not waited for.
      if (verdict.status != VerdictStatus::cleared && decision.action.kind != ActionKind::test_node)
        account_.under_way = true;
      return ok_status();
    }
    const Action& action = decision.action;
    std::string line = std::string(to_text(action.kind)) + " " + action.subject.text() +
                       without(action) + " " + *state;
    account_.acts.push_back({std::move(line), decision, verdict, *state});
    return ok_status();
  }

  /// "" while nothing came of it yet.
  Result<std::string> state_of(const Decision& decision) {
    if (decision.ruling != Ruling::act) {
      auto dry_run = dry_run_of(store_, decision);
      if (!dry_run) return dry_run.error();
      if (!*dry_run) return std::string{};
      account_.notice.dry_runs.push_back(std::move(**dry_run));
      return std::string(decision.ruling == Ruling::ask ? asks : would);
    }
    const auto record = store_.action(decision.action.id);
    if (!record) return record.error();
    if (!*record || !(*record)->outcome) return std::string{};
    account_.notice.outcomes.push_back(*(*record)->outcome);
    return std::string(to_text((*record)->outcome->status));
  }

  Store& store_;
  Account account_;
};

/// The title, and what people have heard with it. False if that is what they heard already.
bool write_news(const Catalog& catalog, Account& account) {
  auto& told = account.notice.incident.told;
  const Account::Act* news = nullptr;
  const bool first = told.empty();
  if (first) told.emplace_back(to_text(ActionKind::notify));
  for (const auto& act : account.acts) {
    if (contains(told, act.line)) continue;
    if (news == nullptr) news = &act;
    told.push_back(act.line);
  }
  Notice& notice = account.notice;
  if (news != nullptr) notice.verdict = news->verdict;
  const std::string about =
      news == nullptr ? name_of(notice.verdict.subject) + account.place : phrase(*news);
  notice.title = about + ": " + summary_of(catalog, notice.verdict.cause);
  if (const Cause* cause = catalog.cause(notice.verdict.cause)) notice.next_step = cause->next_step;
  return first || news != nullptr;
}

}  // namespace

bool is_told_of(const Decision& decision) {
  return decision.ruling == Ruling::act || wants_dry_run(decision);
}

void NoticeDesk::look_at(const std::string& incident, Instant now) {
  waiting_.try_emplace(incident, Waiting{now}).first->second.looked_at = true;
}

Result<bool> NoticeDesk::tell(IncidentBook& book, const std::string& id, bool waited,
                              std::vector<Notice>& notices) {
  const auto incident = book.as_said(id);
  if (!incident) return true;
  auto account = Accountant(store_, *incident).account();
  if (!account) return account.error();
  if (!account->to_be_told) return true;
  if (account->under_way && !waited) return false;
  Account& told = account.value();
  if (write_news(catalog_, told)) {
    book.say(told.notice.incident);
    notices.push_back(std::move(told.notice));
  }
  return true;
}

NoticeDesk::Due NoticeDesk::due(IncidentBook& book, Instant now) {
  Due due;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    Waiting& waiting = it->second;
    const bool waited = now - waiting.since >= notice_wait;
    const bool look = std::exchange(waiting.looked_at, false) || waited;
    const Result<bool> over =
        look ? tell(book, it->first, waited, due.notices) : Result<bool>(false);
    if (!over) due.trouble = over.error();
    it = over && *over ? waiting_.erase(it) : std::next(it);
  }
  return due;
}

}  // namespace faultline
