// An agent that does not keep to the protocol, by gRPC itself: each stream ends with a reason and
// the server goes on.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "adapters/grpc/fake_controller.h"
#include "adapters/grpc/server.h"
#include "wire/convert.h"
#include "wire/faultline.grpc.pb.h"

namespace faultline {
namespace {

using testing::HasSubstr;

class HostileAgent : public testing::Test {
 protected:
  void start(const std::function<void(GrpcServerOptions&)>& change = {}) {
    GrpcServerOptions options;
    options.listen = "127.0.0.1:0";
    if (change) change(options);
    auto started = GrpcServer::start(options, controller, controller, clock, counters);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // windows stay at 64 KiB
    stub = v1::Controller::NewStub(grpc::CreateCustomChannel(
        server->address(), grpc::InsecureChannelCredentials(), arguments));
  }
  static v1::AgentMessage hello(std::uint32_t protocol = protocol_version,
                                const std::string& node = "n3") {
    v1::AgentMessage message;
    message.mutable_hello()->set_protocol(protocol);
    message.mutable_hello()->set_node(node);
    return message;
  }
  static v1::AgentMessage batch(std::uint64_t seq) {
    v1::AgentMessage message;
    message.mutable_batch()->set_seq(seq);
    return message;
  }
  /// Says these and then nothing, until the server ends the stream.
  grpc::Status end_of(const std::vector<v1::AgentMessage>& messages) {
    grpc::ClientContext context;
    const auto stream = stub->Report(&context);
    for (const auto& message : messages) stream->Write(message);
    v1::ControllerMessage answer;
    while (stream->Read(&answer)) continue;
    return stream->Finish();
  }
  /// A well-behaved stream still works.
  void expect_alive() {
    grpc::ClientContext context;
    const auto stream = stub->Report(&context);
    v1::ControllerMessage answer;
    EXPECT_TRUE(stream->Write(hello()));
    EXPECT_TRUE(stream->Read(&answer));
    EXPECT_EQ(answer.welcome().protocol(), protocol_version);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }

  SystemClock clock;
  Counters counters;
  FakeController controller;
  std::unique_ptr<GrpcServer> server;
  std::unique_ptr<v1::Controller::Stub> stub;
};

TEST_F(HostileAgent, HelloComesFirstAndOnce) {
  start();
  EXPECT_EQ(end_of({batch(1)}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(end_of({hello(), hello()}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(end_of({v1::AgentMessage()}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(end_of({hello(protocol_version, "../n3")}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  expect_alive();
}

TEST_F(HostileAgent, AnotherProtocolIsToldWhichOneIsSpoken) {
  start();
  const auto status = end_of({hello(protocol_version + 1)});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("the agent speaks protocol 2, the controller speaks 1"));
  expect_alive();
}

TEST_F(HostileAgent, AMessageIsAtMostOneMiB) {
  start();
  auto large = batch(1);
  large.mutable_batch()->add_events()->mutable_raw()->set_text(std::string(message_bytes_max, 'x'));
  EXPECT_EQ(end_of({hello(), large}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(controller.taken().empty());
  expect_alive();
}

TEST_F(HostileAgent, SilenceBeforeHelloEnds) {
  start([](GrpcServerOptions& options) {
    options.hello_deadline = std::chrono::milliseconds{1};
    options.ruling_poll = std::chrono::milliseconds{5};
  });
  EXPECT_EQ(end_of({}).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(HostileAgent, AMessageOfANewerAgentIsPassedOver) {
  start();
  grpc::ClientContext context;
  const auto stream = stub->Report(&context);
  v1::ControllerMessage answer;
  ASSERT_TRUE(stream->Write(hello()));
  ASSERT_TRUE(stream->Read(&answer));
  ASSERT_TRUE(stream->Write(v1::AgentMessage()));
  ASSERT_TRUE(stream->Write(batch(7)));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.ack().seq(), 7U);
  EXPECT_TRUE(answer.ack().stored());
  EXPECT_EQ(counters.get("grpc_messages_unknown_total"), 1U);
}

TEST_F(HostileAgent, OneThatDoesNotReadIsNotListenedToUntilItDoes) {
  start([](GrpcServerOptions& options) { options.ruling_poll = std::chrono::milliseconds{1}; });
  constexpr int rulings = 300;  // of a size that no window of a connection holds
  for (int i = 0; i < rulings; ++i) {
    controller.rule("n3", {{"1", 0}, false, std::string(60'000, 'x')});
  }
  grpc::ClientContext context;
  const auto stream = stub->Report(&context);
  ASSERT_TRUE(stream->Write(hello()));
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_agent_now_ns(1);
  while (counters.get("grpc_streams_not_read_total") == 0) {
    ASSERT_TRUE(stream->Write(heartbeat));
    clock.sleep(std::chrono::milliseconds{2});
  }
  v1::ControllerMessage answer;
  for (int i = 0; i < 1 + rulings; ++i) ASSERT_TRUE(stream->Read(&answer)) << i;
  ASSERT_TRUE(stream->Write(batch(1)));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.ack().seq(), 1U);
}

TEST_F(HostileAgent, StoppingDoesNotWaitForThem) {
  start();
  grpc::ClientContext context;
  const auto silent = stub->Report(&context);
  ASSERT_TRUE(silent->Write(hello()));
  v1::ControllerMessage answer;
  ASSERT_TRUE(silent->Read(&answer));
  server->stop();
  server->stop();
  EXPECT_FALSE(silent->Read(&answer));
  const auto status = silent->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("the controller is stopping"));
}

}  // namespace
}  // namespace faultline
