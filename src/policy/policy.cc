#include "policy/policy.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "model/json.h"
#include "policy/guards.h"
#include "policy/proposal.h"
#include "policy/tallies.h"
#include "policy/words.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

/// The part of the view and history that the guards looked at.
std::string what_it_saw(const Proposal& proposal, const PolicyInput& input) {
  Json saw;
  saw["view_taken_at"] = to_text(input.view.taken_at);
  saw["nodes"] = input.view.nodes.size();
  saw["available_without"] = available_without(input.view, input.history, proposal.node);
  saw["drained_by_faultline"] = drained_by_us(input.view, input.history);
  saw["drains_last_hour"] = drains_since(input.history, input.now - std::chrono::hours{1});
  saw["other_nodes_with_cause"] = others_with_cause(input, proposal.node);
  if (const auto* node = input.view.node(proposal.node)) saw["node"] = to_json(*node);
  if (proposal.action.attempt) {
    saw["requeues_last_hour"] = requeues_since(input.history, proposal.action.attempt->job,
                                               input.now - std::chrono::hours{1});
    if (const auto* attempt = input.view.attempt(*proposal.action.attempt)) {
      saw["attempt_state"] = std::string(to_text(attempt->state));
      saw["attempt_nodes"] = attempt->nodes;
      saw["restartable"] = attempt->restartable;
    }
  }
  return dump(saw);
}

std::string passed_text(const Proposal& proposal, const PolicyInput& input) {
  const bool untested = proposal.action.kind == ActionKind::requeue_excluding &&
                        stands_on_words(input.verdict) && !input.tests.configured;
  const Attempt* attempt =
      proposal.action.attempt ? input.view.attempt(*proposal.action.attempt) : nullptr;
  std::string text = "all guards passed";
  if (proposal.action.kind == ActionKind::requeue_excluding && attempt != nullptr &&
      !can_be_requeued(*attempt))
    text += "; " + attempt->id.text() + " itself cannot be requeued, its array goes on without " +
            proposal.node;
  if (untested)
    text += "; only the job says so and no node test is configured: " + proposal.node +
            " stays in service for other jobs";
  return text;
}

Decision rule(const Proposal& proposal, const PolicyInput& input) {
  Decision decision;
  decision.id = proposal.action.decision;
  decision.verdict = input.verdict.id;
  decision.action = proposal.action;
  decision.ruling = Ruling::act;
  decision.reason = Reason::all_guards_passed;
  decision.guard = "all";
  decision.detail = passed_text(proposal, input);
  decision.mode = input.mode;
  decision.decided_at = input.now;
  decision.saw = what_it_saw(proposal, input);
  for (const auto& [name, guard] : guards()) {
    if (auto stop = guard(proposal, input)) {
      decision.ruling = stop->ruling;
      decision.reason = stop->reason;
      decision.detail = std::move(stop->detail);
      decision.guard = name;
      break;
    }
  }
  decision.action.dry_run = decision.ruling != Ruling::act;
  return decision;
}

/// The first thing that speaks against giving a node back to service at a person's request.
std::optional<GuardRuling> against_return(const std::string& name, const ClusterView& view,
                                          const ActionHistory& history, const PolicyLimits& limits,
                                          const Proposal& proposal, Mode mode, Instant now) {
  const auto hold = [](Reason reason, std::string detail) {
    return GuardRuling{Ruling::hold, reason, std::move(detail)};
  };
  const auto& id = proposal.action.decision;
  if (const auto denied = history.denied.find(id); denied != history.denied.end()) {
    return GuardRuling{Ruling::deny, Reason::denied_by_person, "denied by " + denied->second};
  }
  if (!known(view.taken_at) || now - view.taken_at > limits.view_age_max) {
    return hold(Reason::view_stale,
                "the scheduler has not answered lately; ask again when it does");
  }
  const SchedulerNode* node = view.node(name);
  if (node == nullptr) return hold(Reason::node_unknown, "the scheduler does not know " + name);
  if (node->maintenance)
    return hold(Reason::owned_by_other, name + " is in a maintenance reservation");
  if (!node->drained) return hold(Reason::already_acted, name + " is not drained");
  if (!reason_is_ours(node->drain_reason)) {
    return hold(Reason::owned_by_other,
                name + " is drained by " +
                    (node->drain_owner.empty() ? "somebody else" : node->drain_owner) + ": " +
                    node->drain_reason + "; faultline returns only what it drained");
  }
  if (const auto* entry = same_act(proposal, history, view)) {
    return hold(Reason::already_acted,
                "a return of " + name + " is on its way as " + entry->action.id);
  }
  if (mode == Mode::observe) return hold(Reason::mode_observe, "mode observe: nothing is done");
  if (mode == Mode::suggest && !history.approved.contains(id)) {
    return GuardRuling{Ruling::ask, Reason::mode_suggest,
                       "mode suggest: approve with: faultline approve " + id};
  }
  return std::nullopt;
}

/// Who asked for the return that was ruled on.
std::string asked_by(const Decision& decision) {
  const auto saw = parse_json(decision.saw);
  const auto who = saw && saw->is_object() ? saw->value("asked_by", Json{}) : Json{};
  return who.is_string() ? who.get<std::string>() : "a person";
}

Decision rule_on_return(Action action, const std::string& who, std::string detail,
                        const ClusterView& view, const ActionHistory& history,
                        const PolicyLimits& limits, Mode mode, Instant now) {
  const std::string& node = action.subject.node;
  const auto state = view.node_states.find(node);
  Decision decision;
  decision.id = action.decision;
  if (state != view.node_states.end()) decision.verdict = state->second.verdict;
  decision.ruling = Ruling::act;
  decision.reason = Reason::all_guards_passed;
  decision.guard = return_guard;
  decision.detail = std::move(detail);
  decision.mode = mode;
  decision.decided_at = now;
  const Proposal proposal{action, node, nullptr};
  if (auto stop = against_return(node, view, history, limits, proposal, mode, now)) {
    decision.ruling = stop->ruling;
    decision.reason = stop->reason;
    decision.detail += ": " + stop->detail;
  }
  action.dry_run = decision.ruling != Ruling::act;
  Json saw;
  saw["asked_by"] = who;
  saw["view_taken_at"] = to_text(view.taken_at);
  if (const auto* seen = view.node(node)) saw["node"] = to_json(*seen);
  decision.saw = dump(saw);
  decision.action = std::move(action);
  return decision;
}

}  // namespace

std::vector<Decision> decide(const PolicyInput& input) {
  std::vector<Decision> decisions;
  for (const auto& proposal : propose(input)) {
    decisions.push_back(rule(proposal, input));
    if (decisions.back().reason == Reason::restart_loop)
      decisions.push_back(rule(propose_hold(input, proposal), input));
  }
  return decisions;
}

Decision decide_return(const std::string& node, const std::string& who, const ClusterView& view,
                       const ActionHistory& history, const PolicyLimits& limits, Mode mode,
                       Instant now) {
  Action action;
  action.kind = ActionKind::return_node;
  action.subject = Subject::of_node(node);
  // Each request is an act of its own: the same node may be returned again after its next drain.
  action.decision = make_decision_id("return " + to_text(now), action.kind, action.subject);
  action.id = make_action_id(action.decision);
  if (const auto* seen = view.node(node)) action.reason = seen->drain_reason;
  return rule_on_return(std::move(action), who, "asked for by " + who, view, history, limits, mode,
                        now);
}

Decision decide_asked_return(const Decision& asked, const ClusterView& view,
                             const ActionHistory& history, const PolicyLimits& limits, Mode mode,
                             Instant now) {
  const std::string who = asked_by(asked);
  std::string detail = "asked for by " + who;
  const auto approved = history.approved.find(asked.id);
  if (approved != history.approved.end()) detail += ", approved by " + approved->second;
  return rule_on_return(asked.action, who, std::move(detail), view, history, limits, mode, now);
}

}  // namespace faultline
