// The agent's socket path, shared by both ends.
#pragma once

#include <sys/un.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace faultline {

inline constexpr std::string_view agent_socket_default = "/run/faultline/agent.sock";

/// Replaces %n by the node's name, so that several agents on one machine can be told apart by one
/// setting.
std::string expand_socket_path(std::string_view path, std::string_view node);

/// invalid_argument if the path does not fit a Unix socket's address (107 bytes).
Result<sockaddr_un> socket_address(const std::string& path);

}  // namespace faultline
