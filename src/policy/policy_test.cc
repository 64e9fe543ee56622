// What must hold of the decisions whatever guard ruled.
#include "policy/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "policy/policy_scenario.h"
#include "policy/proposal.h"

namespace faultline {
namespace {

Reason reason_of(const Scenario& scenario, ActionKind kind) {
  for (const auto& decision : decide(scenario.input())) {
    if (decision.action.kind == kind) return decision.reason;
  }
  ADD_FAILURE() << "no proposal of " << to_text(kind);
  return Reason::evidence_incomplete;
}
Reason drain_reason(const Scenario& scenario) {
  return reason_of(scenario, ActionKind::drain_node);
}
Reason requeue_reason(const Scenario& scenario) {
  return reason_of(scenario, ActionKind::requeue_excluding);
}

TEST(PolicyDetails, SayThatTheAttemptItselfCannotBeRequeued) {
  Scenario s;
  s.view.attempts[0].array_job = "70";
  Attempt waits;
  waits.id = {"70", 0};
  waits.array_job = "70";
  waits.state = AttemptState::pending;
  s.view.attempts.push_back(waits);
  const auto detail = [&] {
    for (const auto& decision : decide(s.input())) {
      if (decision.action.kind == ActionKind::requeue_excluding) return decision.detail;
    }
    return std::string("none");
  };
  EXPECT_EQ(detail(), "all guards passed");
  s.view.attempts[0].restartable = false;
  EXPECT_EQ(detail(),
            "all guards passed; 7#0 itself cannot be requeued, its array goes on without n3");
}

TEST(Policy, ARequeueNamesTheHealthyNodesThatTheAttemptHad) {
  Scenario s;
  const auto keep = [&] {
    for (const auto& decision : decide(s.input())) {
      if (decision.action.kind == ActionKind::requeue_excluding) return decision.action.keep;
    }
    return std::vector<std::string>{"no requeue"};
  };
  const std::vector<std::string> healthy{"n1", "n2", "n4"};
  EXPECT_EQ(keep(), healthy);
  s.node("n2").available = false;
  const std::vector<std::string> left{"n1", "n4"};
  EXPECT_EQ(keep(), left) << "n2 is out of service too";
  s.view.nodes.erase("n1");
  EXPECT_EQ(keep(), std::vector<std::string>{"n4"}) << "the scheduler does not know n1";
  s.view.attempts.clear();
  EXPECT_TRUE(keep().empty()) << "nobody knows where it ran";
}

TEST(Policy, FiftyNodesWithOneCauseInAMinuteAreNotDrained) {
  Scenario s;
  s.view.nodes.clear();
  for (int i = 1; i <= 1000; ++i) {
    SchedulerNode node;
    node.name = "n" + std::to_string(i);
    node.available = true;
    s.view.nodes.emplace(node.name, node);
  }
  s.verdict.attempt.reset();
  s.view.attempts.clear();
  int drained = 0;
  for (int i = 1; i <= 50; ++i) {
    const std::string node = "n" + std::to_string(i);
    s.verdict.id = "v-" + std::to_string(i);
    s.verdict.subject = Subject::of_gpu(node, "0000:3b:00.0");
    s.verdict.reporters = {node};
    for (const auto& decision : decide(s.input())) {
      if (decision.action.kind != ActionKind::drain_node) continue;
      if (decision.ruling != Ruling::act) {
        EXPECT_EQ(decision.reason, Reason::blast_radius) << decision.detail;
        continue;
      }
      ++drained;
      s.history.entries.push_back({decision.action, now, {}, s.verdict.cause});
    }
  }
  EXPECT_EQ(drained, s.limits.same_cause_nodes_max);
}

TEST(Policy, OfFiftyNodesKnownAtOnceNoneIsDrained) {
  Scenario s;
  for (int i = 1; i <= 50; ++i) s.same_cause.push_back({now, "n" + std::to_string(i)});
  EXPECT_EQ(drain_reason(s), Reason::blast_radius);
  EXPECT_EQ(requeue_reason(s), Reason::blast_radius);
  s.same_cause.resize(3);  // n1, n2 and n3 itself
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.same_cause.push_back({now, "n4"});
  EXPECT_EQ(drain_reason(s), Reason::blast_radius);
  s.same_cause.pop_back();
  s.add_entry(ActionKind::drain_node, Subject::of_node("n2"), s.verdict.cause, seconds{20},
              OutcomeStatus::done);
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "a node counts once";
  s.history.entries.back().action.subject = Subject::of_node("n5");
  EXPECT_EQ(drain_reason(s), Reason::blast_radius) << "drained, and its verdict is closed";
}

TEST(Policy, OnlyOneRulingOfFourMakesARealAction) {
  for (const auto mode : {Mode::observe, Mode::suggest, Mode::act}) {
    Scenario s;
    s.mode = mode;
    for (const auto& decision : decide(s.input())) {
      EXPECT_EQ(decision.action.dry_run, decision.ruling != Ruling::act);
      const bool tells = decision.action.kind == ActionKind::notify;
      EXPECT_TRUE(mode == Mode::act || tells || decision.ruling != Ruling::act);
    }
  }
}

TEST(Policy, AnActIsCarriedOutOnceWhateverCameOfIt) {
  Scenario s;
  s.add_entry(ActionKind::drain_node, Subject::of_node("n3"), "gpu.other", minutes{2},
              OutcomeStatus::failed);
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed)
      << "another verdict's drain failed: this one may try";
  s.history.entries.back().action.id = drain_id();
  EXPECT_EQ(drain_reason(s), Reason::already_acted)
      << "the journal would not carry the same id out again";
}

TEST(Policy, AReturnedNodeMayBeDrainedForANewFault) {
  Scenario s;
  s.add_entry(ActionKind::drain_node, Subject::of_node("n3"), "gpu.other", minutes{2},
              OutcomeStatus::done);
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed)
      << "the view is newer and shows it in service";
  s.view.taken_at = now - minutes{3};
  s.limits.view_age_max = minutes{5};
  EXPECT_EQ(drain_reason(s), Reason::already_acted) << "the view is older than the drain";
}

TEST(Policy, ASecondBadNodeOfTheSameAttemptIsExcludedToo) {
  Scenario s;
  s.add_entry(ActionKind::requeue_excluding, Subject::of_job("7"), "gpu.other", minutes{2},
              std::nullopt);
  s.history.entries.back().action.attempt = AttemptId{"7", 0};
  s.history.entries.back().action.nodes = {"n4"};
  EXPECT_EQ(requeue_reason(s), Reason::all_guards_passed);
  s.history.entries.back().action.nodes = {"n4", "n3"};
  EXPECT_EQ(requeue_reason(s), Reason::already_acted);
}

TEST(Policy, SameInputSameDecisions) {
  const Scenario s;
  const auto first = decide(s.input());
  EXPECT_EQ(first, decide(s.input()));
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].action.kind, ActionKind::drain_node);
  EXPECT_EQ(first[1].action.kind, ActionKind::requeue_excluding);
  EXPECT_EQ(first[0].action.reason, "faultline:" + first[0].action.id + " gpu.ecc_uncorrectable");
  EXPECT_TRUE(reason_is_ours(first[0].action.reason));
}

TEST(Policy, ASuggestionThatAPersonApprovedIsCarriedOut) {
  Scenario s;
  s.mode = Mode::suggest;
  const auto asked = decide(s.input()).front();
  EXPECT_EQ(asked.ruling, Ruling::ask);
  s.history.approved[asked.id] = "alice";
  EXPECT_EQ(decide(s.input()).front().ruling, Ruling::act);
  s.mode = Mode::observe;
  EXPECT_EQ(decide(s.input()).front().ruling, Ruling::hold);
}

TEST(Policy, RequeueIsDueWhenTheAttemptFailedOrTheFaultIsFatalToIt) {
  Cause cause;
  Attempt attempt;
  for (const auto severity :
       {Severity::info, Severity::warning, Severity::error, Severity::critical, Severity::fatal}) {
    cause.severity = severity;
    attempt.state = AttemptState::running;
    EXPECT_EQ(requeue_is_due(attempt, cause), severity >= Severity::critical) << to_text(severity);
    attempt.state = AttemptState::failed;
    EXPECT_TRUE(requeue_is_due(attempt, cause));
    attempt.state = AttemptState::pending;
    EXPECT_FALSE(requeue_is_due(attempt, cause));
    for (const auto state :
         {AttemptState::completed, AttemptState::cancelled, AttemptState::timeout,
          AttemptState::preempted, AttemptState::completing}) {
      attempt.state = state;
      EXPECT_FALSE(requeue_is_due(attempt, cause)) << to_text(state);
    }
  }
}

TEST(Policy, AFaultThatShowsAfterAJobsEndDoesNotRequeueIt) {
  const auto requeues = [](const Scenario& s) {
    const auto decisions = decide(s.input());
    return std::any_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
      return decision.action.kind == ActionKind::requeue_excluding;
    });
  };
  Scenario s;
  s.view.attempts[0].ended_at = s.verdict.since - seconds{10};
  EXPECT_TRUE(requeues(s)) << "within what clocks differ";
  s.view.attempts[0].ended_at = s.verdict.since - seconds{11};
  EXPECT_FALSE(requeues(s));
  EXPECT_EQ(decide(s.input()).front().action.kind, ActionKind::drain_node)
      << "the node is broken all the same";
}

TEST(Policy, ReturnsOnlyWhatItsOwnDrainTookOut) {
  Scenario s;
  s.verdict.status = VerdictStatus::cleared;
  EXPECT_TRUE(decide(s.input()).empty()) << "not drained";
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "fan broken";
  EXPECT_TRUE(decide(s.input()).empty()) << "an operator's drain";
  s.node("n3").drain_reason = "faultline:a-ffffffffffffffff gpu.other";
  EXPECT_TRUE(decide(s.input()).empty()) << "another verdict's drain";
  s.node("n3").drain_reason = "faultline:" + drain_id() + " gpu.ecc_uncorrectable";
  const auto decisions = decide(s.input());
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].action.kind, ActionKind::return_node);
  EXPECT_EQ(decisions[0].ruling, Ruling::act) << decisions[0].detail;
  EXPECT_EQ(decisions[0].action.reason, s.node("n3").drain_reason);
  s.node("n3").maintenance = true;
  EXPECT_EQ(decide(s.input())[0].reason, Reason::owned_by_other);
}

TEST(Policy, ANodeThatAnotherFaultSpeaksAgainstIsNotReturned) {
  Scenario s;
  s.other_fault = "v-0000000000000002";
  EXPECT_EQ(decide(s.input())[0].ruling, Ruling::act) << "it is drained all the same";
  s.verdict.status = VerdictStatus::cleared;
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "faultline:" + drain_id() + " gpu.ecc_uncorrectable";
  EXPECT_EQ(decide(s.input())[0].reason, Reason::fault_stands);
  EXPECT_EQ(decide_return("n3", "ann", s.view, s.history, s.limits, Mode::act, now).reason,
            Reason::all_guards_passed)
      << "a person does";
}

TEST(Policy, ANodeInAPersonsRepairIsNeitherTestedNorReturned) {
  Scenario s;
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "faultline:" + drain_id() + " gpu.ecc_uncorrectable";
  s.tests.configured = s.tests.after_drain = true;
  const auto ruling_of = [&](ActionKind kind) {
    for (const auto& decision : decide(s.input()))
      if (decision.action.kind == kind) return decision.reason;
    return Reason::node_unknown;
  };
  // By faultline itself, after a failed test: a new test or a cleared verdict is news.
  s.view.node_states["n3"] = {"n3", NodePhase::in_repair, now, "faultline", "", "", {}, ""};
  EXPECT_EQ(ruling_of(ActionKind::test_node), Reason::all_guards_passed);
  s.view.node_states["n3"].by = "ann(1000)";
  EXPECT_EQ(ruling_of(ActionKind::test_node), Reason::owned_by_other);
  s.verdict.status = VerdictStatus::cleared;
  EXPECT_EQ(ruling_of(ActionKind::return_node), Reason::owned_by_other);
  EXPECT_EQ(decide_return("n3", "ann", s.view, s.history, s.limits, Mode::act, now).reason,
            Reason::all_guards_passed)
      << "a person does";
  s.view.node_states["n3"].by = "faultline";
  EXPECT_EQ(ruling_of(ActionKind::return_node), Reason::all_guards_passed);
}

TEST(ReturnedSince, AFaultAfterTheReturnIsANewOneAndOtherNodesAreNotConcerned) {
  Scenario s;
  s.clean_since["n3"] = s.verdict.since - seconds{1};
  s.clean_since["n4"] = now;
  for (const auto& decision : decide(s.input()))
    EXPECT_EQ(decision.ruling, Ruling::act) << decision.guard;
}

TEST(ReturnedSince, TheSameMomentIsBefore) {
  Scenario s;
  s.clean_since["n3"] = s.verdict.since;
  EXPECT_EQ(decide(s.input())[0].reason, Reason::returned_since);
}

TEST(ReturnedSince, PeopleAreStillTold) {
  Scenario s;
  s.clean_since["n3"] = now;
  for (const auto& decision : decide(s.input())) {
    const bool told = decision.action.kind == ActionKind::notify;
    EXPECT_EQ(decision.reason, told ? Reason::all_guards_passed : Reason::returned_since);
  }
}

TEST(UnderRate, ADrainThatWillBeTriedAgainCountsAndOneThatFailedForGoodDoesNot) {
  for (const bool retryable : {true, false}) {
    Scenario s;
    for (int i = 0; i < s.limits.drains_per_hour_max; ++i) {
      s.add_entry(ActionKind::drain_node, Subject::of_node("old" + std::to_string(i)), "gpu.other",
                  minutes{30}, OutcomeStatus::failed);
      s.history.entries.back().outcome->retryable = retryable;
    }
    EXPECT_EQ(decide(s.input())[0].reason,
              retryable ? Reason::rate_limited : Reason::all_guards_passed);
  }
}

TEST(DecideReturn, AsksTheSameQuestions) {
  Scenario s;
  const auto reason = [&](const std::string& node, Mode mode = Mode::act) {
    return decide_return(node, "alice", s.view, s.history, s.limits, mode, now).reason;
  };
  EXPECT_EQ(reason("n99"), Reason::node_unknown);
  EXPECT_EQ(reason("n3"), Reason::already_acted);
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "fan broken";
  EXPECT_EQ(reason("n3"), Reason::owned_by_other);
  s.node("n3").drain_reason = "faultline:a-1 x";
  EXPECT_EQ(reason("n3"), Reason::all_guards_passed);
  EXPECT_EQ(reason("n3", Mode::observe), Reason::mode_observe);
  EXPECT_EQ(reason("n3", Mode::suggest), Reason::mode_suggest);
  const auto decision = decide_return("n3", "alice", s.view, s.history, s.limits, Mode::act, now);
  EXPECT_EQ(decision.action.reason, "faultline:a-1 x");
  EXPECT_NE(decision.detail.find("alice"), std::string::npos);
  s.history.entries.push_back({decision.action, now, {}, ""});
  EXPECT_EQ(
      decide_return("n3", "bob", s.view, s.history, s.limits, Mode::act, now + seconds{1}).reason,
      Reason::already_acted);
  s.view.taken_at = now - hours{1};
  EXPECT_EQ(reason("n3"), Reason::view_stale);
}

TEST(DecideReturn, WhoAskedIsKeptWhateverTheNameIs) {
  Scenario s;
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "faultline:a-1 x";
  auto asked = decide_return("n3", "ops: bob", s.view, s.history, s.limits, Mode::suggest, now);
  s.history.approved[asked.id] = "eve";
  const auto detail = [&] {
    return decide_asked_return(asked, s.view, s.history, s.limits, Mode::suggest, now).detail;
  };
  EXPECT_EQ(detail(), "asked for by ops: bob, approved by eve");
  for (const char* saw : {"", "{}", "[]", "{\"asked_by\": 1}"}) {  // of an older program
    asked.saw = saw;
    EXPECT_EQ(detail(), "asked for by a person, approved by eve") << saw;
  }
}

TEST(DecideReturn, WhatAskedIsRuledOnByItsAnswer) {
  Scenario s;
  s.node("n3").drained = true;
  s.node("n3").drain_reason = "faultline:a-1 x";
  const auto asked = decide_return("n3", "alice", s.view, s.history, s.limits, Mode::suggest, now);
  ASSERT_EQ(asked.ruling, Ruling::ask);
  EXPECT_NE(asked.detail.find("faultline approve " + asked.id), std::string::npos);
  const auto again = [&] {
    return decide_asked_return(asked, s.view, s.history, s.limits, Mode::suggest, now + seconds{5});
  };
  EXPECT_EQ(again().ruling, Ruling::ask) << "nobody has answered";
  s.history.approved["d-other"] = "bob";
  EXPECT_EQ(again().ruling, Ruling::ask) << "the answer is another's";
  s.history.approved[asked.id] = "bob";
  const auto approved = again();
  EXPECT_EQ(approved.ruling, Ruling::act);
  EXPECT_FALSE(approved.action.dry_run);
  EXPECT_EQ(approved.id, asked.id);
  EXPECT_EQ(approved.action.id, asked.action.id);
  EXPECT_EQ(approved.detail, "asked for by alice, approved by bob");
  s.node("n3").drain_reason = "fan broken";
  EXPECT_EQ(again().reason, Reason::owned_by_other) << "somebody else's drain since";
  s.history.denied[asked.id] = "eve";
  EXPECT_EQ(again().reason, Reason::denied_by_person);
}

}  // namespace
}  // namespace faultline
