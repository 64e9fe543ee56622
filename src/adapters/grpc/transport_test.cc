// Server and client together: what is sent arrives, once, and what hangs or breaks is noticed.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/grpc/transport_fixture.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// Accepts nothing and says nothing: what a controller that hangs looks like.
class SilentListener {
 public:
  SilentListener() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(name);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&name), length), 0);
    EXPECT_EQ(listen(descriptor_, 8), 0);
    EXPECT_EQ(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&name), &length), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(name.sin_port));
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() { close(descriptor_); }
  std::string address;

 private:
  int descriptor_;
};

TEST_F(Transport, DeliversEventsAndHeartbeatsInPlainTextOnLoopback) {
  start_server();
  auto& link = uplink("n3");
  const auto sent = link.send({event_of("n3", 1), event_of("n3", 2)}, long_enough);
  ASSERT_TRUE(sent.ok()) << sent.error().message;
  const auto taken = controller.taken();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].first, "n3");
  EXPECT_EQ(taken[1].second, event_of("n3", 2));
  const Instant now = Instant{seconds{1'790'000'123}};
  ASSERT_TRUE(link.heartbeat(now, {}).ok());
  EXPECT_EQ(controller.wait_heartbeat("n3"), now);
  EXPECT_EQ(counters.get("uplink_connections_total"), 1U);
}

TEST_F(Transport, AStreamSaysACounterWhenItChanged) {
  start_server();
  auto& link = uplink("n3");
  const Instant now = Instant{seconds{1'790'000'123}};
  ASSERT_TRUE(link.heartbeat(now, {{"a_total", 1}, {"b_total", 0}}).ok());
  ASSERT_TRUE(link.heartbeat(now, {{"a_total", 1}, {"b_total", 5}}).ok());
  using Said = std::pair<std::string, CounterValues>;
  const std::vector<Said> expected = {{"n3", {{"a_total", 1}}}, {"n3", {{"b_total", 5}}}};
  EXPECT_EQ(controller.wait_counters(2), expected);
}

TEST_F(Transport, NothingToSendIsFine) {
  start_server();
  EXPECT_TRUE(uplink("n3").send({}, long_enough).ok());
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(Transport, PlainTextNeverLeavesTheMachine) {
  GrpcServerOptions options;
  options.listen = "0.0.0.0:0";
  const auto started =
      GrpcServer::start(options, controller, controller, system_clock, server_counters);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
  auto& link = uplink("n3", std::nullopt, "controller.example:9176");
  EXPECT_EQ(link.send({event_of("n3", 1)}, long_enough).error().code, ErrorCode::invalid_argument);
}

TEST_F(Transport, ASecondControllerOnTheSamePortIsRefused) {
  start_server();
  testing::internal::CaptureStderr();
  GrpcServerOptions options;
  options.listen = address;
  const auto second =
      GrpcServer::start(options, controller, controller, system_clock, server_counters);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_EQ(second.error().message, "cannot listen on " + address + ": Address already in use");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // gRPC would say the same in its own form
}

TEST_F(Transport, WhatWasNotStoredIsSentAgainWithTheSameIds) {
  start_server();
  auto& link = uplink("n3");
  controller.refuse(Error{ErrorCode::unavailable, "disk full"});
  const std::vector<Event> events{event_of("n3", 1), event_of("n3", 2)};
  const auto refused = link.send(events, long_enough);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("disk full"));
  controller.refuse(std::nullopt);
  EXPECT_FALSE(link.send(events, long_enough).ok()) << "not at once";
  clock.advance(seconds{60});
  ASSERT_TRUE(link.send(events, long_enough).ok());
  ASSERT_EQ(controller.taken().size(), 2U);
  EXPECT_EQ(controller.taken()[0].second.id, events[0].id);
  EXPECT_EQ(counters.get("uplink_connections_total"), 1U) << "the stream was fine all the time";
}

TEST_F(Transport, AControllerThatRestartsInTheMiddleOfABatchGetsItAgain) {
  start_server();
  auto& link = uplink("n3");
  const std::vector<Event> events{event_of("n3", 1)};
  controller.hold();
  const auto unanswered = link.send(events, nothing_comes);
  EXPECT_EQ(unanswered.error().code, ErrorCode::deadline_exceeded);
  controller.release();
  server.reset();  // it stored the batch, and the agent never heard of it
  EXPECT_EQ(controller.taken().size(), 1U);
  clock.advance(seconds{60});
  EXPECT_EQ(link.send(events, long_enough).error().code, ErrorCode::unavailable);
  start_server();
  clock.advance(seconds{60});
  const auto again = link.send(events, long_enough);
  ASSERT_TRUE(again.ok()) << again.error().message;
  const auto taken = controller.taken();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].second.id, taken[1].second.id);
}

TEST_F(Transport, AStoppedControllerIsNoticedWithoutSending) {
  start_server();
  auto& link = uplink("n3");
  ASSERT_TRUE(link.heartbeat(clock.now(), {}).ok());
  server->stop();
  // The stream's end arrives when it arrives; each heartbeat looks.
  Status beat = ok_status();
  for (int i = 0; i < 1000 && beat.ok(); ++i) beat = link.heartbeat(clock.now(), {});
  ASSERT_FALSE(beat.ok());
  EXPECT_THAT(beat.error().message, HasSubstr("controller"));
  server.reset();
}

TEST_F(Transport, AControllerThatHangsCostsADeadlineAndNoMore) {
  const SilentListener silent;
  auto& link = uplink("n3", std::nullopt, silent.address);
  EXPECT_EQ(link.send({event_of("n3", 1)}, nothing_comes).error().code,
            ErrorCode::deadline_exceeded);
  const auto waiting = link.send({event_of("n3", 1)}, long_enough);
  EXPECT_EQ(waiting.error().code, ErrorCode::deadline_exceeded) << "as before, until it is tried";
  EXPECT_EQ(counters.get("uplink_connects_total"), 1U);
}

TEST_F(Transport, ARefusedHelloIsNoFaultOfAnEvent) {
  start_server();
  EXPECT_EQ(uplink("../n3").send({event_of("n3", 1)}, long_enough).error().code,
            ErrorCode::permission_denied)
      << "invalid_argument would cost the event";
}

TEST_F(Transport, ReconnectsOnlyAfterTheWaitAndThatGrows) {
  auto& link = uplink("n3", std::nullopt, "127.0.0.1:1");
  EXPECT_EQ(link.send({event_of("n3", 1)}, long_enough).error().code, ErrorCode::unavailable);
  clock.advance(milliseconds{500});
  EXPECT_FALSE(link.heartbeat(clock.now(), {}).ok());
  EXPECT_EQ(counters.get("uplink_connects_total"), 2U);
  clock.advance(milliseconds{499});  // the second wait is 500 ms to 1 s
  EXPECT_FALSE(link.heartbeat(clock.now(), {}).ok());
  EXPECT_EQ(counters.get("uplink_connects_total"), 2U);
  clock.advance(milliseconds{501});
  EXPECT_FALSE(link.heartbeat(clock.now(), {}).ok());
  EXPECT_EQ(counters.get("uplink_connects_total"), 3U);
}

TEST_F(Transport, AnOverloadedControllerTurnsBatchesAwayButNoHeartbeats) {
  start_server(std::nullopt, [](GrpcServerOptions& options) {
    options.workers = 1;
    options.waiting_max = 0;
  });
  auto& link = uplink("n3");
  const auto turned_away = link.send({event_of("n3", 1)}, long_enough);
  EXPECT_EQ(turned_away.error().code, ErrorCode::exhausted);
  EXPECT_EQ(server_counters.get("grpc_batches_turned_away_total"), 1U);
  EXPECT_TRUE(link.heartbeat(clock.now(), {}).ok());
  controller.wait_heartbeat("n3");
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(Transport, RulingsReachTheNodeOnceEvenOverTwoStreams) {
  start_server();
  auto& link = uplink("n3");
  ASSERT_TRUE(link.heartbeat(clock.now(), {}).ok());
  controller.rule("n3", {{"12_3", 1}, false, "looking"});
  controller.rule("n4", {{"99", 0}, true, "not for n3"});
  std::vector<Uplink::Ruling> rulings;
  while (rulings.empty()) rulings = link.take_rulings();
  ASSERT_EQ(rulings.size(), 1U);
  EXPECT_EQ(rulings[0].attempt, (AttemptId{"12_3", 1}));
  EXPECT_FALSE(rulings[0].final);

  server.reset();
  start_server();
  clock.advance(seconds{60});
  while (!link.heartbeat(clock.now(), {}).ok()) clock.advance(seconds{60});
  controller.rule("n3", {{"12_3", 1}, true, "node n3 drained"});
  rulings.clear();
  while (rulings.empty()) rulings = link.take_rulings();
  ASSERT_EQ(rulings.size(), 1U) << "the first one is told again by the new stream, and known";
  EXPECT_TRUE(rulings[0].final);
}

TEST_F(Transport, TheNewestStreamsOfANodeWin) {
  start_server();
  auto& first = uplink("n3");
  ASSERT_TRUE(first.heartbeat(clock.now(), {}).ok());
  ASSERT_TRUE(uplink("n3").send({event_of("n3", 1)}, long_enough).ok());
  ASSERT_TRUE(uplink("n3").send({event_of("n3", 2)}, long_enough).ok());
  Status beat = ok_status();
  while (beat.ok()) beat = first.heartbeat(clock.now(), {});
  EXPECT_EQ(server_counters.get("grpc_streams_replaced_total"), 1U);
  EXPECT_TRUE(uplinks[1]->send({event_of("n3", 3)}, long_enough).ok());
  EXPECT_TRUE(uplinks[2]->send({event_of("n3", 4)}, long_enough).ok());
}

TEST_F(Transport, MuchIsSentInSeveralBatchesInOrder) {
  start_server();
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 1000; ++i)
    events.push_back(event_of("n3", i, std::string(raw_text_bytes_max, 'x')));
  ASSERT_TRUE(uplink("n3").send(events, long_enough).ok());
  const auto taken = controller.taken();
  ASSERT_EQ(taken.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(taken[i].second.id, events[i].id) << i;
}

TEST_F(Transport, AnEventThatNobodyWouldTakeDoesNotBlockTheOthers) {
  start_server();
  Event endless = event_of("n3", 1);
  endless.raw.text = std::string(2 << 20, 'x');
  Event garbled = event_of("n3", 2);
  garbled.fields["text"] = "\xFF\xFE";
  ASSERT_TRUE(uplink("n3").send({endless, garbled, event_of("n3", 3)}, long_enough).ok());
  ASSERT_EQ(controller.taken().size(), 1U);
  EXPECT_EQ(counters.get("uplink_events_refused_total"), 2U);
}

}  // namespace
}  // namespace faultline
