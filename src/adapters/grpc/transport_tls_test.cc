// Who is who, by certificates: names, roles and authorities that are wrong are refused, and both
// sides say why.
#include "adapters/grpc/transport_fixture.h"

namespace faultline {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

class TransportTls : public Transport {};

TEST_F(TransportTls, TheNameInTheCertificateIsTheNode) {
  make_authority();
  start_server(files("ctl"));
  const auto n3 = certify("n3", PeerRole::agent);
  const auto sent = uplink("n3", n3).send({event_of("n3", 1)}, long_enough);
  ASSERT_TRUE(sent.ok()) << sent.error().message;
  ASSERT_EQ(controller.taken().size(), 1U);
  EXPECT_EQ(controller.taken()[0].first, "n3");
}

TEST_F(TransportTls, ACertificateCannotSpeakForAnotherNode) {
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

TEST_F(TransportTls, EventsOfAnotherNodeAreRefusedAndTheRestTaken) {
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

TEST_F(TransportTls, ACertificateOfAnotherAuthorityIsRefused) {
  make_authority();
  start_server(files("ctl"));
  const std::string other = folder + "/other";
  ASSERT_TRUE(init_authority(other, 100, false, system_clock).ok());
  IssueRequest request;
  request.name = "n3";
  request.days = 10;
  ASSERT_TRUE(issue(other, request, system_clock).ok());
  testing::internal::CaptureStderr();
  // It believes our controller; our controller does not believe it.
  const TlsFiles mixed{folder + "/ca.crt", other + "/n3.crt", other + "/n3.key"};
  const auto sent = uplink("n3", mixed).send({event_of("n3", 1)}, long_enough);
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(sent.error().message,
              HasSubstr("is " + mixed.certificate + " from the controller's authority"));
  EXPECT_GT(server_counters.get("grpc_tls_refused_total"), 0U);
  EXPECT_THAT(server_warnings,
              testing::Contains(HasSubstr("refused a TLS handshake: certificate verify failed")));
  EXPECT_EQ(server_warnings.size(), 1U);  // however often it tries
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  // And the other way round: an agent does not talk to a controller that its authority has not
  // signed.
  const TlsFiles stranger{other + "/ca.crt", folder + "/ctl.crt", folder + "/ctl.key"};
  const auto disbelieved = uplink("n3", stranger).send({event_of("n3", 1)}, long_enough);
  ASSERT_FALSE(disbelieved.ok());
  EXPECT_EQ(disbelieved.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(disbelieved.error().message, HasSubstr("(certificate verify failed)"));
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(TransportTls, ARefusalStaysOneUntilItIsTriedAgainAndAControllerThatIsDownIsNone) {
  make_authority();
  start_server(files("ctl"));
  auto& link = uplink("n4", certify("n3", PeerRole::agent));
  const Status refused = link.heartbeat(clock.now(), {});
  ASSERT_FALSE(refused.ok());
  for (int i = 0; i < 3; ++i) {
    const Status again = link.heartbeat(clock.now(), {});
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, ErrorCode::permission_denied);
    EXPECT_EQ(again.error().message, refused.error().message);
  }
  EXPECT_EQ(counters.get("uplink_connects_total"), 1U) << "it waits";
  server.reset();
  clock.advance(seconds{60});
  const Status down = link.heartbeat(clock.now(), {});
  ASSERT_FALSE(down.ok());
  EXPECT_EQ(down.error().code, ErrorCode::unavailable);
  EXPECT_THAT(down.error().message, HasSubstr("Connection refused"));
  EXPECT_TRUE(warnings.empty()) << "whoever asks has the Status to tell";
}

TEST_F(TransportTls, OneSideWithoutCertificatesIsToldWhatToDo) {
  make_authority();
  start_server(files("ctl"));
  const Status plain = uplink("n3").heartbeat(clock.now(), {});
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(plain.error().message, HasSubstr("does it want certificates"));
  server.reset();
  start_server();
  const Status secret = uplink("n3", certify("n3", PeerRole::agent)).heartbeat(clock.now(), {});
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(secret.error().message, HasSubstr("does it speak TLS"));
}

TEST_F(TransportTls, AnEndedCertificateIsToldBeforeTheHandshakeAndRefusedInIt) {
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
            ErrorCode::permission_denied);
  EXPECT_TRUE(controller.taken().empty());
}

TEST_F(TransportTls, AKeyOfAnotherCertificateIsNotTakenForAPortThatIsTaken) {
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

TEST_F(TransportTls, AControllerNeedsACertificateOfItsRole) {
  make_authority();
  EXPECT_TRUE(load_server_tls(files("ctl"), system_clock.now()).ok());
  const auto agent = load_server_tls(certify("n3", PeerRole::agent), system_clock.now());
  ASSERT_FALSE(agent.ok());
  EXPECT_EQ(agent.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(agent.error().message, HasSubstr("n3.crt is for the role agent, not for controller"));
}

TEST_F(TransportTls, AControllerNeedsACertificateInForce) {
  make_authority();
  const auto at = [&](Duration from_now) {
    const auto text = load_server_tls(files("ctl"), system_clock.now() + from_now);
    return text ? std::string("good") : text.error().message;
  };
  EXPECT_THAT(at(-days{1}), HasSubstr("is this machine's clock behind?"));
  EXPECT_EQ(at(days{certificate_days_default - 1}), "good");
  EXPECT_THAT(at(days{certificate_days_default + 1}), HasSubstr("issue a new one"));
}

TEST_F(TransportTls, AControllerNeedsTheAuthorityThatSignedItsCertificate) {
  make_authority();
  ASSERT_TRUE(init_authority(folder + "/other", 100, false, system_clock).ok());
  TlsFiles mixed = files("ctl");
  mixed.authority = folder + "/other/ca.crt";
  const auto stranger = load_server_tls(mixed, system_clock.now());
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(stranger.error().message,
              HasSubstr(mixed.authority + " cannot vouch for " + mixed.certificate));
}

TEST_F(TransportTls, WarnsBeforeACertificateEnds) {
  make_authority();
  start_server(files("ctl"));
  const auto n3 = certify("n3", PeerRole::agent);
  clock.step_wall(system_clock.now() + days{certificate_days_default - 13});
  ASSERT_TRUE(uplink("n3", n3).send({event_of("n3", 1)}, long_enough).ok());
  EXPECT_THAT(warnings.front(), HasSubstr("n3.crt ends in"));
  const auto reconnect_after = [&](Duration duration) {
    server.reset();
    start_server(files("ctl"));
    clock.advance(duration);
    // A heartbeat may still be written into the stream that has just ended.
    const auto opened = server_counters.get("grpc_streams_opened_total");
    while (server_counters.get("grpc_streams_opened_total") == opened) {
      if (!uplinks.front()->heartbeat(clock.now(), {}).ok()) clock.advance(seconds{60});
    }
  };
  reconnect_after(hours{20});
  EXPECT_EQ(warnings.size(), 1U) << "once a day, not with each connection";
  reconnect_after(hours{4});
  EXPECT_EQ(warnings.size(), 2U);
}

TEST_F(TransportTls, RolesAreKeptApart) {
  make_authority();
  start_server(files("ctl"));
  const auto alice = certify("alice", PeerRole::operators);
  const auto n3 = certify("n3", PeerRole::agent);
  const auto approved =
      operate({address, alice, "ctl"}, RequestKind::approve, "d-1", system_clock, long_enough);
  ASSERT_TRUE(approved.ok()) << approved.error().message;
  EXPECT_EQ(*approved, (PersonAnswer{AnswerKind::taken, "alice approve d-1"}));
  const auto denied =
      operate({address, n3, "ctl"}, RequestKind::approve, "d-1", system_clock, long_enough);
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(denied.error().message, HasSubstr("has the role agent, this needs operator"));
  EXPECT_EQ(uplink("alice", alice).send({event_of("alice", 1)}, long_enough).error().code,
            ErrorCode::permission_denied);
  const auto missing =
      operate({address, alice, "ctl"}, RequestKind::deny, "d-missing", system_clock, long_enough);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(operate({address, alice, "ctl"}, RequestKind::deny, "d\n1", system_clock, long_enough)
                .error()
                .code,
            ErrorCode::invalid_argument);
}

TEST_F(TransportTls, AnAgentsCertificateCannotPlayTheController) {
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

}  // namespace
}  // namespace faultline
