// Who waits for whom among the acts: drains for nobody, requeues for drains.
#include <atomic>

#include "controller/controller_fixture.h"
#include "controller/forwarding_store.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;

class ControllerWorkTest : public ControllerTest {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    options_.limits.drained_share_max = 0.5;  // of nine nodes, two are drained in the end
  }
};

TEST_F(ControllerWorkTest, ADrainDoesNotWaitForARequeue) {
  std::atomic<bool> drained_meanwhile{false};
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        std::atomic<bool> requeuing{false};
        cluster.before_execute = [&](const Action& action) {
          if (action.kind != ActionKind::requeue_excluding) return;
          requeuing = true;
          drained_meanwhile = eventually([&] { return cluster.did("drain_node node:n6"); });
        };
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        ASSERT_TRUE(eventually([&] { return requeuing.load(); }));
        EXPECT_TRUE(controller.take_events("n6", {fell_off_bus("n6")}).ok());
        ASSERT_TRUE(eventually([&] { return cluster.did("requeue_excluding job:7"); }));
      },
      [](Store& store, FakeCluster&) { return store.open_intents()->empty(); });
  EXPECT_TRUE(drained_meanwhile);
}

TEST_F(ControllerWorkTest, ARequeueWaitsForTheDrain) {
  std::atomic<bool> overtaken{false};
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.before_execute = [&](const Action& action) {
          if (action.kind != ActionKind::drain_node) return;
          // Time enough for the requeue to be decided and, were it free to, begun.
          for (int i = 0; i < 10 && !overtaken; ++i) {
            clock_.sleep(milliseconds{50});
            overtaken = cluster.did("requeue_excluding job:7");
          }
        };
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        ASSERT_TRUE(eventually([&] { return cluster.did("requeue_excluding job:7"); }));
      },
      [](Store& store, FakeCluster&) { return store.open_intents()->empty(); });
  EXPECT_FALSE(overtaken);
}

TEST_F(ControllerWorkTest, ADrainThatTheSchedulerLostIsCarriedOutAgain) {
  const std::string drain = "drain_node node:n6";
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(controller.take_events("n6", {fell_off_bus("n6")}).ok());
        ASSERT_TRUE(eventually([&] { return cluster.did(drain); }));
        // Seen drained by a view that was taken after it.
        const Instant then = clock_.now();
        ASSERT_TRUE(eventually(
            [&] { return controller.health().view_taken_at > then + milliseconds{200}; }));
        cluster.lose(drain);
        EXPECT_TRUE(eventually([&] { return cluster.did(drain); }));
      },
      [](Store& store, FakeCluster&) {
        return store.open_intents()->empty() &&
               store.node_states()->front().phase == NodePhase::drained;
      });
  EXPECT_EQ(counters_.get("controller_drains_lost_total"), 1U);
}

TEST_F(ControllerWorkTest, AnActThatShowsHalfDoneLaterIsFinished) {
  const std::string requeue = "requeue_excluding job:7";
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.after_execute =
            [&cluster, shown = std::make_shared<std::atomic<bool>>(false)](const Action& action) {
              if (action.kind == ActionKind::requeue_excluding && !shown->exchange(true))
                cluster.show_half_done(action.id);
            };
        cluster.show_half_done("a-of-another-store");
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.times(requeue) == 2; }));
      },
      [](Store& store, FakeCluster&) { return store.open_intents()->empty(); });
  EXPECT_GE(counters_.get("controller_half_done_total"), 1U);
  EXPECT_EQ(counters_.get("controller_half_done_unknown_total"), 1U) << "not with every view";
}

/// Cannot say what became of an act, or cannot open it again.
class FailingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::optional<ActionRecord>> action(const ActionId& id) override {
    if (id == "a-unread") return Error{ErrorCode::unavailable, "disk I/O error"};
    if (id == "a-kept") return std::optional(ActionRecord{});
    return store_.action(id);
  }
  Status reopen_action(const ActionId& id, Instant now) override {
    if (id == "a-kept") return Error{ErrorCode::exhausted, "disk full"};
    return store_.reopen_action(id, now);
  }
};

TEST_F(ControllerWorkTest, AnActThatCannotBeOpenedAgainIsAnErrorOfTheStore) {
  for (const ActionId id : {"a-unread", "a-kept"}) {
    auto real = Store::open(folder_ / "faultline.db", Access::read_write);
    FailingStore store(**real);
    FakeCluster cluster(folder_ / "cluster", clock_);
    cluster.show_half_done(id);
    Controller controller(catalog_, store, cluster, cluster, nullptr, clock_, counters_, options_);
    ASSERT_TRUE(controller.start().ok());
    EXPECT_TRUE(eventually([&] {
      return controller.health().store_error.starts_with("half-done act: disk ");
    })) << id;
  }
  EXPECT_EQ(counters_.get("controller_half_done_total"), 0U);
}

}  // namespace
}  // namespace faultline
