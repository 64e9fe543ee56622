// Each guard answers one question about one proposal. What it does not concern it lets pass.
#include "policy/guards.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "policy/tallies.h"
#include "policy/words.h"

namespace faultline {
namespace {

using Stop = std::optional<GuardRuling>;

Stop hold(Reason reason, std::string detail) {
  return GuardRuling{Ruling::hold, reason, std::move(detail)};
}
Stop deny(Reason reason, std::string detail) {
  return GuardRuling{Ruling::deny, reason, std::move(detail)};
}

bool is(const Proposal& proposal, std::initializer_list<ActionKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), proposal.action.kind) != kinds.end();
}

bool takes_out(const Proposal& proposal) {
  return is(proposal, {ActionKind::drain_node, ActionKind::test_node});
}
bool on_node(const Proposal& proposal) {
  return takes_out(proposal) || is(proposal, {ActionKind::return_node});
}

/// It follows a drain of this very verdict: what is asked of a verdict was asked for the drain.
bool follows_drain(const Proposal& proposal, const PolicyInput& input) {
  return is(proposal, {ActionKind::test_node, ActionKind::return_node}) &&
         drain_stands(input.verdict, input.view);
}

std::string words_of(const Verdict& verdict) {
  std::vector<std::string_view> words;
  for (const auto witness : verdict.witnesses) words.push_back(to_text(witness));
  return words.empty() ? "nobody" : join(words, ", ");
}

/// A job's own words exclude a node of that job from that job and have it tested, nothing else.
Stop source_trusted(const Proposal& proposal, const PolicyInput& input) {
  if (is(proposal, {ActionKind::notify, ActionKind::hold_job})) return {};
  if (has_independent_witness(input.verdict) || follows_drain(proposal, input)) return {};
  const std::string only = "only " + words_of(input.verdict) + " says so";
  if (is(proposal, {ActionKind::drain_node}))
    return deny(Reason::source_untrusted, only + ": a drain needs a second, independent witness");
  const bool of_job = !is(proposal, {ActionKind::requeue_excluding}) ||
                      input.verdict.attempt == proposal.action.attempt;
  if (!input.verdict.attempt || !of_job)
    return deny(Reason::source_untrusted, only + ", and not about this job");
  const Attempt* attempt = input.view.attempt(*input.verdict.attempt);
  if (attempt == nullptr || proposal.node.empty() || contains(attempt->nodes, proposal.node))
    return {};
  return deny(Reason::source_untrusted,
              only + ", and " + proposal.node + " is not a node of that job");
}

/// An agent speaks for its own node alone. What the scheduler or the controller saw needs no agent.
Stop right_speaker(const Proposal& proposal, const PolicyInput& input) {
  const auto& verdict = input.verdict;
  const bool of_any_job = is(proposal, {ActionKind::requeue_excluding}) && !verdict.attempt;
  if ((!takes_out(proposal) && !of_any_job) || follows_drain(proposal, input)) return {};
  if (proposal.node.empty() || contains(verdict.reporters, proposal.node)) return {};
  const bool seen_from_outside =
      std::any_of(verdict.witnesses.begin(), verdict.witnesses.end(), [](auto witness) {
        return witness == EventSource::scheduler || witness == EventSource::controller ||
               witness == EventSource::person;
      });
  if (seen_from_outside) return {};
  return deny(Reason::wrong_speaker,
              "said by " + (verdict.reporters.empty() ? "nobody" : join(verdict.reporters, ", ")) +
                  " about " + proposal.node);
}

Stop evidence_complete(const Proposal& proposal, const PolicyInput& input) {
  if (follows_drain(proposal, input)) return {};
  const auto& verdict = input.verdict;
  const std::string missing =
      verdict.missing.empty() ? "" : "; missing: " + join(verdict.missing, ", ");
  if (verdict.status == VerdictStatus::unknown)
    return hold(Reason::evidence_incomplete, "the verdict is unknown" + missing);
  if (verdict.evidence.empty())
    return hold(Reason::evidence_incomplete, "the verdict has no evidence" + missing);
  return {};
}

/// A suspicion waits; but what a job says of its own hardware is believed for that job.
Stop confirmed(const Proposal& proposal, const PolicyInput& input) {
  if (input.verdict.status != VerdictStatus::suspected || follows_drain(proposal, input)) return {};
  const auto lack = words_lack(input);
  const bool stays_with_job =
      is(proposal, {ActionKind::requeue_excluding, ActionKind::test_node, ActionKind::notify});
  if (stays_with_job && !lack) return {};
  const auto percent = static_cast<int>(input.verdict.confidence * 100);
  return hold(Reason::not_confirmed, "suspected, confidence " + std::to_string(percent) + " %" +
                                         (lack ? ": " + *lack : std::string{}));
}

Stop verdict_fresh(const Proposal& proposal, const PolicyInput& input) {
  if (follows_drain(proposal, input)) return {};
  const Duration age = input.now - input.verdict.updated_at;
  if (age <= input.limits.verdict_age_max) return {};
  return hold(Reason::verdict_stale, "the verdict is " + to_text(age) + " old, limit " +
                                         to_text(input.limits.verdict_age_max));
}

/// A node goes back once nothing confirmed speaks against it any more.
Stop nothing_else_stands(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::return_node}) || input.other_fault.empty()) return {};
  return hold(Reason::fault_stands,
              input.other_fault + " speaks against " + proposal.node + ", too");
}

/// A node that was given back is not taken out, nor a job kept off it, for what was known before.
Stop not_returned_since(const Proposal& proposal, const PolicyInput& input) {
  if (!takes_out(proposal) && !is(proposal, {ActionKind::requeue_excluding})) return {};
  const auto clean = input.clean_since.find(proposal.node);
  if (clean == input.clean_since.end() || clean->second < input.verdict.since) return {};
  return hold(Reason::returned_since, proposal.node + " was given back or passed its test at " +
                                          to_text(clean->second) + ", after this fault");
}

Stop settled(const Proposal& proposal, const PolicyInput& input) {
  if (follows_drain(proposal, input) || input.verdict.acts_at_once) return {};
  // A suspicion is acted on only after nothing was added to it for as long.
  const bool suspected = input.verdict.status == VerdictStatus::suspected;
  const Duration age = input.now - (suspected ? input.verdict.updated_at : input.verdict.since);
  if (age >= input.limits.lateness) return {};
  return hold(Reason::not_settled, "known for " + to_text(age) + ", late events are waited for " +
                                       to_text(input.limits.lateness));
}

Stop view_fresh(const Proposal& proposal, const PolicyInput& input) {
  if (is(proposal, {ActionKind::notify})) return {};
  if (!known(input.view.taken_at))
    return hold(Reason::view_stale, "the scheduler has not answered yet");
  const Duration age = input.now - input.view.taken_at;
  if (age <= input.limits.view_age_max) return {};
  return hold(Reason::view_stale, "the scheduler answered " + to_text(age) + " ago, limit " +
                                      to_text(input.limits.view_age_max));
}

Stop has_target(const Proposal& proposal, const PolicyInput& input) {
  if (is(proposal, {ActionKind::notify, ActionKind::hold_job})) return {};
  if (!proposal.node.empty()) return {};
  return hold(Reason::remedy_not_node, input.verdict.subject.text() + " names no node");
}

Stop node_known(const Proposal& proposal, const PolicyInput& input) {
  if (is(proposal, {ActionKind::notify, ActionKind::hold_job})) return {};
  if (input.view.node(proposal.node) != nullptr) return {};
  return hold(Reason::node_unknown, "the scheduler does not know " + proposal.node);
}

/// Whether `wide` is the rack or the switch of this node; false where that is not known.
bool is_within(const SchedulerNode& node, const Subject& wide) {
  if (wide.part.empty()) return false;
  return (wide.kind == SubjectKind::rack && wide.part == node.rack) ||
         (wide.kind == SubjectKind::network_switch && wide.part == node.network_switch);
}

bool silence_covers(const Subject& silence, const Proposal& proposal, const PolicyInput& input) {
  if (silence.kind == SubjectKind::cluster || silence == input.verdict.subject ||
      silence == proposal.action.subject)
    return true;
  const SchedulerNode* node = input.view.node(proposal.node);
  if (node != nullptr && is_within(*node, silence)) return true;
  if (silence.kind == SubjectKind::node) return silence.node == proposal.node;
  const bool about_job = silence.kind == SubjectKind::job || silence.kind == SubjectKind::attempt;
  return about_job && proposal.action.attempt &&
         silence.attempt.job == proposal.action.attempt->job;
}

Stop not_silenced(const Proposal& proposal, const PolicyInput& input) {
  for (const auto& silence : input.history.silences) {
    if (silence.until <= input.now || !silence_covers(silence.subject, proposal, input)) continue;
    return hold(Reason::silenced, silence.subject.text() + " is silenced by " + silence.by +
                                      " until " + to_text(silence.until));
  }
  return {};
}

/// Rack and switch beat node: the single nodes are then not what is broken.
Stop not_covered(const Proposal& proposal, const PolicyInput& input) {
  if (!takes_out(proposal)) return {};
  const SchedulerNode* node = input.view.node(proposal.node);
  for (const auto& entry : input.history.entries) {
    const auto& wide = entry.action.subject;
    if (!is_within(*node, wide) || wide == input.verdict.subject ||
        input.now - entry.decided_at > input.limits.verdict_age_max)
      continue;
    return hold(Reason::covered_by_wider,
                wide.text() + " has " + entry.cause + ", which covers " + proposal.node);
  }
  return {};
}

Stop not_acted_yet(const Proposal& proposal, const PolicyInput& input) {
  const auto* entry = same_act(proposal, input.history, input.view);
  if (entry == nullptr) return {};
  const std::string state =
      entry->outcome ? std::string(to_text(entry->outcome->status)) : "on its way";
  return hold(Reason::already_acted, std::string(to_text(proposal.action.kind)) + " " +
                                         proposal.action.subject.text() + " is " + state + " as " +
                                         entry->action.id);
}

/// Who put it in repair says when it is whole: no test and no cleared verdict does.
Stop in_a_persons_repair(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::test_node, ActionKind::return_node})) return {};
  const auto state = input.view.node_states.find(proposal.node);
  if (state == input.view.node_states.end() || !state->second.in_persons_repair()) return {};
  return hold(Reason::owned_by_other, proposal.node + " is in repair by " + state->second.by +
                                          "; `faultline return` gives it back");
}

Stop own_or_free(const Proposal& proposal, const PolicyInput& input) {
  if (!on_node(proposal)) return {};
  if (auto stop = in_a_persons_repair(proposal, input)) return stop;
  const auto& node = *input.view.node(proposal.node);
  if (node.maintenance)
    return hold(Reason::owned_by_other, node.name + " is in a maintenance reservation");
  if (!node.drained || reason_is_ours(node.drain_reason)) return {};
  return hold(Reason::owned_by_other,
              node.name + " is drained by " +
                  (node.drain_owner.empty() ? "somebody else" : node.drain_owner) + ": " +
                  (node.drain_reason.empty() ? "no reason given" : node.drain_reason));
}

Stop in_service(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::drain_node})) return {};
  const auto& node = *input.view.node(proposal.node);
  if (node.drained)
    return hold(Reason::already_drained, node.name + " is drained already: " + node.drain_reason);
  const auto state = input.view.node_states.find(proposal.node);
  if (state == input.view.node_states.end()) return {};
  switch (state->second.phase) {
    case NodePhase::in_service:
    case NodePhase::suspected:
    case NodePhase::returned: return {};
    case NodePhase::testing:
      if (state->second.action.empty()) return {};  // tested without a drain
      [[fallthrough]];
    case NodePhase::drained:
    case NodePhase::in_repair:
      return hold(Reason::already_drained, node.name + " is out of service already: " +
                                               std::string(to_text(state->second.phase)) + " by " +
                                               state->second.by);
  }
  return {};
}

/// Without a drain a test must not meet a job, and nobody may have nodes tested at will.
Stop testable(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::test_node}) || follows_drain(proposal, input)) return {};
  const auto& node = *input.view.node(proposal.node);
  if (node.drained)
    return hold(Reason::already_drained, node.name + " is drained already: " + node.drain_reason);
  if (!node.idle)
    return hold(Reason::node_busy, node.name + " is not idle (" + node.state_text + ")");
  const auto* test = last_test(input.history, node.name);
  if (test == nullptr) return {};
  const Duration ago = input.now - test->decided_at;
  if (ago >= input.limits.words_test_interval_min) return {};
  return hold(Reason::tested_lately, node.name + " was tested " + to_text(ago) + " ago, limit " +
                                         to_text(input.limits.words_test_interval_min));
}

Stop restartable(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::requeue_excluding})) return {};
  const Attempt* attempt = input.view.attempt(*proposal.action.attempt);
  const std::string job = proposal.action.attempt->text();
  if (attempt == nullptr)
    return hold(Reason::not_restartable, "the scheduler does not know " + job + " (any more)");
  // The tasks of its array that come next are kept off the node all the same.
  if (can_be_requeued(*attempt) || array_meets(*attempt, proposal.node, input.view)) return {};
  if (attempt->state == AttemptState::completed || attempt->state == AttemptState::cancelled) {
    return hold(Reason::not_restartable,
                job + " has " +
                    (attempt->state == AttemptState::completed ? "completed" : "been cancelled"));
  }
  return hold(Reason::not_restartable, job + " is interactive or was submitted without requeue");
}

Stop under_rate(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::drain_node})) return {};
  const int drains = drains_since(input.history, input.now - std::chrono::hours{1});
  if (drains < input.limits.drains_per_hour_max) return {};
  return hold(Reason::rate_limited, std::to_string(drains) + " drains in the last hour, limit " +
                                        std::to_string(input.limits.drains_per_hour_max));
}

/// Many nodes with one cause within a minute share what is broken; taking them all out would be the
/// real outage.
Stop not_shared(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::drain_node, ActionKind::requeue_excluding})) return {};
  const int others = others_with_cause(input, proposal.node);
  if (others + 1 <= input.limits.same_cause_nodes_max) return {};
  return hold(Reason::blast_radius,
              std::to_string(others + 1) + " nodes with " + input.verdict.cause + " within " +
                  to_text(input.limits.same_cause_window) + ", limit " +
                  std::to_string(input.limits.same_cause_nodes_max) + ": look for what they share");
}

Stop small_blast(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::drain_node})) return {};
  const auto drained = static_cast<int>(drained_by_us(input.view, input.history).size());
  if (drained >= input.limits.drained_at_once_max) {
    return hold(Reason::blast_radius, std::to_string(drained) +
                                          " nodes are drained by faultline, limit " +
                                          std::to_string(input.limits.drained_at_once_max));
  }
  const auto total = static_cast<double>(input.view.nodes.size());
  if (drained == 0 || drained + 1 <= input.limits.drained_share_max * total) return {};
  return hold(Reason::blast_radius,
              std::to_string(drained + 1) + " of " + std::to_string(input.view.nodes.size()) +
                  " nodes would be drained by faultline, limit " +
                  std::to_string(static_cast<int>(input.limits.drained_share_max * 100)) + " %");
}

Stop capacity_left(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::drain_node})) return {};
  const int left = available_without(input.view, input.history, proposal.node);
  const auto total = static_cast<double>(input.view.nodes.size());
  if (left >= input.limits.available_share_min * total) return {};
  return hold(Reason::capacity_floor,
              std::to_string(left) + " of " + std::to_string(input.view.nodes.size()) +
                  " nodes would be left, floor " +
                  std::to_string(static_cast<int>(input.limits.available_share_min * 100)) + " %");
}

Stop spare_left(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::requeue_excluding})) return {};
  const Attempt& attempt = *input.view.attempt(*proposal.action.attempt);
  const int usable = usable_for(attempt, proposal.action.nodes, input.view);
  const auto needed = static_cast<int>(attempt.nodes.size());
  if (usable >= needed) return {};
  return hold(Reason::no_spare, attempt.id.job + " needs " + std::to_string(needed) + " nodes, " +
                                    std::to_string(usable) + " would be left for it");
}

Stop no_restart_loop(const Proposal& proposal, const PolicyInput& input) {
  if (!is(proposal, {ActionKind::requeue_excluding})) return {};
  const int requeues = requeues_since(input.history, proposal.action.attempt->job,
                                      input.now - std::chrono::hours{1});
  if (requeues < input.limits.requeues_per_job_per_hour_max) return {};
  return hold(Reason::restart_loop, proposal.action.attempt->job + " was requeued " +
                                        std::to_string(requeues) +
                                        " times in the last hour, limit " +
                                        std::to_string(input.limits.requeues_per_job_per_hour_max));
}

Stop approved(const Proposal& proposal, const PolicyInput& input) {
  if (const auto denied = input.history.denied.find(proposal.action.decision);
      denied != input.history.denied.end()) {
    return deny(Reason::denied_by_person, "denied by " + denied->second);
  }
  const auto& kinds = input.limits.approval_needed;
  const bool needed = std::find(kinds.begin(), kinds.end(), proposal.action.kind) != kinds.end();
  if (!needed || input.history.approved.contains(proposal.action.decision)) return {};
  return GuardRuling{Ruling::ask, Reason::approval_needed,
                     "approve with: faultline approve " + proposal.action.decision};
}

Stop mode_acts(const Proposal& proposal, const PolicyInput& input) {
  if (is(proposal, {ActionKind::notify})) return {};
  switch (input.mode) {
    case Mode::act: return {};
    case Mode::observe: return hold(Reason::mode_observe, "mode observe: nothing is done");
    case Mode::suggest:
      if (input.history.approved.contains(proposal.action.decision)) return {};
      return GuardRuling{
          Ruling::ask, Reason::mode_suggest,
          "mode suggest: approve with: faultline approve " + proposal.action.decision};
  }
  return {};
}

constexpr std::array ordered{
    NamedGuard{"source_trusted", source_trusted},
    NamedGuard{"right_speaker", right_speaker},
    NamedGuard{"evidence_complete", evidence_complete},
    NamedGuard{"confirmed", confirmed},
    NamedGuard{"verdict_fresh", verdict_fresh},
    NamedGuard{"nothing_else_stands", nothing_else_stands},
    NamedGuard{"not_returned_since", not_returned_since},
    NamedGuard{"settled", settled},
    NamedGuard{"view_fresh", view_fresh},
    NamedGuard{"has_target", has_target},
    NamedGuard{"node_known", node_known},
    NamedGuard{"not_silenced", not_silenced},
    NamedGuard{"not_covered", not_covered},
    NamedGuard{"not_acted_yet", not_acted_yet},
    NamedGuard{"own_or_free", own_or_free},
    NamedGuard{"in_service", in_service},
    NamedGuard{"testable", testable},
    NamedGuard{"restartable", restartable},
    NamedGuard{"under_rate", under_rate},
    NamedGuard{"not_shared", not_shared},
    NamedGuard{"small_blast", small_blast},
    NamedGuard{"capacity_left", capacity_left},
    NamedGuard{"spare_left", spare_left},
    NamedGuard{"no_restart_loop", no_restart_loop},
    NamedGuard{"approved", approved},
    NamedGuard{"mode_acts", mode_acts},
};

}  // namespace

std::span<const NamedGuard> guards() { return ordered; }

}  // namespace faultline
