// Server and client together over loopback. Deadlines are long where an answer is expected and
// short where none can come, so nothing here depends on how busy the machine is.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "adapters/grpc/client.h"
#include "adapters/grpc/fake_controller.h"
#include "adapters/grpc/server.h"
#include "adapters/pki/authority.h"

namespace faultline {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Duration long_enough = seconds{60};
constexpr Duration nothing_comes = milliseconds{300};

Event event_of(const std::string& node, std::uint64_t number, std::string text = "NVRM: Xid 79") {
  Event event;
  event.source = EventSource::kernel_log;
  event.kind = EventKind::log_signature;
  event.reporter = node;
  event.subject = Subject::of_node(node);
  event.observed_at = Instant{seconds{1'790'000'000}};
  event.signature = "xid.79";
  event.raw = {"/dev/kmsg", number, "b0", std::move(text)};
  event.id = make_event_id(event);
  return event;
}

class Transport : public testing::Test {
 protected:
  Transport() {
    std::string pattern = testing::TempDir() + "transport.XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Transport() override {
    controller.release();
    uplinks.clear();
    server.reset();
    std::filesystem::remove_all(folder);
  }

  void start_server(std::optional<TlsFiles> tls = std::nullopt,
                    const std::function<void(GrpcServerOptions&)>& change = {}) {
    GrpcServerOptions options;
    options.listen = address.empty() ? "127.0.0.1:0" : address;
    options.tls = std::move(tls);
    options.ruling_poll = milliseconds{10};
    options.warn = [this](const std::string& text) { server_warnings.push_back(text); };
    if (change) change(options);
    auto started =
        GrpcServer::start(options, controller, controller, system_clock, server_counters);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
    address = server->address();
  }

  GrpcUplink& uplink(const std::string& node, std::optional<TlsFiles> tls = std::nullopt,
                     const std::string& at = "") {
    GrpcUplinkOptions options;
    options.controller = {at.empty() ? address : at, std::move(tls), "ctl"};
    options.node = node;
    options.connect_deadline = long_enough;
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
    uplinks.push_back(std::make_unique<GrpcUplink>(options, clock, Rng(1), counters));
    return *uplinks.back();
  }

  void make_authority() {
    ASSERT_TRUE(init_authority(folder, authority_days_default, false, system_clock).ok());
    certify("ctl", PeerRole::controller);
  }
  TlsFiles files(const std::string& name) const {
    return {folder + "/ca.crt", folder + "/" + name + ".crt", folder + "/" + name + ".key"};
  }
  TlsFiles certify(const std::string& name, PeerRole role) {
    IssueRequest request;
    request.name = name;
    request.role = role;
    const auto issued = issue(folder, request, system_clock);
    EXPECT_TRUE(issued.ok());
    return files(name);
  }

  std::string folder;
  std::string address;
  SystemClock system_clock;
  ManualClock clock{SystemClock().now()};  // of the uplinks: waits pass when the test says so
  FakeController controller;
  Counters server_counters;
  Counters counters;
  std::vector<std::string> server_warnings;
  std::vector<std::string> warnings;
  std::unique_ptr<GrpcServer> server;
  std::vector<std::unique_ptr<GrpcUplink>> uplinks;
};

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
  GrpcServerOptions options;
  options.listen = address;
  const auto second =
      GrpcServer::start(options, controller, controller, system_clock, server_counters);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
}

TEST_F(Transport, TheNameInTheCertificateIsTheNode) {
  make_authority();
  start_server(files("ctl"));
  const auto n3 = certify("n3", PeerRole::agent);
  const auto sent = uplink("n3", n3).send({event_of("n3", 1)}, long_enough);
  ASSERT_TRUE(sent.ok()) << sent.error().message;
  ASSERT_EQ(controller.taken().size(), 1U);
  EXPECT_EQ(controller.taken()[0].first, "n3");
}

TEST_F(Transport, ACertificateCannotSpeakForAnotherNode) {
  make_authority();
  start_server(files("ctl"));
  const auto sent =
      uplink("n4", certify("n3", PeerRole::agent)).send({event_of("n4", 1)}, long_enough);
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(sent.error().message,
              HasSubstr("the certificate is of 'n3' and cannot speak for 'n4'"));
  EXPECT_EQ(server_counters.get("grpc_wrong_speaker_total"), 1U);
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(Transport, EventsOfAnotherNodeAreRefusedAndTheRestTaken) {
  make_authority();
  start_server(files("ctl"));
  auto& link = uplink("n3", certify("n3", PeerRole::agent));
  ASSERT_TRUE(link.send({event_of("n4", 1), event_of("n3", 2)}, long_enough).ok());
  ASSERT_EQ(controller.taken().size(), 1U);
  EXPECT_EQ(controller.taken()[0].second, event_of("n3", 2));
  EXPECT_EQ(server_counters.get("wire_events_not_permitted_total"), 1U);
  EXPECT_EQ(counters.get("uplink_events_refused_total"), 1U);
  EXPECT_THAT(warnings.back(), HasSubstr("an agent speaks for its own node alone"));
}

TEST_F(Transport, ACertificateOfAnotherAuthorityIsRefused) {
  make_authority();
  start_server(files("ctl"));
  const std::string other = folder + "/other";
  ASSERT_TRUE(init_authority(other, 100, false, system_clock).ok());
  IssueRequest request;
  request.name = "n3";
  request.days = 10;
  ASSERT_TRUE(issue(other, request, system_clock).ok());
  // It believes our controller; our controller does not believe it.
  const TlsFiles mixed{folder + "/ca.crt", other + "/n3.crt", other + "/n3.key"};
  const auto sent = uplink("n3", mixed).send({event_of("n3", 1)}, long_enough);
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::unavailable);
  EXPECT_THAT(sent.error().message, HasSubstr("from the controller's authority"));
  // And the other way round: an agent does not talk to a controller that its authority has not
  // signed.
  const TlsFiles stranger{other + "/ca.crt", folder + "/ctl.crt", folder + "/ctl.key"};
  EXPECT_FALSE(uplink("n3", stranger).send({event_of("n3", 1)}, long_enough).ok());
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(Transport, AnEndedCertificateIsToldBeforeTheHandshakeAndRefusedInIt) {
  make_authority();
  start_server(files("ctl"));
  ManualClock past(system_clock.now() - days{30});
  ASSERT_TRUE(init_authority(folder + "/old", 1000, false, past).ok());
  IssueRequest request;
  request.name = "n3";
  request.days = 20;
  // Signed by the authority that the controller believes, ten days too long ago.
  std::filesystem::copy_file(folder + "/ca.crt", folder + "/old/ca.crt",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(folder + "/ca.key", folder + "/old/ca.key",
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(issue(folder + "/old", request, past).ok());
  const TlsFiles ended{folder + "/ca.crt", folder + "/old/n3.crt", folder + "/old/n3.key"};
  const auto told = uplink("n3", ended).send({event_of("n3", 1)}, long_enough);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(told.error().message, HasSubstr("issue a new one"));

  clock.step_wall(past.now() + days{1});  // an agent whose clock hides it
  EXPECT_EQ(uplink("n3", ended).send({event_of("n3", 1)}, long_enough).error().code,
            ErrorCode::unavailable);
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(Transport, AKeyOfAnotherCertificateIsNotTakenForAPortThatIsTaken) {
  make_authority();
  GrpcServerOptions options;
  options.listen = "127.0.0.1:0";
  options.tls = files("ctl");
  options.tls->key = certify("n3", PeerRole::agent).key;
  const auto started =
      GrpcServer::start(options, controller, controller, system_clock, server_counters);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::conflict);
  EXPECT_EQ(
      started.error().message,
      options.tls->key + " is the key of another certificate, not of " + options.tls->certificate);
}

TEST_F(Transport, AControllerNeedsACertificateOfItsRole) {
  make_authority();
  EXPECT_TRUE(load_server_tls(files("ctl"), system_clock.now()).ok());
  const auto agent = load_server_tls(certify("n3", PeerRole::agent), system_clock.now());
  ASSERT_FALSE(agent.ok());
  EXPECT_EQ(agent.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(agent.error().message, HasSubstr("n3.crt is for the role agent, not for controller"));
}

TEST_F(Transport, WarnsBeforeACertificateEnds) {
  make_authority();
  start_server(files("ctl"));
  const auto n3 = certify("n3", PeerRole::agent);
  clock.step_wall(system_clock.now() + days{certificate_days_default - 13});
  ASSERT_TRUE(uplink("n3", n3).send({event_of("n3", 1)}, long_enough).ok());
  EXPECT_THAT(warnings.front(), HasSubstr("n3.crt ends in"));
}

TEST_F(Transport, RolesAreKeptApart) {
  make_authority();
  start_server(files("ctl"));
  const auto alice = certify("alice", PeerRole::operators);
  const auto n3 = certify("n3", PeerRole::agent);
  const auto approved =
      operate({address, alice, "ctl"}, "approve", "d-1", system_clock, long_enough);
  ASSERT_TRUE(approved.ok()) << approved.error().message;
  EXPECT_EQ(*approved, "alice approve d-1");
  const auto denied = operate({address, n3, "ctl"}, "approve", "d-1", system_clock, long_enough);
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(denied.error().message, HasSubstr("has the role agent, this needs operator"));
  EXPECT_EQ(uplink("alice", alice).send({event_of("alice", 1)}, long_enough).error().code,
            ErrorCode::permission_denied);
  const auto missing =
      operate({address, alice, "ctl"}, "deny", "d-missing", system_clock, long_enough);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(
      operate({address, alice, "ctl"}, "deny", "d\n1", system_clock, long_enough).error().code,
      ErrorCode::invalid_argument);
}

TEST_F(Transport, AnAgentsCertificateCannotPlayTheController) {
  make_authority();
  IssueRequest request;
  request.name = "n4";
  request.dns_names = {"ctl"};
  ASSERT_TRUE(issue(folder, request, system_clock).ok());
  start_server(files("n4"));
  const auto sent =
      uplink("n3", certify("n3", PeerRole::agent)).send({event_of("n3", 1)}, long_enough);
  EXPECT_FALSE(sent.ok());
  EXPECT_TRUE(controller.taken().empty());
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
  EXPECT_EQ(waiting.error().code, ErrorCode::unavailable);
  EXPECT_THAT(waiting.error().message, HasSubstr("next attempt in"));
  EXPECT_EQ(counters.get("uplink_connects_total"), 1U);
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
