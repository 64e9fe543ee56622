#include "adapters/agent_socket/unix_door.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "adapters/agent_socket/agent_client.h"
#include "adapters/agent_socket/socket_path.h"

namespace faultline {
namespace {

constexpr std::uint64_t listener_id = 0;
constexpr std::size_t read_bytes = 16 * 1024;

Error trouble(const std::string& path, std::string_view what) {
  return Error{ErrorCode::unavailable,
               fmt::format("agent socket {}: {}: {}", path, what, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<UnixDoor>> UnixDoor::listen(const std::string& path, const Clock& clock,
                                                   Counters& counters, Limits limits) {
  std::unique_ptr<UnixDoor> door(new UnixDoor(path, clock, counters, limits));
  FAULTLINE_TRY(door->open());
  return door;
}

UnixDoor::UnixDoor(std::string path, const Clock& clock, Counters& counters, Limits limits)
    : path_(std::move(path)), clock_(clock), counters_(counters), limits_(limits) {}

UnixDoor::~UnixDoor() {
  for (const auto& [id, connection] : connections_) ::close(connection.descriptor);
  if (listener_ >= 0) {
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  if (epoll_ >= 0) ::close(epoll_);
}

Status UnixDoor::open() {
  const auto address = socket_address(path_);
  if (!address.ok()) return address.error();
  std::error_code ignored;  // a folder that cannot be made shows at bind
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      return Error{ErrorCode::conflict,
                   fmt::format("{} exists and is no socket; choose another --socket", path_)};
    }
    if (AgentClient probe; probe.connect(path_).ok()) {
      return Error{
          ErrorCode::conflict,
          fmt::format("another agent listens on {}; stop it or choose another --socket", path_)};
    }
    ::unlink(path_.c_str());  // left by an agent that was killed
  }
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return trouble(path_, "socket");
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address.value()), sizeof(sockaddr_un)) !=
      0) {
    const Error error = trouble(path_, "bind");
    ::close(listener);
    return error;
  }
  listener_ = listener;
  // Jobs run as any user; what they may say is checked message by message.
  if (::chmod(path_.c_str(), 0666) != 0) return trouble(path_, "chmod");
  if (::listen(listener_, 128) != 0) return trouble(path_, "listen");
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return trouble(path_, "epoll");
  return watch_listener(EPOLL_CTL_ADD, EPOLLIN) ? ok_status() : trouble(path_, "epoll");
}

std::vector<LauncherDoor::Arrival> UnixDoor::poll() {
  if (accept_at_ && clock_.monotonic() >= *accept_at_) resume_accepting();
  std::vector<Arrival> arrivals;
  std::array<epoll_event, 64> ready{};
  const int count = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.u64 == listener_id) {
      accept_all();
      continue;
    }
    const auto it = connections_.find(event.data.u64);
    if (it == connections_.end()) continue;
    if ((event.events & EPOLLOUT) != 0) flush(it->second);
    if (connections_.contains(event.data.u64)) read_from(it->second, arrivals);
  }
  close_silent();
  return arrivals;
}

/// After the reading: what was said in time counts, also if we come late to hear it.
void UnixDoor::close_silent() {
  std::vector<std::uint64_t> silent;
  for (const auto& [id, connection] : connections_) {
    if (!connection.greeted && clock_.monotonic() - connection.since >= limits_.hello_wait)
      silent.push_back(id);
  }
  for (const std::uint64_t id : silent) {
    const LauncherPeer peer = connections_.at(id).peer;
    spdlog::debug("agent socket: pid {} of user {} has said nothing", peer.pid, peer.uid);
    counters_.add("agent_socket_silent_total");
    close(id);
  }
}

bool UnixDoor::full_for(std::uint32_t uid) const {
  const auto of_user =
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& entry) { return entry.second.peer.uid == uid; });
  return connections_.size() >= limits_.connections_max ||
         static_cast<std::size_t>(of_user) >= limits_.connections_per_user_max;
}

void UnixDoor::refuse(std::uint32_t uid) {
  counters_.add("agent_socket_connections_refused_total");
  if (std::exchange(said_full_, true)) return;
  spdlog::warn("agent socket: user {} is refused: {} connections are open, at most {}, {} a user",
               uid, connections_.size(), limits_.connections_max, limits_.connections_per_user_max);
}

void UnixDoor::accept_all() {
  constexpr int per_poll_max = 64;
  for (int i = 0; i < per_poll_max; ++i) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      const bool nobody_waits = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!nobody_waits) pause_accepting(errno);
      return;
    }
    ucred credentials{};
    socklen_t size = sizeof credentials;
    const bool proven = ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
    if (!proven || full_for(credentials.uid)) {
      refuse(credentials.uid);
      ::close(descriptor);
      continue;
    }
    said_full_ = said_paused_ = false;
    Connection connection;
    connection.since = clock_.monotonic();
    connection.descriptor = descriptor;
    connection.peer = {next_id_++, credentials.uid, credentials.pid};
    watch(connection, EPOLL_CTL_ADD);
    connections_.emplace(connection.peer.connection, std::move(connection));
  }
}

/// Without a descriptor for it a caller stays in the listener's queue, which would wake the agent
/// without end: it is not looked at for a moment.
void UnixDoor::pause_accepting(int number) {
  counters_.add("agent_socket_accept_failures_total");
  accept_at_ = clock_.monotonic() + limits_.accept_pause;
  watch_listener(EPOLL_CTL_MOD, 0);
  if (std::exchange(said_paused_, true)) return;
  spdlog::warn(
      "agent socket: new launchers wait: {}; {} connections are open (is LimitNOFILE large "
      "enough?)",
      std::strerror(number), connections_.size());
}

void UnixDoor::resume_accepting() {
  accept_at_.reset();
  watch_listener(EPOLL_CTL_MOD, EPOLLIN);
}

bool UnixDoor::watch_listener(int operation, std::uint32_t events) const {
  epoll_event interest{};
  interest.events = events;
  interest.data.u64 = listener_id;
  return ::epoll_ctl(epoll_, operation, listener_, &interest) == 0;
}

void UnixDoor::read_from(Connection& connection, std::vector<Arrival>& arrivals) {
  std::array<char, read_bytes> buffer{};
  const ssize_t got = ::recv(connection.descriptor, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const std::uint64_t id = connection.peer.connection;
  if (got <= 0) {
    close(id);
    return;
  }
  connection.in.append(buffer.data(), static_cast<std::size_t>(got));
  take_lines(connection, arrivals);
  if (!connections_.contains(id) || connection.in.size() <= launcher_line_bytes_max) return;
  counters_.add("agent_socket_lines_too_long_total");
  reply(id, {LauncherReply::Kind::refused, {}, false, "line too long"});
  close(id);
}

void UnixDoor::take_lines(Connection& connection, std::vector<Arrival>& arrivals) {
  std::size_t start = 0;
  std::size_t lines = 0;
  for (std::size_t end = 0; (end = connection.in.find('\n', start)) != std::string::npos;
       start = end + 1) {
    if (++lines > limits_.lines_per_poll_max) {
      // A launcher says a handful of things in its life. Who sends this many at once is dropped,
      // not served.
      counters_.add("agent_socket_floods_total");
      close(connection.peer.connection);
      return;
    }
    const std::string_view line = std::string_view(connection.in).substr(start, end - start);
    arrivals.push_back({connection.peer, parse_launcher_message(line)});
    connection.greeted = connection.greeted || arrivals.back().message.ok();
  }
  connection.in.erase(0, start);
}

void UnixDoor::reply(std::uint64_t id, const LauncherReply& reply) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  it->second.out += to_line(reply) + "\n";
  flush(it->second);
}

void UnixDoor::flush(Connection& connection) {
  const bool waited = !connection.out.empty();
  while (!connection.out.empty()) {
    const ssize_t sent =
        ::send(connection.descriptor, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      close(connection.peer.connection);
      return;
    }
    connection.out.erase(0, static_cast<std::size_t>(sent));
  }
  if (connection.out.size() > limits_.unread_bytes_max) {
    counters_.add("agent_socket_slow_readers_total");
    close(connection.peer.connection);
    return;
  }
  if (waited) watch(connection, EPOLL_CTL_MOD);
}

void UnixDoor::watch(const Connection& connection, int operation) const {
  epoll_event interest{};
  interest.events = connection.out.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  interest.data.u64 = connection.peer.connection;
  ::epoll_ctl(epoll_, operation, connection.descriptor, &interest);
}

void UnixDoor::close(std::uint64_t id) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  ::close(it->second.descriptor);
  connections_.erase(it);
  closed_.push_back(id);
}

std::vector<std::uint64_t> UnixDoor::take_closed() { return std::exchange(closed_, {}); }

}  // namespace faultline
