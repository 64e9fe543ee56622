// What people ask of a whole controller, and that the answer outlives it.
#include <algorithm>

#include "controller/controller_fixture.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(ControllerTest, ASilencedNodeIsLeftAloneUntilAPersonEndsIt) {
  options_.limits.drained_share_max = 0.5;  // of nine nodes, two are drained in the end
  std::string silenced;
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto answer = ask(controller, "ann", RequestKind::silence, "node:n3 2h new cable");
        ASSERT_TRUE(answer.ok());
        EXPECT_TRUE(answer->starts_with("silenced node:n3 until ")) << *answer;
        silenced = answer->substr(answer->rfind("s-"));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(controller.take_events("n2", {fell_off_bus("n2")}).ok());
      },
      [](Store& store, FakeCluster& cluster) {
        const auto decisions = store.decisions({});
        return cluster.did("drain_node node:n2") && decisions &&
               std::any_of(decisions->begin(), decisions->end(),
                           [](const Decision& d) { return d.reason == Reason::silenced; });
      });
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("drain_node node:n3"));
  // A controller that starts anew knows of it, and the end of it is seen at once.
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        clock_.sleep(seconds{1});
        EXPECT_FALSE(cluster.did("drain_node node:n3"));
        EXPECT_EQ(*ask(controller, "ann", RequestKind::unsilence, silenced),
                  "ended " + silenced + " on node:n3");
        EXPECT_TRUE(ask(controller, "ann", RequestKind::unsilence, silenced)
                        ->starts_with("not found: no silence"));
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, ARequestOfAnotherVersionIsRefusedAndHoldsUpNoOther) {
  std::int64_t unknown = 0;
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto store = Store::open(folder_ / "faultline.db", Access::read_write);
        unknown = (*store)->put_request({0, std::nullopt, "n3", "ann", clock_.now(), {}}).value();
        EXPECT_TRUE(
            ask(controller, "ann", RequestKind::silence, "n3 2h x")->starts_with("silenced"));
      },
      [&](Store& store, FakeCluster&) {
        return (*store.request(unknown))->answer.kind == AnswerKind::refused;
      });
}

TEST_F(ControllerTest, WhatIsAskedOfSomethingUnknownIsNotFound) {
  run(
      [&](Controller& controller, FakeCluster&) {
        for (const auto& [request, target] :
             std::map<RequestKind, std::string>{{RequestKind::approve, "d-0000000000000000"},
                                                {RequestKind::deny, "d-0000000000000000"},
                                                {RequestKind::return_node, "n33"},
                                                {RequestKind::repair, "n33 x"},
                                                {RequestKind::silence, "n33 2h x"},
                                                {RequestKind::unsilence, "s-99"}}) {
          const auto answer = ask(controller, "ann", request, target);
          ASSERT_TRUE(answer.ok());
          EXPECT_TRUE(answer->starts_with("not found: ")) << to_text(request) << ": " << *answer;
          EXPECT_NE(answer->find("`faultline "), std::string::npos) << "what to do: " << *answer;
        }
        EXPECT_TRUE(ask(controller, "ann", RequestKind::silence, "rack:r1 2h x")
                        ->starts_with("not found: no node is known to be in rack:r1"));
        EXPECT_TRUE(
            ask(controller, "ann", RequestKind::silence, "n3 9d x")->starts_with("refused: "));
        EXPECT_TRUE(ask(controller, "ann", RequestKind::silence, "job:99 2h x")
                        ->starts_with("not found: the scheduler knows no job 99"));
        EXPECT_TRUE(ask(controller, "ann", RequestKind::silence, "job:7 2h x")
                        ->starts_with("silenced job:7 "));
      },
      [](Store& store, FakeCluster&) { return store.open_requests()->empty(); });
}

TEST_F(ControllerTest, AReturnedNodeIsDrainedAgainWhenItFailsAgain) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3", 1)}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.did("drain_node node:n3"); }));
        // The answer depends on when the view shows the drain; a person asks again.
        EXPECT_TRUE(eventually([&] {
          const auto answer = ask(controller, "ann", RequestKind::return_node, "n3");
          return answer && answer->starts_with("act");
        }));
        EXPECT_TRUE(eventually([&] { return cluster.did("return_node node:n3"); }));
        clock_.sleep(milliseconds{300});  // the second fault comes after the return, not with it
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3", 2)}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.times("drain_node node:n3") == 2; });
}

TEST_F(ControllerTest, APersonPutsADrainedNodeInRepairAndReturnsIt) {
  const auto state_of_n3 = [](Store& store) {
    const auto states = store.node_states();
    for (const auto& state : *states)
      if (state.node == "n3") return state;
    return NodeState{};
  };
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        const auto early = ask(controller, "ann", RequestKind::repair, "n3 RMA 1");
        EXPECT_TRUE(early->starts_with("refused: n3 is in_service, and jobs may still get it"))
            << *early;
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3", 1)}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.did("drain_node node:n3"); }));
        EXPECT_TRUE(eventually([&] {
          return ask(controller, "ann", RequestKind::repair, "n3 RMA 1")
              ->starts_with("n3 is in repair");
        }));
        // Said again, nothing changes but the note.
        const auto again = ask(controller, "bob", RequestKind::repair, "n3 RMA 2");
        EXPECT_TRUE(again->starts_with("n3 is in repair already, since ")) << *again;
        EXPECT_TRUE(again->ends_with(" by ann; note changed")) << *again;
        EXPECT_TRUE(ask(controller, "bob", RequestKind::repair, "n3 RMA 2")->ends_with(" by ann"));
      },
      [&](Store& store, FakeCluster&) { return state_of_n3(store).note == "RMA 2"; });
  // A controller that starts anew knows of it, and `return` is what brings the node back.
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(ask(controller, "ann", RequestKind::repair, "n3")->ends_with(" by ann"));
        EXPECT_TRUE(eventually([&] {
          const auto answer = ask(controller, "ann", RequestKind::return_node, "n3");
          return answer && answer->starts_with("act");
        }));
        EXPECT_TRUE(eventually([&] { return cluster.did("return_node node:n3"); }));
      },
      [&](Store& store, FakeCluster&) {
        const auto phase = state_of_n3(store).phase;
        const auto incidents = store.incidents({});
        return (phase == NodePhase::returned || phase == NodePhase::in_service) &&
               std::all_of(incidents->begin(), incidents->end(),
                           [](const Incident& incident) { return known(incident.closed_at); });
      });
}

TEST_F(ControllerTest, APersonsDenialHolds) {
  options_.limits.approval_needed = {ActionKind::drain_node};
  const auto asked = [&](Store& store) -> std::string {
    const auto decisions = store.decisions({});
    for (const auto& decision : *decisions) {
      if (decision.action.kind == ActionKind::drain_node && decision.ruling == Ruling::ask)
        return decision.id;
    }
    return {};
  };
  std::string id;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [&](Store& store, FakeCluster&) { return !(id = asked(store)).empty(); });
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(ask(controller, "ann", RequestKind::deny, id).ok()); },
      [&](Store& store, FakeCluster&) {
        return store.decision(id).value()->reason == Reason::denied_by_person;
      });
  options_.limits.approval_needed.clear();
  run([&](Controller&, FakeCluster&) { clock_.sleep(seconds{2}); },
      [](Store&, FakeCluster&) { return true; });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

}  // namespace
}  // namespace faultline
