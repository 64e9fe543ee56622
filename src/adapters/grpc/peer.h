// Who is at the other end, from its certificate; and when there may be none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/pki/role.h"
#include "base/result.h"

namespace faultline {

struct Peer {
  std::string name;
  PeerRole role = PeerRole::agent;
};

/// From the common names and URIs of a verified certificate. permission_denied unless there is
/// exactly one name, fit to be a node's, and exactly one role.
Result<Peer> peer_of_certificate(const std::vector<std::string>& common_names,
                                 const std::vector<std::string>& uris);

/// True if "HOST:PORT" can be reached from this machine alone: 127.x.x.x, [::1], localhost. Only
/// then may the transport go without certificates.
bool is_loopback(std::string_view address);

}  // namespace faultline
