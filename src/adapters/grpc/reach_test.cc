// That a controller is reached, and that nobody there notices.
#include "adapters/grpc/reach.h"

#include "adapters/grpc/transport_fixture.h"

namespace faultline {
namespace {

using testing::HasSubstr;

class Reach : public Transport {
 protected:
  Status reached(std::optional<TlsFiles> tls) {
    return reach({address, std::move(tls), "ctl"}, system_clock, long_enough);
  }
};

TEST_F(Reach, ItIsNoAgentThatAsks) {
  make_authority();
  start_server(files("ctl"));
  const auto n3 = certify("n3", PeerRole::agent);
  ASSERT_TRUE(uplink("n3", n3).heartbeat(system_clock.now(), {}).ok());
  const auto streams = server_counters.get("grpc_streams_opened_total");
  const auto status = reached(n3);
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(server_counters.get("grpc_streams_opened_total"), streams);
  EXPECT_EQ(server_counters.get("grpc_streams_replaced_total"), 0U);
  EXPECT_TRUE(server_warnings.empty());
}

TEST_F(Reach, WithoutCertificatesOnOneMachine) {
  start_server();
  EXPECT_TRUE(reached(std::nullopt).ok());
  server.reset();
  const auto status = reached(std::nullopt);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::unavailable);
  EXPECT_THAT(status.error().message, HasSubstr("Connection refused"));
}

TEST_F(Reach, ACertificateOfAnotherAuthorityIsRefused) {
  make_authority();
  start_server(files("ctl"));
  const std::string other = folder + "/other";
  ASSERT_TRUE(init_authority(other, 100, false, system_clock).ok());
  ASSERT_TRUE(issue(other, {.name = "n3", .days = 10}, system_clock).ok());
  testing::internal::CaptureStderr();  // gRPC says it, too
  const auto status =
      reached(TlsFiles{files("n3").authority, other + "/n3.crt", other + "/n3.key"});
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::permission_denied);
}

}  // namespace
}  // namespace faultline
