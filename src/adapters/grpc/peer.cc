#include "adapters/grpc/peer.h"

#include <arpa/inet.h>

#include <optional>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

Error denied(std::string message) {
  return Error{ErrorCode::permission_denied, std::move(message)};
}

}  // namespace

Result<Peer> peer_of_certificate(const std::vector<std::string>& common_names,
                                 const std::vector<std::string>& uris) {
  if (common_names.size() != 1 || !valid_node_name(common_names[0])) {
    return denied(
        "the certificate's common name is not one node's name" +
        (common_names.empty() ? std::string() : ": '" + printable(common_names[0], 80) + "'"));
  }
  std::optional<PeerRole> role;
  for (const auto& uri : uris) {
    if (!uri.starts_with(role_uri_prefix)) continue;
    const auto named = parse_role_uri(uri);
    if (!named || role)
      return denied("the certificate of '" + common_names[0] + "' has an unknown or a second role");
    role = named;
  }
  if (!role)
    return denied("the certificate of '" + common_names[0] +
                  "' has no role: use `faultline pki issue`");
  return Peer{common_names[0], *role};
}

bool is_loopback(std::string_view address) {
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string host(address.substr(0, colon));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr parsed{};
  // Whole dotted addresses only: "127.0.0.1.example.org" is a name like any other.
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 && (ntohl(parsed.s_addr) >> 24) == 127;
}

}  // namespace faultline
