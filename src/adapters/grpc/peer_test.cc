#include "adapters/grpc/peer.h"

#include <gtest/gtest.h>

#include <atomic>

#include "adapters/grpc/worker_pool.h"

namespace faultline {
namespace {

TEST(PeerOfCertificate, NeedsOneNameAndOneRole) {
  const auto peer = peer_of_certificate({"n3"}, {"https://example/x", "faultline:role:agent"});
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->name, "n3");
  EXPECT_EQ(peer->role, PeerRole::agent);
  EXPECT_FALSE(peer_of_certificate({}, {"faultline:role:agent"}).ok());
  EXPECT_FALSE(peer_of_certificate({"n3", "n4"}, {"faultline:role:agent"}).ok());
  EXPECT_FALSE(peer_of_certificate({std::string("n3\0n4", 5)}, {"faultline:role:agent"}).ok());
  EXPECT_FALSE(peer_of_certificate({"n3"}, {}).ok());
  EXPECT_FALSE(peer_of_certificate({"n3"}, {"faultline:role:root"}).ok());
  EXPECT_FALSE(
      peer_of_certificate({"n3"}, {"faultline:role:agent", "faultline:role:operator"}).ok());
}

TEST(IsLoopback, OnlyAddressesThatNobodyElseReaches) {
  for (const char* address : {"127.0.0.1:1", "127.8.9.1:9176", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(is_loopback(address)) << address;
  }
  for (const char* address :
       {"0.0.0.0:1", "[::]:1", "127.0.0.1.example.org:1", "localhost.example:1", "10.0.0.1:1",
        "127.0.0.1", "", ":9176", "128.0.0.1:1"}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

TEST(WorkerPool, TurnsAwayWhatDoesNotFitAndRunsTheRest) {
  std::atomic<int> ran = 0;
  WorkerPool pool(0, 1);  // nobody works, so the line is as the test leaves it
  EXPECT_TRUE(pool.submit([&] { ++ran; }));
  EXPECT_FALSE(pool.submit([&] { ++ran; }));
  EXPECT_TRUE(pool.submit([&] { ++ran; }, WorkerPool::Line::always));
  WorkerPool working(2, 100);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(working.submit([&] { ++ran; }));
  working.stop();
  EXPECT_EQ(ran, 50);
  EXPECT_FALSE(working.submit([&] { ++ran; }, WorkerPool::Line::always));
}

}  // namespace
}  // namespace faultline
