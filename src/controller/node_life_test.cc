#include "controller/node_life.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::seconds;
const Instant t0{seconds{1000}};

Verdict verdict_on(const std::string& node, VerdictStatus status) {
  Verdict verdict;
  verdict.id = "v-1";
  verdict.cause = "gpu.fell_off_bus";
  verdict.subject = Subject::of_gpu(node, "0000:3b:00.0");
  verdict.status = status;
  return verdict;
}

Decision decision_for(ActionKind kind) {
  Decision decision;
  decision.verdict = "v-1";
  decision.action.id = "a-1";
  decision.action.kind = kind;
  decision.action.subject = Subject::of_node("n3");
  decision.action.dry_run = false;
  return decision;
}

Outcome outcome(OutcomeStatus status) { return {"a-1", status, t0, "seen", {}, false}; }

NodeStates in_phase(NodePhase phase) {
  NodeState state;
  state.node = "n3";
  state.phase = phase;
  state.since = t0;
  state.verdict = "v-1";
  return {{"n3", state}};
}

TEST(NodeLife, AFaultSuspectsTheNodeAndClearingItPutsItBack) {
  const auto suspected = after_verdict({}, verdict_on("n3", VerdictStatus::confirmed), t0);
  ASSERT_TRUE(suspected);
  EXPECT_EQ(suspected->phase, NodePhase::suspected);
  const NodeStates states{{"n3", *suspected}};
  EXPECT_EQ(after_verdict(states, verdict_on("n3", VerdictStatus::cleared), t0)->phase,
            NodePhase::in_service);
}

TEST(NodeLife, AnUnknownVerdictOrOneAboutAJobLeavesTheNodeAlone) {
  EXPECT_FALSE(after_verdict({}, verdict_on("n3", VerdictStatus::unknown), t0));
  Verdict job = verdict_on("n3", VerdictStatus::confirmed);
  job.subject = Subject::of_rank({"7", 0}, 3, "n3");
  EXPECT_FALSE(after_verdict({}, job, t0));
}

TEST(NodeLife, AnotherVerdictsClearingDoesNotTakeBackASuspicion) {
  auto states = in_phase(NodePhase::suspected);
  states["n3"].verdict = "v-other";
  EXPECT_FALSE(after_verdict(states, verdict_on("n3", VerdictStatus::cleared), t0));
}

TEST(NodeLife, OnlyADrainThatHappenedDrains) {
  const auto states = in_phase(NodePhase::suspected);
  EXPECT_EQ(
      after_outcome(states, decision_for(ActionKind::drain_node), outcome(OutcomeStatus::done))
          ->phase,
      NodePhase::drained);
  EXPECT_FALSE(
      after_outcome(states, decision_for(ActionKind::drain_node), outcome(OutcomeStatus::failed)));
  EXPECT_FALSE(
      after_outcome(states, decision_for(ActionKind::drain_node), outcome(OutcomeStatus::unknown)));
  Decision dry = decision_for(ActionKind::drain_node);
  dry.action.dry_run = true;
  EXPECT_FALSE(after_outcome(states, dry, outcome(OutcomeStatus::done)));
}

std::optional<NodeState> after_test(const NodeStates& states, OutcomeStatus status,
                                    bool retryable = false) {
  Outcome result = outcome(status);
  result.retryable = retryable;
  return after_outcome(states, decision_for(ActionKind::test_node), result);
}

TEST(NodeLife, ADrainedNodeStaysOutAfterItsTestOrGoesToRepair) {
  auto states = in_phase(NodePhase::testing);
  states["n3"].action = "a-drain";
  EXPECT_EQ(after_test(states, OutcomeStatus::failed)->phase, NodePhase::in_repair);
  const auto passed = after_test(states, OutcomeStatus::done);
  EXPECT_EQ(passed->phase, NodePhase::drained);
  EXPECT_EQ(passed->action, "a-drain") << "the drain is what took it out";
  EXPECT_EQ(after_test(states, OutcomeStatus::unknown)->phase, NodePhase::drained);
}

TEST(NodeLife, ASuspectedNodeIsInServiceAgainAfterItsTestOrStaysSuspected) {
  const auto states = in_phase(NodePhase::testing);
  EXPECT_EQ(after_test(states, OutcomeStatus::done)->phase, NodePhase::in_service);
  EXPECT_EQ(after_test(states, OutcomeStatus::failed)->phase, NodePhase::suspected);
  EXPECT_EQ(after_test(states, OutcomeStatus::unknown)->phase, NodePhase::suspected);
}

TEST(NodeLife, ATestThatIsStillOpenOrComesLateMovesNothing) {
  EXPECT_FALSE(after_test(in_phase(NodePhase::testing), OutcomeStatus::failed, true));
  for (const auto phase : {NodePhase::returned, NodePhase::drained, NodePhase::in_service}) {
    EXPECT_FALSE(after_test(in_phase(phase), OutcomeStatus::done)) << to_text(phase);
    EXPECT_FALSE(after_test(in_phase(phase), OutcomeStatus::failed)) << to_text(phase);
  }
}

TEST(NodeLife, ATestBeginsOnADrainedOrSuspectedNode) {
  EXPECT_EQ(before_test(in_phase(NodePhase::drained), "n3", t0)->phase, NodePhase::testing);
  EXPECT_EQ(before_test(in_phase(NodePhase::suspected), "n3", t0)->phase, NodePhase::testing);
  EXPECT_FALSE(before_test({}, "n3", t0));
}

TEST(NodeLife, ANewSuspicionForgetsTheEarlierDrain) {
  auto states = in_phase(NodePhase::returned);
  states["n3"].action = "a-drain";
  EXPECT_EQ(after_verdict(states, verdict_on("n3", VerdictStatus::suspected), t0)->action, "");
}

TEST(NodeLife, AnOldViewDoesNotUndoADrain) {
  SchedulerNode node;
  node.name = "n3";
  node.available = true;
  const NodeState drained = in_phase(NodePhase::drained)["n3"];
  EXPECT_FALSE(after_view(drained, node, t0 + seconds{9}));
  const auto back = after_view(drained, node, t0 + seconds{10});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->phase, NodePhase::returned);
  EXPECT_EQ(back->by, "scheduler");
}

TEST(NodeLife, ANodeInRepairThatSomebodyResumesIsReturned) {
  NodeState repair;
  repair.node = "n3";
  repair.phase = NodePhase::in_repair;
  repair.since = t0;
  SchedulerNode node;
  node.name = "n3";
  EXPECT_FALSE(after_view(repair, node, t0 + seconds{60})) << "still out of service";
  node.available = true;
  const auto back = after_view(repair, node, t0 + seconds{60});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->phase, NodePhase::returned);
}

SchedulerNode seen(bool available) {
  SchedulerNode node;
  node.name = "n3";
  node.available = available;
  return node;
}

TEST(NodeLife, APersonPutsWhatIsOutOfServiceInRepair) {
  for (const auto phase : {NodePhase::drained, NodePhase::suspected, NodePhase::in_service}) {
    auto states = in_phase(phase);
    states["n3"].note = "gpu.fell_off_bus";
    const auto repair = into_repair(states, seen(false), "", "ann(1000)", t0 + seconds{5});
    ASSERT_TRUE(repair) << to_text(phase);
    EXPECT_EQ(repair->phase, NodePhase::in_repair);
    EXPECT_EQ(repair->by, "ann(1000)");
    EXPECT_EQ(repair->since, t0 + seconds{5});
    EXPECT_EQ(repair->verdict, "v-1");
    EXPECT_EQ(repair->note, "gpu.fell_off_bus") << "no note takes none away";
  }
  // Ours, though the view may not show it yet.
  EXPECT_TRUE(into_repair(in_phase(NodePhase::drained), seen(true), "", "ann(1000)", t0));
}

TEST(NodeLife, WhatJobsMayGetOrIsBeingTestedIsNotInRepair) {
  for (const auto phase : {NodePhase::suspected, NodePhase::in_service, NodePhase::returned}) {
    const auto refused = into_repair(in_phase(phase), seen(true), "", "ann(1000)", t0);
    ASSERT_FALSE(refused) << to_text(phase);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    EXPECT_NE(refused.error().message.find("drain it first"), std::string::npos);
  }
  const auto tested = into_repair(in_phase(NodePhase::testing), seen(false), "", "ann(1000)", t0);
  ASSERT_FALSE(tested);
  EXPECT_NE(tested.error().message.find("ask again after the test"), std::string::npos);
}

TEST(NodeLife, ARepairThatIsAskedForAgainChangesItsNoteAlone) {
  NodeState state =
      into_repair(in_phase(NodePhase::drained), seen(false), "RMA 1", "ann(1000)", t0).value();
  const auto same = into_repair({{"n3", state}}, seen(false), "", "bob(1001)", t0 + seconds{60});
  EXPECT_EQ(same.value(), state);
  state.note = "RMA 2";
  EXPECT_EQ(
      into_repair({{"n3", state}}, seen(false), "RMA 2", "bob(1001)", t0 + seconds{60}).value(),
      state);
}

TEST(NodeLife, ARepairThatAFailedTestBeganBecomesThePersonsWhoAsksForIt) {
  auto states = in_phase(NodePhase::in_repair);
  states["n3"].by = "faultline";
  ASSERT_FALSE(states["n3"].in_persons_repair());
  const auto repair = into_repair(states, seen(false), "RMA 1", "ann(1000)", t0 + seconds{5});
  ASSERT_TRUE(repair);
  EXPECT_TRUE(repair->in_persons_repair());
  EXPECT_EQ(repair->by, "ann(1000)");
  EXPECT_EQ(repair->since, t0 + seconds{5});
  EXPECT_EQ(repair->note, "RMA 1");
}

TEST(NodeLife, ATestInLineDoesNotTakeANodeOutOfAPersonsRepair) {
  auto states = in_phase(NodePhase::in_repair);
  states["n3"].by = "ann(1000)";
  EXPECT_FALSE(before_test(states, "n3", t0));
  EXPECT_FALSE(after_test(states, OutcomeStatus::done)) << "and its result moves nothing";
  states["n3"].by = "faultline";
  EXPECT_TRUE(before_test(states, "n3", t0));
}

TEST(NodeLife, EveryMoveThatIsNotListedIsRefused) {
  EXPECT_FALSE(may_move(NodePhase::in_service, NodePhase::testing));
  EXPECT_FALSE(may_move(NodePhase::in_service, NodePhase::returned));
  EXPECT_FALSE(may_move(NodePhase::suspected, NodePhase::in_repair));
  EXPECT_TRUE(may_move(NodePhase::in_repair, NodePhase::testing));
}

}  // namespace
}  // namespace faultline
