// Two agents of one node's name: who has it keeps it, and a node that restarts, reboots or is set
// up anew gets it back.
#include <atomic>

#include "adapters/grpc/transport_fixture.h"

namespace faultline {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// The server's, which its thread reads while the test moves it.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return SystemClock().now(); }
  [[nodiscard]] Duration monotonic() const override { return Duration{elapsed_ns_}; }
  void sleep(Duration duration) const override { advance(duration); }
  void advance(Duration duration) const { elapsed_ns_ += duration.count(); }

 private:
  mutable std::atomic<std::int64_t> elapsed_ns_ = 0;
};

const AgentIdentity first_agent{"host-a", "boot-1", "2026-11-30T10:00:00Z"};
const AgentIdentity other_host{"host-b", "boot-2", "2026-11-30T11:00:00Z"};
const AgentIdentity other_state{"host-a", "boot-1", "2026-11-30T11:00:00Z"};
const AgentIdentity rebooted{"host-a", "boot-2", "2026-11-30T10:00:00Z"};
const AgentIdentity set_up_anew{"host-a", "boot-2", "2026-11-30T11:00:00Z"};

class Rivals : public Transport {
 protected:
  Rivals() { server_clock = &shared_clock; }
  ~Rivals() override {
    controller.release();
    uplinks.clear();
    server.reset();  // before its clock
  }

  GrpcUplink& agent(const AgentIdentity& who, const std::string& node = "n3") {
    auto& made = uplink(node);
    made.introduce(who);
    return made;
  }
  /// Another try of it, with the wait after the last one over.
  Status speak(GrpcUplink& agent, const std::string& node = "n3") {
    clock.advance(minutes{1});
    return agent.send({event_of(node, ++events)}, long_enough);
  }
  void expect_refused(GrpcUplink& agent, const std::string& node = "n3") {
    const Status sent = speak(agent, node);
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(sent.error().code, ErrorCode::conflict) << sent.error().message;
    EXPECT_THAT(sent.error().message, testing::HasSubstr("host host-a, boot boot-1"));
  }

  SharedClock shared_clock;
  std::uint64_t events = 0;
};

TEST_F(Rivals, ASecondAgentIsRefusedWhileTheFirstOneSpeaks) {
  start_server();
  auto& first = agent(first_agent);
  ASSERT_TRUE(speak(first).ok());
  for (const auto& rival : {other_host, rebooted, other_state}) {
    auto& refused = agent(rival);
    for (int i = 0; i < 3; ++i) {
      expect_refused(refused);
      shared_clock.advance(seconds{9});
      ASSERT_TRUE(speak(first).ok()) << "left alone";
    }
  }
  EXPECT_EQ(controller.taken().size(), 10U);
  EXPECT_EQ(server_counters.get("grpc_rivals_refused_total"), 9U);
  ASSERT_EQ(server_warnings.size(), 3U) << "each of them once";
  EXPECT_THAT(server_warnings[0], testing::HasSubstr("host-b, boot boot-2"));
  EXPECT_THAT(server_warnings[0], testing::HasSubstr("host-a, boot boot-1"));
}

TEST_F(Rivals, ANameIsKeptForAMinuteAfterTheLastWord) {
  start_server();
  for (const bool closed : {false, true}) {
    for (const auto& rival : {other_host, other_state}) {
      const std::string node = "n" + std::to_string(uplinks.size());
      auto& first = agent(first_agent, node);
      ASSERT_TRUE(speak(first, node).ok());
      if (closed) uplinks.back().reset();
      auto& refused = agent(rival, node);
      shared_clock.advance(minutes{1} - nanoseconds{1});
      expect_refused(refused, node);
      shared_clock.advance(nanoseconds{1});
      EXPECT_TRUE(speak(refused, node).ok());
      if (closed) continue;
      EXPECT_FALSE(first.send({event_of(node, 1)}, long_enough).ok()) << "its stream was ended";
    }
  }
}

TEST_F(Rivals, AnAgentThatTheBusyControllerDidNotAnswerFindsItsNameFree) {
  start_server();
  auto& first = agent(first_agent);
  ASSERT_TRUE(speak(first).ok());
  controller.hold();
  EXPECT_EQ(first.send({event_of("n3", 100)}, nothing_comes).error().code,
            ErrorCode::deadline_exceeded);
  shared_clock.advance(minutes{2});
  auto& rival = agent(other_host);
  expect_refused(rival);
  controller.release();
  expect_refused(rival);
  EXPECT_TRUE(speak(first).ok());
}

TEST_F(Rivals, ARebootedNodeGetsItsNameAtOnceWhenTheStreamBeforeIsClosed) {
  start_server();
  for (const auto& next : {rebooted, set_up_anew}) {
    const std::string node = "n" + std::to_string(uplinks.size());
    ASSERT_TRUE(speak(agent(first_agent, node), node).ok());
    uplinks.back().reset();
    auto& back = agent(next, node);
    while (!speak(back, node).ok()) continue;  // until the server has seen the end of the stream
  }
}

TEST_F(Rivals, ANodeThatLostItsPowerGetsItsNameAfterTenSeconds) {
  start_server();
  for (const auto& next : {rebooted, set_up_anew}) {
    const std::string node = "n" + std::to_string(uplinks.size());
    auto& ghost = agent(first_agent, node);
    ASSERT_TRUE(speak(ghost, node).ok());
    auto& back = agent(next, node);
    shared_clock.advance(seconds{10} - nanoseconds{1});
    expect_refused(back, node);
    shared_clock.advance(nanoseconds{1});
    EXPECT_TRUE(speak(back, node).ok());
    EXPECT_FALSE(ghost.send({event_of(node, 1)}, long_enough).ok()) << "its stream was ended";
  }
}

TEST_F(Rivals, ARestartedAgentAnotherHostNameAndAnOlderProgramAreNoRivals) {
  start_server();
  AgentIdentity renamed = first_agent;
  renamed.host = "host-c";
  for (const auto& who : {first_agent, first_agent, renamed, AgentIdentity{}})
    EXPECT_TRUE(speak(agent(who)).ok());
  EXPECT_EQ(server_counters.get("grpc_rivals_refused_total"), 0U);
}

TEST_F(Rivals, AnOlderProgramDoesNotOpenTheDoorToARival) {
  start_server();
  ASSERT_TRUE(speak(agent(first_agent)).ok());
  ASSERT_TRUE(speak(agent(AgentIdentity{})).ok());
  expect_refused(agent(other_host));
}

TEST_F(Rivals, TwoRivalsInTurnAreSaidOnceEach) {
  start_server();
  ASSERT_TRUE(speak(agent(first_agent)).ok());
  auto& second = agent(other_host);
  auto& third = agent(other_state);
  expect_refused(second);
  expect_refused(third);
  EXPECT_EQ(server_warnings.size(), 1U) << "at most one a second";
  for (int i = 0; i < 3; ++i) {
    shared_clock.advance(seconds{1});
    expect_refused(third);
    expect_refused(second);
  }
  EXPECT_EQ(server_warnings.size(), 2U);
}

}  // namespace
}  // namespace faultline
