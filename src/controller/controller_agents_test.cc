// Agents that fall silent, of nodes that the scheduler knows and of others.
#include "controller/controller_fixture.h"

namespace faultline {
namespace {

class ControllerAgentsTest : public ControllerTest {
 protected:
  /// Each agent counts as silent as soon as it was heard.
  ControllerAgentsTest() { options_.agent_lost_after = std::chrono::milliseconds{-1}; }
  /// How what is said of a node's loss stands; nothing if it was never said.
  static std::optional<VerdictStatus> loss_of(Store& store, const std::string& node) {
    const auto verdicts = store.verdicts({});
    for (const auto& verdict : verdicts.value())
      if (verdict.subject == Subject::of_node(node)) return verdict.status;
    return std::nullopt;
  }
};

TEST_F(ControllerAgentsTest, OneOfANodeThatTheSchedulerDoesNotKnowIsForgottenAndCounted) {
  run(
      [&](Controller& controller, FakeCluster&) {
        controller.heartbeat("n3", {});
        controller.heartbeat("elsewhere", {});
        EXPECT_TRUE(eventually([&] { return controller.health().agents == 0; }));
      },
      [&](Store& store, FakeCluster&) {
        return loss_of(store, "n3") == VerdictStatus::suspected &&
               counters_.get("controller_agents_unknown_lost_total") == 1;
      });
  const auto store = Store::open(folder_ / "faultline.db", Access::read_only);
  EXPECT_FALSE(loss_of(**store, "elsewhere"));
}

TEST_F(ControllerAgentsTest, OneOfANodeThatTheSchedulerDoesNotKnowIsSaidWhileItLives) {
  options_.agent_lost_after = std::chrono::hours{1};
  run([&](Controller& controller, FakeCluster&) { controller.heartbeat("elsewhere", {}); },
      [&](Store&, FakeCluster&) { return counters_.get("controller_agents_unknown") == 1; });
}

TEST_F(ControllerAgentsTest, NothingIsSaidOfAgentsWhileNoNodeIsKnown) {
  nodes_ = 0;
  run(
      [&](Controller& controller, FakeCluster&) {
        controller.heartbeat("elsewhere", {});
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
      },
      // It is published after the agents were looked at.
      [&](Store& store, FakeCluster&) { return !store.verdicts({})->empty(); });
  EXPECT_EQ(counters_.get("controller_agents_unknown_lost_total"), 0U);
}

TEST_F(ControllerAgentsTest, ALossIsTakenBackWhenTheSchedulerHasTheNodeNoMoreAlsoAfterARestart) {
  run([&](Controller& controller, FakeCluster&) { controller.heartbeat("n9", {}); },
      [&](Store& store, FakeCluster&) { return loss_of(store, "n9") == VerdictStatus::suspected; });
  nodes_ = 8;
  run([](Controller&, FakeCluster&) {},
      [&](Store& store, FakeCluster&) { return loss_of(store, "n9") == VerdictStatus::cleared; });
}

}  // namespace
}  // namespace faultline
