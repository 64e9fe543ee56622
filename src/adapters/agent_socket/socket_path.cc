#include "adapters/agent_socket/socket_path.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstring>

namespace faultline {

std::string expand_socket_path(std::string_view path, std::string_view node) {
  std::string out(path);
  for (std::size_t at = out.find("%n"); at != std::string::npos;
       at = out.find("%n", at + node.size())) {
    out.replace(at, 2, node);
  }
  return out;
}

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::invalid_argument, fmt::format("socket path {} must have 1 to {} bytes",
                                                          path, sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace faultline
