// What a controller that starts anew tells the launchers: what it judged and did in an earlier
// life.
#include "controller/controller_fixture.h"

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class ControllerResumeTest : public ControllerTest {
 protected:
  Event rank_event(EventKind kind, const AttemptId& attempt, Instant at) const {
    Event event;
    event.source = EventSource::launcher;
    event.kind = kind;
    event.reporter = "n3";
    event.subject = Subject::of_rank(attempt, 2, "n3");
    event.attempt = attempt;
    event.observed_at = event.received_at = at;
    event.clock = ClockDomain::node_wall;
    if (kind == EventKind::rank_exited) event.fields = {{"exit_code", "1"}};
    event.id = make_event_id(event);
    return event;
  }

  /// What n3 is told of the attempt once there is something to tell.
  std::string ruling_of(Controller& controller, const AttemptId& attempt) {
    std::string text;
    std::uint64_t cursor = 0;
    EXPECT_TRUE(eventually([&] {
      for (const auto& report : controller.rulings_for("n3", cursor)) {
        if (report.attempt == attempt) text = report.text;
      }
      return !text.empty();
    }));
    return text;
  }
};

TEST_F(ControllerResumeTest, ARulingSaysWhatAnEarlierLifeJudgedAndDid) {
  const AttemptId attempt{"7", 0};
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(controller
                        .take_events("n3", {rank_event(EventKind::rank_started, attempt,
                                                       clock_.now() - seconds{60}),
                                            fell_off_bus("n3")})
                        .ok());
      },
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("requeue_excluding job:7") && store.open_intents()->empty();
      });
  // Nobody has told the launcher yet: the rank ends in front of the next life.
  {
    const auto store = Store::open(folder_ / "faultline.db", Access::read_write);
    ASSERT_TRUE(
        (*store)->append_events({rank_event(EventKind::rank_exited, attempt, clock_.now())}).ok());
  }
  run(
      [&](Controller& controller, FakeCluster&) {
        const std::string text = ruling_of(controller, attempt);
        EXPECT_NE(text.find("gpu.fell_off_bus"), std::string::npos) << text;
        EXPECT_NE(text.find("drain_node node:n3: done"), std::string::npos) << text;
        EXPECT_NE(text.find("requeue_excluding job:7: done"), std::string::npos) << text;
      },
      [](Store&, FakeCluster&) { return true; });
}

TEST_F(ControllerResumeTest, AVerdictFromBeforeAnAttemptBeganIsNoneAboutIt) {
  options_.mode = Mode::observe;
  const AttemptId attempt{"8", 0};
  const Instant now = clock_.now();
  {
    const auto store = Store::open(folder_ / "faultline.db", Access::read_write);
    Verdict verdict;
    verdict.id = "v-1";
    verdict.cause = "gpu.fell_off_bus";
    verdict.subject = Subject::of_node("n3");
    verdict.status = VerdictStatus::confirmed;
    verdict.since = verdict.updated_at = now - hours{1};
    verdict.evidence = {"e-1"};
    ASSERT_TRUE((*store)->put_verdict(verdict).ok());
    ASSERT_TRUE(
        (*store)
            ->append_events({rank_event(EventKind::rank_started, attempt, now - minutes{30})})
            .ok());
  }
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(
            controller.take_events("n3", {rank_event(EventKind::rank_exited, attempt, now)}).ok());
        const std::string text = ruling_of(controller, attempt);
        EXPECT_EQ(text.find("gpu.fell_off_bus"), std::string::npos) << text;
      },
      [](Store&, FakeCluster&) { return true; });
}

}  // namespace
}  // namespace faultline
