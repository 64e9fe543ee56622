// A controller from an agent's event to an act.
#include "controller/controller.h"

#include <algorithm>

#include "controller/controller_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(ControllerTest, AKernelFaultDrainsItsNodeAndRequeuesItsJob) {
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [](Store& store, FakeCluster& cluster) {
        const auto states = store.node_states();
        return cluster.did("drain_node node:n3") && cluster.did("requeue_excluding job:7") &&
               store.open_intents()->empty() && states && !states->empty() &&
               states->front().phase == NodePhase::drained;
      });
}

TEST_F(ControllerTest, AProgramsFaultHasAGpuForItsPlaceAndSaysNothingAgainstItsNode) {
  Event fault = fell_off_bus("n3");
  fault.signature = "xid.31";
  fault.fields = {{"bdf", "0000:41:00"}, {"xid", "31"}, {"pid", "5511"}};
  fault.id = make_event_id(fault);
  const Subject gpu = fault.subject;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fault}).ok()); },
      [&](Store& store, FakeCluster&) {
        const auto verdicts = store.verdicts({});
        return verdicts && !verdicts->empty() && verdicts->front().subject == gpu &&
               verdicts->front().cause == "software.user_exception";
      });
  const auto store = Store::open(folder_ / "faultline.db", Access::read_write);
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE((*store)->node_states()->empty());
}

TEST_F(ControllerTest, AReplacedStoreStopsActsAndIsReported) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        fs::rename(folder_ / "faultline.db", folder_ / "away.db");
        EXPECT_FALSE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] { return !controller.health().store_writable; }));
        EXPECT_NE(controller.health().store_error.find("restart"), std::string::npos);
        fs::rename(folder_ / "away.db", folder_ / "faultline.db");
        EXPECT_FALSE(cluster.did("drain_node node:n3"));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, TheSameLineSentTwiceIsOneAct) {
  const Event event = fell_off_bus("n3");
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(controller.take_events("n3", {event}).ok());
        EXPECT_TRUE(controller.take_events("n3", {event}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("requeue_excluding job:7"); });
  EXPECT_EQ(counters_.get("controller_duplicate_events_total"), 1u);
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_EQ(cluster.times("drain_node node:n3"), 1);
}

TEST_F(ControllerTest, AnAgentThatSpeaksForAnotherNodeIsNotHeard) {
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n5", {fell_off_bus("n3")}).ok()); },
      [&](Store&, FakeCluster&) { return counters_.get("controller_foreign_events_total") == 1; });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

TEST_F(ControllerTest, AJobOfOneNodeMayNameTheNodeThatWasLost) {
  Event word = fell_off_bus("n1");
  word.source = EventSource::job_log;
  word.signature = "srun.nodefail";
  word.subject = Subject::of_node("n3");
  word.raw.text = "srun: error: Node failure on n3";
  word.id = make_event_id(word);
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n1", {word}).ok()); },
      [&](Store& store, FakeCluster&) { return store.event(word.id)->has_value(); });
  EXPECT_EQ(counters_.get("controller_foreign_events_total"), 0U);
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("drain_node node:n3"));
}

TEST_F(ControllerTest, ObserveDoesNothingAndSaysWhatItWouldDo) {
  options_.mode = Mode::observe;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [](Store& store, FakeCluster&) {
        const auto decisions = store.decisions({});
        return decisions &&
               std::any_of(decisions->begin(), decisions->end(), [](const Decision& decision) {
                 return decision.action.kind == ActionKind::drain_node &&
                        decision.reason == Reason::mode_observe;
               });
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

TEST_F(ControllerTest, FiftyNodesThatSayTheSameInAMinuteAreNotDrained) {
  nodes_ = 60;
  run(
      [&](Controller& controller, FakeCluster&) {
        for (int i = 1; i <= 50; ++i) {
          const std::string node = "n" + std::to_string(i);
          EXPECT_TRUE(controller.take_events(node, {fell_off_bus(node, i)}).ok());
        }
      },
      [](Store& store, FakeCluster&) {
        const auto verdicts = store.verdicts({});
        return verdicts && verdicts->size() >= 50;
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  int drained = 0;
  for (int i = 1; i <= 50; ++i) drained += cluster.times("drain_node node:n" + std::to_string(i));
  EXPECT_LE(drained, options_.limits.drained_at_once_max);
}

TEST_F(ControllerTest, ASchedulerThatIsDownIsWaitedForAndThenActedOn) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.down = true;
        EXPECT_TRUE(eventually([&] { return !controller.health().scheduler_answers; }));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        cluster.down = false;
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, ADrainOutlivesASchedulerThatRefusesForAWhile) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.refuse = true;
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] {
          return counters_.get("controller_actions_failed_total") > 0;
        }));  // it gave up once
        cluster.refuse = false;
      },
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("drain_node node:n3") && store.open_intents()->empty();
      });
}

}  // namespace
}  // namespace faultline
