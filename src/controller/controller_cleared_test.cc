// Later evidence clears the verdict behind a drain: from the first kernel line to the node's
// return.
#include <algorithm>

#include "controller/controller_fixture.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;

class ControllerClearedTest : public ControllerTest {
 protected:
  Event xid(const std::string& number, const std::string& bdf, const std::string& words,
            Instant at) {
    Event event = fell_off_bus("n3");
    event.subject = Subject::of_gpu("n3", bdf);
    event.observed_at = at;
    event.signature = "xid." + number;
    event.fields = {{"bdf", bdf}, {"xid", number}};
    event.raw.text = "NVRM: Xid (PCI:" + bdf + "): " + number + ", " + words;
    event.id = make_event_id(event);
    return event;
  }
  /// An uncorrectable error, and the line that makes it one of a process and not of the node.
  Event ecc() {
    return xid("48", "0000:01:00", "pid=77, name=python, An uncorrectable double bit error (DBE)",
               fault_at_);
  }
  Event contained() {
    Event event = xid("94", "0000:01:00",
                      "pid=77, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No",
                      fault_at_ + milliseconds{20});
    event.fields["rst"] = "No";
    event.fields["drst"] = "No";
    return event;
  }
  static std::optional<Verdict> verdict_on(Store& store, const std::string& cause) {
    const auto verdicts = store.verdicts({});
    const auto found = std::find_if(verdicts->begin(), verdicts->end(),
                                    [&](const Verdict& verdict) { return verdict.cause == cause; });
    return found == verdicts->end() ? std::nullopt : std::optional(*found);
  }
  static bool cleared(Store& store) {
    const auto verdict = verdict_on(store, "gpu.ecc_uncorrectable");
    return verdict && verdict->status == VerdictStatus::cleared;
  }
  static std::optional<Decision> return_decision(Store& store) {
    const auto decisions = store.decisions({});
    for (const auto& decision : *decisions)
      if (decision.action.kind == ActionKind::return_node) return decision;
    return std::nullopt;
  }
  void drain_n3(Controller& controller, FakeCluster& cluster) {
    EXPECT_TRUE(controller.take_events("n3", {ecc()}).ok());
    EXPECT_TRUE(eventually([&] { return cluster.did("drain_node node:n3"); }));
    EXPECT_TRUE(eventually([&] { return counters_.get("controller_actions_done_total") > 0; }));
  }

  Instant fault_at_ = clock_.now();
};

TEST_F(ControllerClearedTest, TheNodeIsReturnedAndTheStoreSaysWhy) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        drain_n3(controller, cluster);
        EXPECT_TRUE(controller.take_events("n3", {contained()}).ok());
      },
      [&](Store& store, FakeCluster& cluster) {
        const auto states = store.node_states();
        return cluster.did("return_node node:n3") && !states->empty() &&
               states->front().phase == NodePhase::returned && store.open_intents()->empty() &&
               !told_.all().empty() && told_.all().back().title.starts_with("n3 returned");
      });
  const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
  ASSERT_TRUE(store.ok() && cleared(**store));
  EXPECT_EQ((*store)->node_states()->front().by, by_faultline);
  const auto decision = return_decision(**store);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->verdict, verdict_on(**store, "gpu.ecc_uncorrectable")->id);
  const auto record = (*store)->action(decision->action.id);
  ASSERT_TRUE(*record && (*record)->outcome);
  EXPECT_EQ((*record)->outcome->status, OutcomeStatus::done);
  EXPECT_EQ(told_.all().back().title,
            "n3 returned: " + catalog_.cause("gpu.ecc_uncorrectable")->summary);
}

TEST_F(ControllerClearedTest, WhereThePolicyAsksAPersonItIsAsked) {
  options_.limits.approval_needed = {ActionKind::return_node};
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        drain_n3(controller, cluster);
        EXPECT_TRUE(controller.take_events("n3", {contained()}).ok());
      },
      [&](Store& store, FakeCluster&) {
        const auto decision = return_decision(store);
        return decision && decision->ruling == Ruling::ask;
      });
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("return_node node:n3"));
}

TEST_F(ControllerClearedTest, ANodeThatAPersonDrainedMeanwhileIsLeftAlone) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        drain_n3(controller, cluster);
        cluster.drained_as("n3", "bad fan");
        const Instant then = clock_.now();
        EXPECT_TRUE(eventually([&] { return controller.health().view_taken_at > then; }));
        EXPECT_TRUE(controller.take_events("n3", {contained()}).ok());
      },
      [&](Store& store, FakeCluster&) { return cleared(store); });
  // What a next life comes to is the same.
  earlier_reason_ = "bad fan";
  run([&](Controller& controller, FakeCluster&) { let_judge_look(controller); },
      [&](Store& store, FakeCluster&) { return !return_decision(store); });
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("return_node node:n3"));
}

TEST_F(ControllerClearedTest, ANodeOfWhichAnotherFaultStandsIsNotReturned) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        drain_n3(controller, cluster);
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(controller.take_events("n3", {contained()}).ok());
      },
      [&](Store& store, FakeCluster&) {
        const auto decision = return_decision(store);
        return cleared(store) && decision && decision->reason == Reason::fault_stands;
      });
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("return_node node:n3"));
}

}  // namespace
}  // namespace faultline
