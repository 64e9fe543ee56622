#include "controller/drain_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace faultline {
namespace {

using std::chrono::seconds;

class DrainWatchTest : public testing::Test {
 protected:
  DrainWatchTest() {
    NodeState state;
    state.node = "n3";
    state.phase = NodePhase::drained;
    state.by = "faultline";
    state.since = start_;
    states_["n3"] = state;
  }
  /// The view `after` the drain by this daemon, and what it shows lost.
  std::size_t look(seconds after, bool drained, const std::string& daemon_id, bool down = false) {
    return look_across(after, drained, daemon_id, daemon_id, down);
  }
  /// The daemon may be another one after the view than before.
  std::size_t look_across(seconds after, bool drained, const std::string& before,
                          const std::string& then, bool down = false) {
    ClusterView view;
    view.taken_at = start_ + after;
    SchedulerNode node;
    node.name = "n3";
    node.drained = drained;
    node.down = down;
    node.available = !drained && !down;
    view.nodes["n3"] = node;
    watch_.saw(states_, view, before);
    const auto gone = watch_.gone(states_, view);
    return static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), [&](const auto& state) {
      return watch_.lost(state.node, then);
    }));
  }

  const Instant start_{seconds{1'795'000'000}};
  NodeStates states_;
  DrainWatch watch_;
};

TEST_F(DrainWatchTest, ADrainThatWentWithTheDaemonIsLost) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{4}, false, "104"), 1U);
  EXPECT_EQ(look(seconds{5}, false, "104"), 1U) << "until it is drained again";
  EXPECT_EQ(look(seconds{6}, true, "104"), 0U);
  EXPECT_EQ(look(seconds{7}, false, "104"), 0U) << "now a person took it back";
}

TEST_F(DrainWatchTest, ADaemonThatComesBackMuchLaterHasLostItToo) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{9000}, false, "9000"), 1U);
}

TEST_F(DrainWatchTest, UnderTheSameDaemonItWasAPerson) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{30}, false, "100"), 0U);
}

TEST_F(DrainWatchTest, ARestartThatKeepsTheDrainProvesNothingAboutALaterResume) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{4}, true, "103"), 0U);
  EXPECT_EQ(look(seconds{20}, false, "103"), 0U);
}

TEST_F(DrainWatchTest, AnOldDrainIsSavedAndWasTakenBack) {
  const auto saved = std::chrono::duration_cast<seconds>(DrainWatch::unsaved_max);
  EXPECT_EQ(look(saved, true, "100"), 0U);
  EXPECT_EQ(look(saved + seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(saved + seconds{2}, false, "161"), 0U);
}

TEST_F(DrainWatchTest, ANodeThatIsNotBackYetSaysNothing) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{4}, false, "104", true), 0U);
  EXPECT_EQ(look(seconds{9}, false, "104"), 1U);
}

TEST_F(DrainWatchTest, WhatWasNeverSeenDrainedIsNotLost) {
  EXPECT_EQ(look(seconds{4}, false, "104"), 0U);
}

TEST_F(DrainWatchTest, AnotherOwnersDrainIsNotOurs) {
  states_["n3"].by = "operator";
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look(seconds{4}, false, "104"), 0U);
}

TEST_F(DrainWatchTest, ADaemonThatRestartsWhileItIsAskedIsSeenToHaveRestarted) {
  EXPECT_EQ(look_across(seconds{1}, true, "100", "103"), 0U) << "the view is of the first";
  EXPECT_EQ(look_across(seconds{2}, false, "103", "103"), 1U);
}

TEST_F(DrainWatchTest, ADaemonThatRestartsBeforeItShowsTheNodeIsSeenToHaveRestarted) {
  EXPECT_EQ(look(seconds{1}, true, "100"), 0U);
  EXPECT_EQ(look_across(seconds{2}, false, "100", "103"), 1U) << "asked again after the view";
}

TEST_F(DrainWatchTest, WithoutABootIdNothingIsConcluded) {
  EXPECT_EQ(look(seconds{1}, true, ""), 0U);
  EXPECT_EQ(look(seconds{2}, false, "103"), 0U);
}

TEST_F(DrainWatchTest, TheBootIdIsAskedForOnlyWhileADrainIsYoung) {
  EXPECT_TRUE(DrainWatch::any_young(states_, start_ + DrainWatch::unsaved_max));
  EXPECT_FALSE(DrainWatch::any_young(states_, start_ + DrainWatch::unsaved_max + seconds{1}));
  EXPECT_FALSE(DrainWatch::any_young({}, start_));
}

}  // namespace
}  // namespace faultline
