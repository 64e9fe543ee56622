#include "adapters/agent_socket/unix_door.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/agent_socket/agent_client.h"
#include "adapters/agent_socket/socket_path.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class DoorTest : public testing::Test {
 protected:
  DoorTest() {
    std::string pattern = (fs::temp_directory_path() / "door-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = (folder_ / "agent.sock").string();
  }
  ~DoorTest() override { fs::remove_all(folder_); }

  std::unique_ptr<UnixDoor> open(UnixDoor::Limits limits = {}) {
    auto door = UnixDoor::listen(path_, clock_, counters_, limits);
    EXPECT_TRUE(door.ok()) << (door.ok() ? "" : door.error().message);
    return std::move(door).value();
  }
  /// Polls until `count` arrivals came, or nothing more does.
  static std::vector<LauncherDoor::Arrival> hear(UnixDoor& door, std::size_t count) {
    std::vector<LauncherDoor::Arrival> all;
    for (int i = 0; i < 50 && all.size() < count; ++i) {
      pollfd wait{door.wait_descriptor(), POLLIN, 0};
      if (::poll(&wait, 1, 300) == 0) break;  // what was sent has arrived: this is one machine
      for (auto& arrival : door.poll()) all.push_back(std::move(arrival));
    }
    return all;
  }
  /// A peer that says whatever it likes.
  int raw() const {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = socket_address(path_);
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<const sockaddr*>(&address.value()),
                        sizeof(sockaddr_un)),
              0);
    return descriptor;
  }
  static LauncherMessage message() {
    LauncherMessage message;
    message.verb = LauncherVerb::await_ruling;
    message.attempt = {"1", 0};
    message.rank = 0;
    message.at = Instant{std::chrono::seconds{1'800'000'000}};
    return message;
  }

  ManualClock clock_{Instant{std::chrono::seconds{1'800'000'000}}};
  Counters counters_;
  fs::path folder_;
  std::string path_;
};

TEST_F(DoorTest, CarriesMessagesAndRepliesAndKnowsThePeer) {
  auto door = open();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  ASSERT_TRUE(client.send(message()).ok());
  const auto arrivals = hear(*door, 1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].peer.uid, ::getuid());
  EXPECT_EQ(arrivals[0].peer.pid, ::getpid());
  EXPECT_EQ(arrivals[0].message.value(), message());
  door->reply(arrivals[0].peer.connection,
              {LauncherReply::Kind::ruling, {"1", 0}, true, "drained"});
  const auto replies = client.poll();
  ASSERT_TRUE(replies.ok());
  ASSERT_EQ(replies->size(), 1U);
  EXPECT_EQ(replies->front().text, "drained");
  client.close();
  hear(*door, 1);
  EXPECT_EQ(door->take_closed(), std::vector<std::uint64_t>{arrivals[0].peer.connection});
}

TEST_F(DoorTest, ClientWithoutAgentSaysSo) {
  AgentClient client;
  EXPECT_EQ(client.connect(path_).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(client.connected());
}

TEST_F(DoorTest, ClientNoticesThatTheAgentLeft) {
  auto door = open();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  hear(*door, 1);
  door.reset();
  EXPECT_FALSE(client.poll().ok());
  EXPECT_FALSE(client.connected());
  EXPECT_FALSE(client.send(message()).ok());
}

TEST_F(DoorTest, SecondAgentIsRefusedAndADeadOnesSocketReplaced) {
  auto door = open();
  EXPECT_EQ(UnixDoor::listen(path_, clock_, counters_).error().code, ErrorCode::conflict);
  hear(*door, 1);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  door.reset();
  const auto address = socket_address(path_);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address.value()), sizeof(sockaddr_un)),
            0);
  ::close(dead);  // the file stays
  door = open();
  EXPECT_NE(door, nullptr);
}

TEST_F(DoorTest, FileInTheWayIsNotDeleted) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(UnixDoor::listen(path_, clock_, counters_).error().code, ErrorCode::conflict);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(DoorTest, NonsenseIsAnErrorAndTheConnectionLives) {
  auto door = open();
  const int peer = raw();
  const std::string said = "GET / HTTP/1.0\r\n" + to_line(message()) + "\n";
  ASSERT_EQ(::send(peer, said.data(), said.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(said.size()));
  const auto arrivals = hear(*door, 2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_FALSE(arrivals[0].message.ok());
  EXPECT_TRUE(arrivals[1].message.ok());
  ::close(peer);
}

TEST_F(DoorTest, LineInPiecesIsOneLine) {
  auto door = open();
  const int peer = raw();
  const std::string line = to_line(message()) + "\n";
  for (const char c : line) {
    ASSERT_EQ(::send(peer, &c, 1, MSG_NOSIGNAL), 1);
    if (c != '\n') {
      EXPECT_TRUE(door->poll().empty());
    }
  }
  EXPECT_EQ(hear(*door, 1).size(), 1U);
  ::close(peer);
}

TEST_F(DoorTest, LineWithoutEndIsCutOff) {
  auto door = open();
  const int peer = raw();
  const std::string flood(64 * 1024, 'x');
  static_cast<void>(::send(peer, flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  for (int i = 0; i < 10 && door->take_closed().empty(); ++i) hear(*door, 1);
  EXPECT_EQ(counters_.get("agent_socket_lines_too_long_total"), 1U);
  ::close(peer);
}

TEST_F(DoorTest, FloodOfLinesIsDroppedAndOthersAreServed) {
  auto door = open();
  const int peer = raw();
  const std::string flood(10'000, '\n');
  static_cast<void>(::send(peer, flood.data(), flood.size(), MSG_NOSIGNAL));
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  ASSERT_TRUE(client.send(message()).ok());
  bool served = false;
  for (int i = 0; i < 20 && !served; ++i) {
    for (const auto& arrival : hear(*door, 1)) served = served || arrival.message.ok();
  }
  EXPECT_TRUE(served);
  EXPECT_EQ(counters_.get("agent_socket_floods_total"), 1U);
  ::close(peer);
}

TEST_F(DoorTest, TooManyConnectionsAreRefused) {
  auto door = open({.connections_max = 3, .connections_per_user_max = 2});
  std::vector<int> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(raw());
  for (int i = 0; i < 3; ++i) door->poll();
  EXPECT_EQ(counters_.get("agent_socket_connections_refused_total"), 2U);
  for (const int peer : peers) ::close(peer);
}

/// No descriptor can be made while this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 1;  // poll(2) of one descriptor is still allowed
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(DoorTest, WithoutADescriptorCallersWaitAndTheAgentSleeps) {
  auto door = open();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  ASSERT_TRUE(client.send(message()).ok());
  pollfd wait{door->wait_descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 0), 1);
  {
    const NoDescriptors none;
    for (std::uint64_t second = 1; second <= 3; ++second) {
      EXPECT_TRUE(door->poll().empty());
      EXPECT_EQ(counters_.get("agent_socket_accept_failures_total"), second);
      EXPECT_EQ(::poll(&wait, 1, 0), 0) << "it would be woken without end";
      EXPECT_TRUE(door->poll().empty());
      clock_.advance(std::chrono::seconds{1});
    }
  }
  EXPECT_EQ(hear(*door, 1).size(), 0U) << "nobody wakes it; the agent's own turn does";
  door->poll();
  EXPECT_EQ(hear(*door, 1).size(), 1U);
  EXPECT_EQ(counters_.get("agent_socket_accept_failures_total"), 3U);
}

TEST_F(DoorTest, WithoutADescriptorThoseThatAreInAreHeard) {
  auto door = open();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  door->poll();
  const int other = raw();
  ASSERT_TRUE(client.send(message()).ok());
  const NoDescriptors none;
  EXPECT_EQ(hear(*door, 1).size(), 1U);
  ::close(other);
}

TEST_F(DoorTest, WhoSaysNothingIsLetGoAndMakesRoom) {
  auto door = open({.connections_max = 3, .connections_per_user_max = 3});
  const int silent = raw();
  const int babbler = raw();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  ASSERT_TRUE(client.send(message()).ok());
  ASSERT_EQ(::send(babbler, "what?\n", 6, MSG_NOSIGNAL), 6);
  ASSERT_EQ(hear(*door, 2).size(), 2U);
  clock_.advance(std::chrono::seconds{10} - Duration{1});
  door->poll();
  EXPECT_TRUE(door->take_closed().empty()) << "slow is not silent";
  const int refused = raw();
  door->poll();
  EXPECT_EQ(counters_.get("agent_socket_connections_refused_total"), 1U);
  clock_.advance(Duration{1});
  door->poll();
  EXPECT_EQ(door->take_closed(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(counters_.get("agent_socket_silent_total"), 2U);
  AgentClient next;
  ASSERT_TRUE(next.connect(path_).ok());
  ASSERT_TRUE(next.send(message()).ok());
  EXPECT_EQ(hear(*door, 1).size(), 1U);
  clock_.advance(std::chrono::hours{24});
  door->poll();
  EXPECT_TRUE(door->take_closed().empty()) << "who has announced a rank may be silent for its life";
  for (const int peer : {silent, babbler, refused}) ::close(peer);
}

TEST_F(DoorTest, WhatWasSaidInTimeCountsAlsoIfTheAgentComesLateToHearIt) {
  auto door = open();
  AgentClient client;
  ASSERT_TRUE(client.connect(path_).ok());
  door->poll();
  ASSERT_TRUE(client.send(message()).ok());
  clock_.advance(std::chrono::minutes{1});
  EXPECT_EQ(door->poll().size(), 1U);
  EXPECT_TRUE(door->take_closed().empty());
}

TEST_F(DoorTest, PeerThatDoesNotReadIsDropped) {
  auto door = open();
  const int peer = raw();
  const std::string line = to_line(message()) + "\n";
  ASSERT_GT(::send(peer, line.data(), line.size(), MSG_NOSIGNAL), 0);
  const auto arrivals = hear(*door, 1);
  ASSERT_EQ(arrivals.size(), 1U);
  const LauncherReply reply{LauncherReply::Kind::ruling, {"1", 0}, false, std::string(1000, 'r')};
  for (int i = 0; i < 2000; ++i) door->reply(arrivals[0].peer.connection, reply);
  EXPECT_EQ(counters_.get("agent_socket_slow_readers_total"), 1U);
  ::close(peer);
}

TEST(SocketPath, IsExpandedAndChecked) {
  EXPECT_EQ(expand_socket_path("/run/%n/a-%n.sock", "n3"), "/run/n3/a-n3.sock");
  EXPECT_EQ(expand_socket_path("/run/a.sock", "n3"), "/run/a.sock");
  EXPECT_EQ(expand_socket_path("%n", "%n"), "%n") << "no endless replacement";
  EXPECT_TRUE(socket_address(std::string(107, 'x')).ok());
  EXPECT_FALSE(socket_address(std::string(108, 'x')).ok());
  EXPECT_FALSE(socket_address("").ok());
}

}  // namespace
}  // namespace faultline
