// What a job says of its own hardware, and what follows a drain.
#include "policy/words.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "policy/policy_scenario.h"

namespace faultline {
namespace {

const std::string act = "all_guards_passed";

struct Row {
  const char* name;
  std::function<void(Scenario&)> change;
  std::string requeue, test, notify;
};

/// What is decided about the requeue, the test and the notice when one thing is different.
const std::vector<Row> what_they_lack = {
    {"as they are", [](Scenario&) {}, act, act, act},
    {"the launcher says it, too",
     [](Scenario& s) { s.verdict.witnesses.push_back(EventSource::launcher); }, act, act, act},
    {"just sure enough", [](Scenario& s) { s.verdict.confidence = 0.65; }, act, act, act},
    {"not sure enough", [](Scenario& s) { s.verdict.confidence = 0.6499; }, "not_confirmed",
     "not_confirmed", "not_confirmed"},
    {"the attempt runs on", [](Scenario& s) { s.view.attempts[0].state = AttemptState::running; },
     "not_confirmed", "not_confirmed", "not_confirmed"},
    {"the attempt has completed",
     [](Scenario& s) { s.view.attempts[0].state = AttemptState::completed; }, "none",
     "not_confirmed", "not_confirmed"},
    {"the attempt was cancelled",
     [](Scenario& s) { s.view.attempts[0].state = AttemptState::cancelled; }, "none",
     "not_confirmed", "not_confirmed"},
    {"an attempt that nobody knows",
     [](Scenario& s) {
       s.verdict.attempt = AttemptId{"8", 0};
     },
     "not_confirmed", "not_confirmed", "not_confirmed"},
    {"no attempt", [](Scenario& s) { s.verdict.attempt.reset(); }, "none", "source_untrusted",
     "not_confirmed"},
    {"a node outside the attempt",
     [](Scenario& s) { s.verdict.subject = Subject::of_gpu("n9", "0000:3b:00.0"); },
     "source_untrusted", "source_untrusted", "not_confirmed"},
    {"a hang", [](Scenario& s) { s.verdict.cause = "unknown.no_progress"; }, "none", "none",
     "not_confirmed"},
    {"the user's own error", [](Scenario& s) { s.verdict.cause = "software.user_exception"; },
     "none", "none", "not_confirmed"},
    {"too little host memory", [](Scenario& s) { s.verdict.cause = "env.out_of_memory_cgroup"; },
     "none", "none", "not_confirmed"},
    {"nobody knows", [](Scenario& s) { s.verdict.cause = "unknown.sigkill"; }, "none", "none",
     "not_confirmed"},
    {"hardware, but the node may stay", [](Scenario& s) { s.verdict.cause = "gpu.ecc_contained"; },
     "not_confirmed", "none", "not_confirmed"},
    {"the kernel suspects it, too",
     [](Scenario& s) { s.verdict.witnesses.push_back(EventSource::kernel_log); }, "not_confirmed",
     "none", "not_confirmed"},
    {"an agent suspects it", [](Scenario& s) { s.verdict.witnesses = {EventSource::agent}; },
     "not_confirmed", "none", "not_confirmed"},
    {"unknown", [](Scenario& s) { s.verdict.status = VerdictStatus::unknown; },
     "evidence_incomplete", "none", "evidence_incomplete"},
};

const std::vector<Row> where_the_node_stands = {
    {"no test is configured", [](Scenario& s) { s.tests = {}; }, act, "none", act},
    {"a job runs on the node", [](Scenario& s) { s.node("n3").idle = false; }, act, "node_busy",
     act},
    {"another owner has drained it",
     [](Scenario& s) {
       s.node("n3").drained = true;
       s.node("n3").drain_reason = "fan broken";
     },
     act, "owned_by_other", act},
    {"faultline has drained it for something else",
     [](Scenario& s) {
       s.node("n3").drained = true;
       s.node("n3").drain_reason = "faultline:a-1 gpu.other";
     },
     act, "already_drained", act},
    {"an agent speaks of another node", [](Scenario& s) { s.verdict.reporters = {"n9"}; }, act,
     "wrong_speaker", act},
};

void try_rows(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Scenario s = words();
    row.change(s);
    EXPECT_EQ(decided(s, ActionKind::requeue_excluding), row.requeue);
    EXPECT_EQ(decided(s, ActionKind::test_node), row.test);
    EXPECT_EQ(decided(s, ActionKind::notify), row.notify);
    EXPECT_NE(decided(s, ActionKind::drain_node), act);
    EXPECT_NE(decided(s, ActionKind::return_node), act);
  }
}

TEST(Words, ExcludeANodeFromTheirOwnJobAndNothingElse) { try_rows(what_they_lack); }

TEST(Words, HaveANodeTestedThatNobodyUses) { try_rows(where_the_node_stands); }

TEST(Words, SayThatTheNodeStaysInServiceWhereNoTestIsConfigured) {
  const auto detail = [](const Scenario& s) {
    for (const auto& decision : decide(s.input())) {
      if (decision.action.kind == ActionKind::requeue_excluding) return decision.detail;
    }
    return std::string{};
  };
  Scenario s = words();
  EXPECT_EQ(detail(s), "all guards passed");
  s.tests = {};
  EXPECT_NE(detail(s).find("no node test is configured: n3 stays in service"), std::string::npos)
      << detail(s);
}

TEST(Words, WaitUntilNothingWasAddedForTheLatenessBound) {
  Scenario s = words();
  s.verdict.updated_at = now - s.limits.lateness;
  EXPECT_EQ(decided(s, ActionKind::requeue_excluding), "all_guards_passed");
  s.verdict.updated_at += Duration{1};
  EXPECT_EQ(decided(s, ActionKind::requeue_excluding), "not_settled");
}

TEST(Words, HaveANodeTestedOnceInAWhile) {
  Scenario s = words();
  s.add_entry(ActionKind::test_node, Subject::of_node("n3"), "gpu.other",
              s.limits.words_test_interval_min, OutcomeStatus::done);
  EXPECT_EQ(decided(s, ActionKind::test_node), "all_guards_passed");
  s.history.entries.back().decided_at += Duration{1};
  EXPECT_EQ(decided(s, ActionKind::test_node), "tested_lately");
  s.history.entries.back().action.subject = Subject::of_node("n4");
  EXPECT_EQ(decided(s, ActionKind::test_node), "all_guards_passed") << "another node's test";
}

TEST(Words, ATestInServiceDoesNotKeepADrainAway) {
  Scenario s;
  s.view.node_states["n3"] = {"n3", NodePhase::testing, now, "faultline", "", "", {}, ""};
  EXPECT_EQ(decided(s, ActionKind::drain_node), "all_guards_passed");
  s.view.node_states["n3"].action = "a-1";
  EXPECT_EQ(decided(s, ActionKind::drain_node), "already_drained") << "the test of a drained node";
}

void test_ended(Scenario& s, OutcomeStatus status) {
  for (const auto& decision : decide(s.input())) {
    if (decision.action.kind != ActionKind::test_node) continue;
    s.history.entries.push_back({decision.action, now - minutes{1},
                                 Outcome{decision.action.id, status, now, "", {}, false},
                                 s.verdict.cause});
    return;
  }
  ADD_FAILURE() << "no test was proposed";
}

TEST(AfterDrain, TheNodeIsTestedAndIfItPassedReturned) {
  Scenario s = drained();
  EXPECT_EQ(decided(s, ActionKind::test_node), "all_guards_passed");
  EXPECT_EQ(decided(s, ActionKind::return_node), "none");
  test_ended(s, OutcomeStatus::done);
  EXPECT_EQ(decided(s, ActionKind::test_node), "already_acted");
  const auto decisions = decide(s.input());
  EXPECT_EQ(decisions.back().action.kind, ActionKind::return_node);
  EXPECT_EQ(decisions.back().ruling, Ruling::act) << decisions.back().detail;
  EXPECT_EQ(decisions.back().action.reason, s.node("n3").drain_reason);
}

TEST(AfterDrain, ATestWithoutAPassReturnsNothing) {
  for (const auto status : {OutcomeStatus::failed, OutcomeStatus::unknown}) {
    Scenario s = drained();
    test_ended(s, status);
    EXPECT_EQ(decided(s, ActionKind::return_node), "none") << to_text(status);
  }
}

TEST(AfterDrain, OnlyWhatTheSiteWantsAndOnlyForThisVerdictsDrain) {
  Scenario s = drained();
  s.tests.return_passed = false;
  test_ended(s, OutcomeStatus::done);
  EXPECT_EQ(decided(s, ActionKind::return_node), "none");
  s.tests.after_drain = false;
  EXPECT_EQ(decided(s, ActionKind::test_node), "none");
  s.tests = {false, true, true};
  EXPECT_EQ(decided(s, ActionKind::test_node), "none") << "there is no command";
  Scenario other = drained();
  other.node("n3").drain_reason = "fan broken";
  EXPECT_EQ(decided(other, ActionKind::test_node), "none");
  other.node("n3").drain_reason = "faultline:a-1 gpu.other";
  EXPECT_EQ(decided(other, ActionKind::test_node), "none");
}

TEST(AfterDrain, GoesThroughTheGuards) {
  Scenario s = drained();
  s.mode = Mode::observe;
  EXPECT_EQ(decided(s, ActionKind::test_node), "mode_observe");
  s = drained();
  s.limits.approval_needed = {ActionKind::test_node, ActionKind::return_node};
  EXPECT_EQ(decided(s, ActionKind::test_node), "approval_needed");
  test_ended(s, OutcomeStatus::done);
  EXPECT_EQ(decided(s, ActionKind::return_node), "approval_needed");
  s = drained();
  s.node("n3").maintenance = true;
  EXPECT_EQ(decided(s, ActionKind::test_node), "owned_by_other");
  s = drained();
  silence(s);
  EXPECT_EQ(decided(s, ActionKind::test_node), "silenced");
  s = drained();
  s.view.taken_at = now - minutes{5};
  EXPECT_EQ(decided(s, ActionKind::test_node), "view_stale");
}

TEST(AfterDrain, APassBeforeTheDrainDoesNotCount) {
  Scenario s = words();
  test_ended(s, OutcomeStatus::done);
  const auto before = s.history;
  s = drained();
  s.history = before;
  EXPECT_EQ(decided(s, ActionKind::return_node), "none");
  EXPECT_NE(decided(s, ActionKind::test_node), "none") << "it is tested again";
}

}  // namespace
}  // namespace faultline
