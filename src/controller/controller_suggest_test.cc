// What is not done for want of a person's word: its commands are shown, and the word is honoured.
#include <set>

#include "controller/controller_fixture.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

using std::chrono::seconds;

class ControllerSuggestTest : public ControllerTest {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    options_.mode = Mode::suggest;
  }

  static std::optional<Decision> latest(Store& store, ActionKind kind) {
    const auto decisions = store.decisions({});
    for (const auto& decision : *decisions) {
      if (decision.action.kind == kind) return decision;
    }
    return std::nullopt;
  }
  static std::vector<std::string> commands_for(Store& store, ActionKind kind) {
    const auto decision = latest(store, kind);
    if (!decision) return {};
    const auto dry_run = dry_run_of(store, *decision);
    return dry_run && *dry_run ? (*dry_run)->commands : std::vector<std::string>{};
  }
  static bool all_shown(Store& store) {
    return !commands_for(store, ActionKind::drain_node).empty() &&
           !commands_for(store, ActionKind::requeue_excluding).empty();
  }
  /// The store between two lives of the controller.
  std::unique_ptr<Store> opened() {
    return std::move(Store::open(folder_ / "faultline.db", Access::read_write)).value();
  }
  [[nodiscard]] bool did_anything() const {
    return std::filesystem::exists(folder_ / "cluster") &&
           std::filesystem::file_size(folder_ / "cluster") > 0;
  }
  void say_n3_fell_off_the_bus() {
    run([&](Controller& controller,
            FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
        [](Store& store, FakeCluster&) { return all_shown(store); });
  }
};

TEST_F(ControllerSuggestTest, TheCommandsOfWhatAsksAreShownAndNothingIsDone) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.dry_runs == 2; }));
        clock_.sleep(seconds{2});  // several looks at the same
        EXPECT_EQ(cluster.dry_runs, 2) << "one for the drain, one for the requeue";
      },
      [](Store& store, FakeCluster&) {
        return commands_for(store, ActionKind::drain_node) ==
                   std::vector<std::string>{"drain_node node:n3"} &&
               commands_for(store, ActionKind::requeue_excluding) ==
                   std::vector<std::string>{"requeue_excluding job:7"};
      });
  EXPECT_FALSE(did_anything());
  EXPECT_TRUE(opened()->actions({})->empty()) << "a dry run is no intent";
}

TEST_F(ControllerSuggestTest, ObserveShowsThemToo) {
  options_.mode = Mode::observe;
  say_n3_fell_off_the_bus();
  EXPECT_FALSE(did_anything());
}

TEST_F(ControllerSuggestTest, TheNextLifeShowsWhatWasShownAndRunsOnlyWhatIsMissing) {
  say_n3_fell_off_the_bus();
  Decision unshown;
  {
    const auto store = opened();
    unshown = *latest(*store, ActionKind::drain_node);
    unshown.id = unshown.action.decision = "d-killed";
    unshown.action.id = "a-killed";
    unshown.action.subject = Subject::of_node("n5");
    ASSERT_TRUE(store->put_decision(unshown).ok());  // and then it was killed
  }
  run(
      [&](Controller&, FakeCluster& cluster) {
        EXPECT_TRUE(eventually([&] { return cluster.dry_runs == 1; }));
        clock_.sleep(seconds{2});
        EXPECT_EQ(cluster.dry_runs, 1);
      },
      [&](Store& store, FakeCluster&) {
        return all_shown(store) && dry_run_of(store, unshown)->has_value();
      });
  EXPECT_FALSE(did_anything());
}

TEST_F(ControllerSuggestTest, WhatAPersonApprovesIsDoneAndNoDryRunAnyMore) {
  say_n3_fell_off_the_bus();
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto id = latest(*opened(), ActionKind::drain_node)->id;
        EXPECT_TRUE(
            ask(controller, "ann", RequestKind::approve, id)->starts_with("approved by ann"));
      },
      [](Store& store, FakeCluster& cluster) {
        const auto record = store.action(latest(store, ActionKind::drain_node)->action.id);
        return cluster.did("drain_node node:n3") && record && *record && (*record)->outcome &&
               commands_for(store, ActionKind::drain_node).empty();
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("requeue_excluding job:7")) << "nobody approved it";
}

TEST_F(ControllerSuggestTest, WhatWasApprovedAndNotBegunIsDoneByTheNextLife) {
  say_n3_fell_off_the_bus();
  {
    const auto store = opened();
    auto approved = *latest(*store, ActionKind::drain_node);
    approved.ruling = Ruling::act;
    approved.reason = Reason::all_guards_passed;
    approved.action.dry_run = false;
    ASSERT_TRUE(store->put_decision(approved).ok());
  }
  run([](Controller&, FakeCluster&) {},
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerSuggestTest, WhatWasApprovedWhileTheSchedulerIsAwayIsDoneWhenItIsBack) {
  say_n3_fell_off_the_bus();
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.refuse = true;
        const auto id = latest(*opened(), ActionKind::drain_node)->id;
        EXPECT_TRUE(ask(controller, "ann", RequestKind::approve, id).ok());
        EXPECT_TRUE(
            eventually([&] { return counters_.get("controller_actions_failed_total") > 0; }));
        cluster.refuse = false;
      },
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("drain_node node:n3") && store.open_intents()->empty();
      });
}

TEST_F(ControllerSuggestTest, WhatABolderLifeBeganIsLeftAlone) {
  options_.mode = Mode::act;
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.refuse = true;
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(
            eventually([&] { return counters_.get("controller_actions_failed_total") > 0; }));
      },
      [](Store& store, FakeCluster&) { return !store.open_intents()->empty(); });
  options_.mode = Mode::suggest;
  run([&](Controller&, FakeCluster&) { clock_.sleep(seconds{1}); },
      [](Store& store, FakeCluster&) { return !store.open_intents()->empty(); });
  EXPECT_FALSE(did_anything());
}

TEST_F(ControllerSuggestTest, WhatABolderLifeDecidedIsLeftAlone) {
  say_n3_fell_off_the_bus();
  {
    const auto store = opened();
    auto bold = *latest(*store, ActionKind::drain_node);
    bold.ruling = Ruling::act;
    bold.reason = Reason::all_guards_passed;
    bold.mode = Mode::act;
    bold.action.dry_run = false;
    ASSERT_TRUE(store->put_decision(bold).ok());
  }
  run([&](Controller&, FakeCluster&) { clock_.sleep(seconds{1}); },
      [](Store&, FakeCluster&) { return true; });
  EXPECT_FALSE(did_anything());
}

TEST_F(ControllerSuggestTest, WhatDoesNotAskCannotBeAnswered) {
  options_.mode = Mode::observe;
  say_n3_fell_off_the_bus();
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto id = latest(*opened(), ActionKind::drain_node)->id;
        for (const auto request : {RequestKind::approve, RequestKind::deny}) {
          EXPECT_EQ(*ask(controller, "ann", request, id),
                    "refused: " + id +
                        " does not ask; it is hold (mode_observe): mode observe: nothing is done");
        }
      },
      [](Store&, FakeCluster&) { return true; });
  // A refused word counts for nothing later.
  options_.mode = Mode::suggest;
  run([](Controller&, FakeCluster&) {},
      [](Store& store, FakeCluster&) {
        return latest(store, ActionKind::drain_node)->reason == Reason::mode_suggest;
      });
  EXPECT_FALSE(did_anything());
}

TEST_F(ControllerSuggestTest, ADenialCanBeTakenBack) {
  say_n3_fell_off_the_bus();
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto store = opened();
        const auto id = latest(*store, ActionKind::drain_node)->id;
        EXPECT_TRUE(ask(controller, "ann", RequestKind::deny, id)->starts_with("denied by ann"));
        EXPECT_TRUE(eventually(
            [&] { return store->decision(id).value()->reason == Reason::denied_by_person; }));
        EXPECT_TRUE(
            ask(controller, "ann", RequestKind::approve, id)->starts_with("approved by ann"));
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerSuggestTest, AnApprovalOutlivesTheHoldThatComesAfterIt) {
  say_n3_fell_off_the_bus();
  {
    const auto store = opened();
    const auto id = latest(*store, ActionKind::drain_node)->id;
    ASSERT_TRUE(store->put_request({0, RequestKind::approve, id, "ann", clock_.now(), {}}).ok());
    ASSERT_TRUE(
        store->put_request({0, RequestKind::silence, "n3 2h cable", "bob", clock_.now(), {}}).ok());
  }
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        const auto store = opened();
        EXPECT_TRUE(eventually(
            [&] { return latest(*store, ActionKind::drain_node)->reason == Reason::silenced; }));
        EXPECT_FALSE(cluster.did("drain_node node:n3"));
        const auto silences = load_silences(*store, clock_.now());
        ASSERT_EQ(silences->size(), 1u);
        EXPECT_TRUE(ask(controller, "bob", RequestKind::unsilence, silences->front().id).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerSuggestTest, AReturnThatAsksIsDoneWhenApprovedAndNotWhenDenied) {
  options_.mode = Mode::act;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("drain_node node:n3") && store.open_intents()->empty();
      });
  options_.mode = Mode::suggest;
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(eventually([&] {
          return ask(controller, "ann", RequestKind::return_node, "n3")
              ->starts_with("ask: asked for by ann");
        }));
        const auto store = opened();
        EXPECT_TRUE(eventually([&] {
          return commands_for(*store, ActionKind::return_node) ==
                 std::vector<std::string>{"return_node node:n3"};
        }));
        const auto id = latest(*store, ActionKind::return_node)->id;
        EXPECT_EQ(*ask(controller, "bob", RequestKind::deny, id), "denied by bob");
        EXPECT_FALSE(cluster.did("return_node node:n3"));
        EXPECT_EQ(*ask(controller, "eve", RequestKind::approve, id), "approved by eve");
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("return_node node:n3"); });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_EQ(cluster.times("return_node node:n3"), 1);
}

TEST_F(ControllerSuggestTest, TheNoticeShowsTheCommands) {
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [&](Store&, FakeCluster&) { return !told_.all().empty(); });
  ASSERT_EQ(told_.all().size(), 1U);
  const Notice notice = told_.all().front();
  EXPECT_TRUE(notice.outcomes.empty());
  std::set<std::string> commands;
  for (const auto& dry_run : notice.dry_runs) commands.insert(dry_run.commands.front());
  EXPECT_EQ(commands, (std::set<std::string>{"drain_node node:n3", "requeue_excluding job:7"}));
}

}  // namespace
}  // namespace faultline
