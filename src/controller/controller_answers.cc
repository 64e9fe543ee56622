// What people ask of the controller: approve, deny, return, repair, silence. A request is a row in
// the store, so that it is answered once, whoever left it there and however often the controller
// starts anew.
#include <algorithm>

#include "controller/controller.h"
#include "model/names.h"
#include "policy/policy.h"
#include "store/person_request.h"

namespace faultline {
namespace {

constexpr Duration answer_wait = std::chrono::seconds{5};

/// False for a rack or switch without nodes: the scheduler may not say where they are.
bool covers_anything(const Subject& silence, const ClusterView& view) {
  const bool rack = silence.kind == SubjectKind::rack;
  if (!rack && silence.kind != SubjectKind::network_switch) return true;
  return !silence.part.empty() &&
         std::any_of(view.nodes.begin(), view.nodes.end(), [&](const auto& entry) {
           return silence.part == (rack ? entry.second.rack : entry.second.network_switch);
         });
}

/// An array is silenced task by task: its acts name a task each.
bool knows_job(const ClusterView& view, const std::string& job) {
  return std::any_of(view.attempts.begin(), view.attempts.end(),
                     [&](const Attempt& attempt) { return attempt.id.job == job; });
}

Error unknown_node(const std::string& node) {
  return {ErrorCode::not_found,
          "the scheduler does not know " + node + "; `faultline nodes` lists those it does"};
}

/// One that asks; or asked and was denied, since a person may think better of it.
bool takes_answer(const Decision& decision) {
  return decision.ruling == Ruling::ask || decision.reason == Reason::denied_by_person;
}

Error does_not_ask(const Decision& decision) {
  return {ErrorCode::conflict, decision.id + " does not ask; it is " +
                                   std::string(to_text(decision.ruling)) + " (" +
                                   std::string(to_text(decision.reason)) + "): " + decision.detail};
}

AnswerKind answer_kind(Ruling ruling) {
  switch (ruling) {
    case Ruling::act: return AnswerKind::act;
    case Ruling::ask: return AnswerKind::ask;
    case Ruling::hold: return AnswerKind::hold;
    case Ruling::deny: return AnswerKind::deny;
  }
  return AnswerKind::hold;
}

}  // namespace

void Controller::answer_requests() {
  if (!known(judged_view_.taken_at)) return;  // they wait for the scheduler's first answer, too
  const auto requests = store_.open_requests();
  if (!requests) return note_store(requests.error(), "requests");
  for (const auto& request : *requests) {
    note_store(store_.answer_request(request.number, answer_request(request)), "request");
    counters_.add("controller_requests_total");
  }
  if (requests->empty()) return;
  // Read back, so that the guards see what the next life of this controller would.
  auto silences = load_silences(store_, clock_.now());
  if (!silences) return note_store(silences.error(), "silences");
  history_.silences = std::move(silences).value();
}

PersonAnswer Controller::answer_request(const PersonRequest& request) {
  if (!request.kind)
    return {AnswerKind::refused, "this version of faultline knows no such request"};
  switch (*request.kind) {
    case RequestKind::return_node: return answer_return(request);
    case RequestKind::repair: return answer_of(answer_repair(request));
    case RequestKind::approve: return answer_of(answer_decision(request.who, true, request.target));
    case RequestKind::deny: return answer_of(answer_decision(request.who, false, request.target));
    case RequestKind::silence: return answer_of(answer_silence(request));
    case RequestKind::unsilence: return answer_of(answer_unsilence(request));
  }
  return {};
}

PersonAnswer Controller::answer_return(const PersonRequest& request) {
  const Decision decision = decide_return(request.target, request.who, judged_view_, history_,
                                          options_.limits, options_.mode, clock_.now());
  publish_return(decision);
  if (decision.reason == Reason::node_unknown)
    return {AnswerKind::not_found, decision.detail + "; `faultline nodes` lists those it does"};
  return {answer_kind(decision.ruling), decision.detail};
}

/// The judge does not come to it again: what asked is ruled on here once more.
Status Controller::rule_on_asked_return(const Decision& asked) {
  const Decision decision = decide_asked_return(asked, judged_view_, history_, options_.limits,
                                                options_.mode, clock_.now());
  // It goes on asking, so that it can be approved once nothing stands against it.
  if (decision.ruling == Ruling::hold) return Error{ErrorCode::conflict, decision.detail};
  publish_return(decision);
  return ok_status();
}

void Controller::publish_return(const Decision& decision) {
  if (decision.ruling == Ruling::act)
    history_.entries.push_back({decision.action, decision.decided_at, {}, {}});
  publish_decision(decision);
}

Result<std::string> Controller::answer_repair(const PersonRequest& request) {
  const auto target = parse_repair(request.target);
  if (!target) return target.error();
  const SchedulerNode* node = judged_view_.node(target->node);
  if (node == nullptr) return unknown_node(target->node);
  Result<NodeState> repair = NodeState{};
  bool again = false;
  bool noted = false;
  move_node([&](const NodeStates& states) -> std::optional<NodeState> {
    repair = into_repair(states, *node, target->note, request.who, clock_.now());
    if (!repair) return std::nullopt;
    const auto before = states.find(node->name);
    again = before != states.end() && before->second.in_persons_repair();
    noted = again && before->second.note != repair->note;
    return *repair;
  });
  if (!repair) return repair.error();
  return node->name + " is in repair" + (again ? " already" : "") + ", since " +
         to_text(repair->since) + " by " + repair->by + (noted ? "; note changed" : "");
}

Result<std::string> Controller::answer_silence(const PersonRequest& request) {
  const auto target = parse_silence(request.target);
  if (!target) return target.error();
  const std::string& node = target->subject.node;
  if (!node.empty() && judged_view_.node(node) == nullptr) return unknown_node(node);
  const std::string& job = target->subject.attempt.job;
  if (!job.empty() && !knows_job(judged_view_, job)) {
    return Error{ErrorCode::not_found, "the scheduler knows no job " + job +
                                           "; `faultline jobs` lists those that ran (of an array, "
                                           "name the task: 7_2)"};
  }
  if (!covers_anything(target->subject, judged_view_)) {
    return Error{ErrorCode::not_found, "no node is known to be in " + target->subject.text() +
                                           ": `faultline silence` a node, a job or the cluster"};
  }
  const Instant until = request.at + target->length;
  if (until <= clock_.now())
    return Error{ErrorCode::deadline_exceeded, "it ended at " + to_text(until) + " already"};
  return "silenced " + target->subject.text() + " until " + to_text(until) + " as s-" +
         std::to_string(request.number);
}

Result<std::string> Controller::answer_unsilence(const PersonRequest& request) {
  const auto silences = load_silences(store_, clock_.now());
  if (!silences) return silences.error();
  for (const auto& silence : *silences) {
    if (silence.id != request.target) continue;
    return "ended " + silence.id + " on " + silence.subject.text();
  }
  return Error{ErrorCode::not_found, "no silence " + request.target +
                                         " is in force; `faultline silences` lists those that are"};
}

Result<std::string> Controller::answer_decision(const std::string& who, bool approve,
                                                const std::string& target) {
  const auto decision = store_.decision(target);
  if (!decision) return decision.error();
  if (!*decision)
    return Error{ErrorCode::not_found, "no decision " + target + "; see `faultline actions --all`"};
  if ((*decision)->ruling == Ruling::act)
    return Error{ErrorCode::conflict, target + " was acted on already"};
  if (!takes_answer(**decision)) return does_not_ask(**decision);
  remember_answer(history_, approve, target, who);
  const std::string answer = std::string(approve ? "approved" : "denied") + " by " + who;
  if ((*decision)->guard != return_guard)
    return answer + "; the guards look at it again within a second";
  if (const auto ruled = rule_on_asked_return(**decision); !ruled) return ruled.error();
  return answer;
}

Result<PersonAnswer> Controller::operate(const std::string& who, RequestKind kind,
                                         const std::string& target) {
  if (kind == RequestKind::return_node && !valid_node_name(target)) {
    return Error{ErrorCode::invalid_argument,
                 "not a node name: give it as the scheduler spells it"};
  }
  const auto number = store_.put_request({0, kind, target, who, clock_.now(), {}});
  if (!number) return number.error();
  const Duration until = clock_.monotonic() + answer_wait;
  while (clock_.monotonic() < until) {
    const auto current = store_.request(*number);
    if (!current) return current.error();
    if (*current && (*current)->answer.kind != AnswerKind::open) return (*current)->answer;
    clock_.sleep(std::chrono::milliseconds{50});
  }
  return PersonAnswer{
      AnswerKind::taken,
      "accepted, not answered yet: `faultline nodes`, `silences` or `actions` shows it in a "
      "moment"};
}

}  // namespace faultline
