#include "adapters/agent_socket/agent_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "adapters/agent_socket/socket_path.h"

namespace faultline {

Status AgentClient::connect(const std::string& path) {
  close();
  const auto address = socket_address(path);
  if (!address.ok()) return address.error();
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0)
    return Error{ErrorCode::unavailable, fmt::format("socket: {}", std::strerror(errno))};
  // A Unix socket connects at once or not at all (EAGAIN: the agent's backlog is full).
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address.value()),
                sizeof(sockaddr_un)) != 0) {
    return lost(fmt::format("no agent at {}: {}", path, std::strerror(errno)));
  }
  return ok_status();
}

Status AgentClient::send(const LauncherMessage& message) {
  if (!connected()) return Error{ErrorCode::unavailable, "not connected to the agent"};
  const std::string line = to_line(message) + "\n";
  // The kernel's buffer holds hundreds of these lines. If it is full, the agent has stopped
  // reading.
  const ssize_t sent = ::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(line.size())) return ok_status();
  return lost(sent < 0 ? std::strerror(errno) : "the agent does not read");
}

Result<std::vector<LauncherReply>> AgentClient::poll() {
  std::vector<LauncherReply> replies;
  std::array<char, 4096> buffer{};
  while (connected()) {
    const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      close();
      if (replies.empty()) return Error{ErrorCode::unavailable, "the agent closed the connection"};
      break;
    }
    in_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t newline = 0;
    while ((newline = in_.find('\n')) != std::string::npos) {
      auto reply = parse_launcher_reply(std::string_view(in_).substr(0, newline));
      if (reply.ok()) replies.push_back(std::move(reply).value());
      in_.erase(0, newline + 1);
    }
    if (in_.size() > launcher_line_bytes_max)
      return lost("the agent sent a line without end").error();
  }
  return replies;
}

void AgentClient::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  in_.clear();
}

Status AgentClient::lost(std::string_view why) {
  close();
  return Error{ErrorCode::unavailable, std::string(why)};
}

}  // namespace faultline
