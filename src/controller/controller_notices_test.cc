// One fault, one incident, one page: what the node's kernel says and what its job says of it.
#include <algorithm>

#include "controller/controller_fixture.h"

namespace faultline {
namespace {

using std::chrono::seconds;

class ControllerNoticesTest : public ControllerTest {
 protected:
  /// The launcher of job 7 saw its rank on n3 die right after the kernel of n3 spoke.
  Event rank_died() {
    Event event;
    event.source = EventSource::launcher;
    event.kind = EventKind::rank_exited;
    event.reporter = "n3";
    event.attempt = AttemptId{"7", 0};
    event.subject = Subject::of_rank(*event.attempt, 2, "n3");
    event.observed_at = clock_.now();
    event.clock = ClockDomain::node_wall;
    event.fields = {{"exit_code", "1"}};
    event.id = make_event_id(event);
    return event;
  }
  /// And a page about it would be out.
  void expect_verdict_of_job_and_a_look(Controller& controller) {
    const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
    EXPECT_TRUE(eventually([&] {
      const auto verdicts = (*store)->verdicts({});
      return verdicts &&
             std::any_of(verdicts->begin(), verdicts->end(), [&](const Verdict& verdict) {
               return verdict.attempt && verdict.subject.node == "n3" &&
                      !(*store)->decisions_of_verdict(verdict.id)->empty();
             });
    }));
    let_judge_look(controller);
  }
  /// About the loss of a GPU of n3.
  void lose_a_page() {
    told_.lost = true;
    run([&](Controller& controller,
            FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
        [&](Store& store, FakeCluster&) {
          return counters_.get("controller_notices_total") == 1 && store.open_intents()->empty();
        });
    told_.lost = false;
  }
  std::vector<std::string> told_as_stored() const {
    const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
    return (*store)->incidents({})->front().told;
  }
};

TEST_F(ControllerNoticesTest, AFaultAndTheJobThatFailsByItAreOneIncidentAndOnePage) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.did("requeue_excluding job:7"); }));
        EXPECT_TRUE(controller.take_events("n3", {rank_died()}).ok());
        expect_verdict_of_job_and_a_look(controller);
      },
      [&](Store& store, FakeCluster&) { return store.open_intents()->empty(); });
  const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
  ASSERT_TRUE(store.ok());
  const auto incidents = (*store)->incidents({});
  ASSERT_TRUE(incidents.ok());
  ASSERT_EQ(incidents->size(), 1U);
  EXPECT_EQ(incidents->front().attempt, (AttemptId{"7", 0}));
  ASSERT_EQ(told_.all().size(), 1U) << told_.all().back().title;
  const Notice page = told_.all().front();
  EXPECT_EQ(page.title, "n3 drained: " + catalog_.cause("gpu.fell_off_bus")->summary);
  EXPECT_EQ(page.outcomes.size(), 2U) << "the drain and the requeue";
}

TEST_F(ControllerNoticesTest, TwoNodesThatFailAtOnceAreTwoPages) {
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(controller.take_events("n6", {fell_off_bus("n6")}).ok());
      },
      [&](Store&, FakeCluster&) { return told_.all().size() == 2; });
  EXPECT_NE(told_.all()[0].incident.id, told_.all()[1].incident.id);
}

TEST_F(ControllerNoticesTest, ANextLifeTellsNothingTwiceAndGoesOnWithTheSameIncident) {
  const Event fault = fell_off_bus("n3");
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fault}).ok()); },
      [&](Store& store, FakeCluster&) {
        const auto incidents = store.incidents({});
        return incidents && !incidents->empty() && !incidents->front().told.empty();
      });
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(controller.take_events("n3", {fault, rank_died()}).ok());
        expect_verdict_of_job_and_a_look(controller);
      },
      [&](Store& store, FakeCluster&) { return store.open_intents()->empty(); });
  const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
  EXPECT_EQ((*store)->incidents({})->size(), 1U);
  EXPECT_EQ(told_.all().size(), 1U);
}

TEST_F(ControllerNoticesTest, WhatDidNotReachPeopleIsToldByTheNextLifeAndByNoneAfterIt) {
  lose_a_page();
  EXPECT_EQ(told_as_stored(), std::vector<std::string>{});
  run([](Controller&, FakeCluster&) {}, [&](Store&, FakeCluster&) { return !told_.all().empty(); });
  EXPECT_EQ(told_as_stored().size(), 3U) << "the fault, the drain and the requeue";
  run([&](Controller& controller, FakeCluster&) { let_judge_look(controller); },
      [](Store&, FakeCluster&) { return true; });
  ASSERT_EQ(told_.all().size(), 1U);
  EXPECT_EQ(told_.all().front().title,
            "n3 drained: " + catalog_.cause("gpu.fell_off_bus")->summary);
}

TEST_F(ControllerNoticesTest, WhatIsLostIsToldIfItIsYoungHoweverOldItsIncident) {
  lose_a_page();
  {
    const auto store = Store::open(folder_ / "faultline.db", Access::read_write);
    Incident incident = (*store)->incidents({})->front();
    incident.opened_at -= std::chrono::hours{2};
    ASSERT_TRUE((*store)->put_incident(incident).ok());
  }
  const Duration age_max = std::exchange(options_.limits.verdict_age_max, Duration{0});
  run([&](Controller& controller, FakeCluster&) { let_judge_look(controller); },
      [](Store&, FakeCluster&) { return true; });
  EXPECT_TRUE(told_.all().empty()) << "nobody is woken for what is old";
  options_.limits.verdict_age_max = age_max;
  run([](Controller&, FakeCluster&) {}, [&](Store&, FakeCluster&) { return !told_.all().empty(); });
}

TEST_F(ControllerNoticesTest, AStopWaitsForWhatIsOnItsWay) {
  told_.slow = true;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [&](Store&, FakeCluster&) { return !told_.all().empty(); });
  EXPECT_EQ(told_as_stored(), told_.all().front().incident.told);
}

TEST_F(ControllerNoticesTest, ARestartTellsNothingThatIsSilencedAndTheEndOfTheSilenceDoes) {
  std::string silenced;
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto answer = ask(controller, "ann", RequestKind::silence, "n3 2h new cable");
        silenced = answer->substr(answer->rfind("s-"));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
      },
      [&](Store& store, FakeCluster&) { return store.decisions({})->size() >= 2; });
  run(
      [&](Controller& controller, FakeCluster&) {
        let_judge_look(controller);
        EXPECT_TRUE(ask(controller, "ann", RequestKind::unsilence, silenced).ok());
      },
      [&](Store&, FakeCluster&) { return !told_.all().empty(); });
  ASSERT_EQ(told_.all().size(), 1U);
  EXPECT_EQ(told_.all().front().title,
            "n3 drained: " + catalog_.cause("gpu.fell_off_bus")->summary);
}

}  // namespace
}  // namespace faultline
