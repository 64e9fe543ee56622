#include "detect/attempt_tracker.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

Event about(EventKind kind, const AttemptId& id, Fields fields = {}) {
  Event event;
  event.kind = kind;
  event.attempt = id;
  event.subject = Subject::of_attempt(id);
  event.fields = std::move(fields);
  event.observed_at = event.received_at = Instant{std::chrono::hours{1000}};
  event.id = make_event_id(event);
  return event;
}

Event about_rank(EventKind kind, const AttemptId& id, int rank, const std::string& node,
                 Fields fields = {}) {
  Event event = about(kind, id, std::move(fields));
  event.subject = Subject::of_rank(id, rank, node);
  return event;
}

TEST(AttemptTracker, LearnsNodesRanksAndEnd) {
  AttemptTracker tracker;
  const AttemptId id{"7", 1};
  tracker.observe(about(EventKind::attempt_started, id,
                        {{"nodes", "n[1-2]"}, {"user", "ann"}, {"array_job", "70"}}));
  tracker.observe(about_rank(EventKind::rank_started, id, 3, "n2",
                             {{"local_rank", "1"}, {"gpus", "00000000:3B:00.0"}, {"world", "8"}}));
  const AttemptRecord& record = *tracker.find(id);
  EXPECT_EQ(record.nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(record.family(), "70");
  EXPECT_EQ(record.rank_at("n2", 1), 3);
  EXPECT_EQ(record.place_of(3)->gpus, std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_EQ(record.world().size(), 8U);
  EXPECT_EQ(tracker.running_on("n2"), std::vector<AttemptId>{id});
  tracker.observe(about(EventKind::attempt_ended, id, {{"state", "node_fail"}}));
  EXPECT_EQ(record.state, AttemptState::node_fail);
  EXPECT_TRUE(tracker.running_on("n2").empty());
}

TEST(AttemptTracker, AGoodExitIsNoFailure) {
  AttemptTracker tracker;
  const AttemptId id{"7", 0};
  tracker.observe(about_rank(EventKind::rank_exited, id, 0, "n1", {{"exit_code", "0"}}));
  tracker.observe(about_rank(EventKind::rank_exited, id, 1, "n1", {{"signal", "9"}}));
  EXPECT_EQ(tracker.find(id)->failed_ranks.size(), 1U);
}

TEST(AttemptTracker, ForgetsTheLongestUntouchedFirst) {
  AttemptTracker tracker;
  for (std::uint32_t i = 0; i <= attempts_max; ++i) {
    if (i == attempts_max) tracker.observe(about(EventKind::attempt_started, {"7", 0}));
    tracker.observe(about(EventKind::attempt_started, {"7", i}));
  }
  EXPECT_NE(tracker.find({"7", 0}), nullptr);
  EXPECT_EQ(tracker.find({"7", 1}), nullptr);
  EXPECT_EQ(tracker.take_forgotten(), (std::vector<AttemptId>{{"7", 1}}));
}

TEST(AttemptTracker, BadNodeListsAreNotTaken) {
  AttemptTracker tracker;
  const AttemptId id{"7", 0};
  tracker.observe(about(EventKind::attempt_started, id, {{"nodes", "n[1-"}}));
  EXPECT_TRUE(tracker.find(id)->nodes.empty());
}

TEST(AttemptRecord, FindsANodeUnderItsOtherNames) {
  AttemptRecord record;
  record.nodes = {"n1", "n10", "gpu-7.cluster"};
  EXPECT_EQ(*record.node_called("n1"), "n1");
  EXPECT_EQ(*record.node_called("n10.example.org"), "n10");
  EXPECT_EQ(*record.node_called("n1-ib0"), "n1");
  EXPECT_EQ(*record.node_called("gpu-7"), "gpu-7.cluster");
  EXPECT_EQ(record.node_called("n100"), nullptr);
  EXPECT_EQ(record.node_called(""), nullptr);
}

TEST(AttemptTracker, ANodeIsCalledByItsAddressUnlessSeveralAre) {
  AttemptTracker tracker;
  const AttemptId id{"7", 0};
  const auto tells = [&](const char* host, const char* address) {
    Event event = about(EventKind::log_signature, id, {{"host", host}, {"own_address", address}});
    event.signature = own_address_signature;
    tracker.observe(event);
  };
  tracker.observe(about(EventKind::attempt_started, id, {{"nodes", "n[1-3]"}}));
  for (const char* host : {"n1", "n1", "n2"}) tells(host, "172.17.0.1");
  tells("n2", "10.0.0.2");
  tells("10.0.0.3", "10.0.0.3");
  tells("10.0.0.4", "10.0.0.5");
  tells("10.0.0.5", "10.0.0.4");
  const AttemptRecord& record = *tracker.find(id);
  EXPECT_EQ(*record.node_called("10.0.0.2"), "n2");
  for (const char* nobodys : {"172.17.0.1", "10.0.0.3", "10.0.0.4", "10.0.0.9"})
    EXPECT_EQ(record.node_called(nobodys), nullptr) << nobodys;
}

TEST(SignalOf, ReadsWhatLaunchersAndShellsWrite) {
  const auto signal = [](Fields fields) {
    Event event;
    event.fields = std::move(fields);
    return signal_of(event);
  };
  EXPECT_EQ(signal({{"signal", "9"}}), 9);
  EXPECT_EQ(signal({{"signal", "SIGSEGV"}}), 11);
  EXPECT_EQ(signal({{"rc", "-7"}}), 7);
  EXPECT_EQ(signal({{"exit_code", "137"}}), 9);
  EXPECT_EQ(signal({{"exit_code", "1"}}), 0);
  EXPECT_EQ(signal({{"exit_code", "-900"}}), 0);
  EXPECT_EQ(signal({}), 0);
}

TEST(SaysDown, TellsLossFromSavingPowerAndDraining) {
  const auto down = [](Fields fields) {
    Event event;
    event.fields = std::move(fields);
    return says_down(event);
  };
  EXPECT_TRUE(down({{"state", "DOWN*"}}));
  EXPECT_TRUE(down({{"state", "idle*"}}));
  EXPECT_TRUE(down({{"state", "whatever"}, {"down", "true"}}));
  EXPECT_FALSE(down({{"state", "DOWN+DRAIN"}, {"down", "false"}}));
  EXPECT_FALSE(down({{"state", "IDLE+POWERED_DOWN"}}));
  EXPECT_FALSE(down({{"state", "MIXED+DRAIN"}}));
}

}  // namespace
}  // namespace faultline
