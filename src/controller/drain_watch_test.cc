#include "controller/drain_watch.h"

#include <gtest/gtest.h>

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
  /// The view `after` the drain, and what it shows lost.
  std::size_t look(seconds after, bool drained, const std::string& boot_id, bool down = false) {
    ClusterView view;
    view.taken_at = start_ + after;
    SchedulerNode node;
    node.name = "n3";
    node.drained = drained;
    node.down = down;
    node.available = !drained && !down;
    view.nodes["n3"] = node;
    return watch_.lost(states_, view, boot_id).size();
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

TEST_F(DrainWatchTest, TheBootIdIsAskedForOnlyWhileADrainIsYoungOrMissed) {
  EXPECT_TRUE(watch_.needs_boot_id(states_, start_ + DrainWatch::unsaved_max));
  EXPECT_FALSE(watch_.needs_boot_id(states_, start_ + DrainWatch::unsaved_max + seconds{1}));
  look(seconds{1}, true, "100");
  EXPECT_TRUE(watch_.needs_boot_id(states_, start_ + seconds{9000})) << "not seen since";
  EXPECT_FALSE(DrainWatch{}.needs_boot_id({}, start_));
}

}  // namespace
}  // namespace faultline
