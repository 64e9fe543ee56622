// The agent's end of the agent socket: a Unix stream socket that any user of the node may connect
// to. Who a peer is, the kernel says; what it may speak for, the agent decides. Limits on
// everything, since the peer may be hostile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/launcher.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/result.h"

namespace faultline {

class UnixDoor final : public LauncherDoor {
 public:
  struct Limits {
    std::size_t connections_max = 1024;
    std::size_t connections_per_user_max = 512;
    /// Of one connection: a flood takes its turn like the others.
    std::size_t lines_per_poll_max = 64;
    std::size_t unread_bytes_max = 64 * 1024;  // replies that a peer has not read
    /// Who has said nothing that is understood by then, is let go.
    Duration hello_wait = std::chrono::seconds{10};
    /// Callers wait so long when there is no descriptor for them.
    Duration accept_pause = std::chrono::seconds{1};
  };

  /// Makes the socket, replacing one that nobody listens on any more. conflict if another agent
  /// does.
  static Result<std::unique_ptr<UnixDoor>> listen(const std::string& path, const Clock& clock,
                                                  Counters& counters, Limits limits);
  static Result<std::unique_ptr<UnixDoor>> listen(const std::string& path, const Clock& clock,
                                                  Counters& counters) {
    return listen(path, clock, counters, Limits{});
  }
  ~UnixDoor() override;
  UnixDoor(const UnixDoor&) = delete;
  UnixDoor& operator=(const UnixDoor&) = delete;

  std::vector<Arrival> poll() override;
  void reply(std::uint64_t connection, const LauncherReply& reply) override;
  std::vector<std::uint64_t> take_closed() override;
  [[nodiscard]] int wait_descriptor() const override { return epoll_; }

 private:
  struct Connection {
    int descriptor = -1;
    LauncherPeer peer;
    Duration since{0};     // monotonic
    bool greeted = false;  // a message of it was understood
    std::string in;
    std::string out;
  };

  UnixDoor(std::string path, const Clock& clock, Counters& counters, Limits limits);
  Status open();
  void accept_all();
  void pause_accepting(int number);
  void resume_accepting();
  bool watch_listener(int operation, std::uint32_t events) const;
  [[nodiscard]] bool full_for(std::uint32_t uid) const;
  void refuse(std::uint32_t uid);
  void close_silent();
  void read_from(Connection& connection, std::vector<Arrival>& arrivals);
  void take_lines(Connection& connection, std::vector<Arrival>& arrivals);
  void flush(Connection& connection);
  void close(std::uint64_t id);
  void watch(const Connection& connection, int operation) const;

  std::string path_;
  const Clock& clock_;
  Counters& counters_;
  Limits limits_;
  int listener_ = -1;
  int epoll_ = -1;
  std::uint64_t next_id_ = 1;  // 0 stands for the listener
  std::map<std::uint64_t, Connection> connections_;
  std::vector<std::uint64_t> closed_;
  bool said_full_ = false;             // since the last one that was let in
  std::optional<Duration> accept_at_;  // monotonic; set while callers wait
  bool said_paused_ = false;           // likewise
};

}  // namespace faultline
