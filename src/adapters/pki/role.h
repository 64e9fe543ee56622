// What the owner of a certificate may do. It stands in the certificate itself, as a URI among the
// alternative names, so that the authority gives it and the owner cannot take another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/enum_text.h"

namespace faultline {

enum class PeerRole {
  agent,       // reports for the node of its name
  controller,  // is the server that agents and people trust
  operators,   // a person who approves, denies and returns
};
FAULTLINE_ENUM_NAMES(PeerRole, "agent", "controller", "operator");

inline constexpr std::string_view role_uri_prefix = "faultline:role:";

inline std::string role_uri(PeerRole role) {
  return std::string(role_uri_prefix) + std::string(to_text(role));
}

inline std::optional<PeerRole> parse_role_uri(std::string_view uri) {
  if (!uri.starts_with(role_uri_prefix)) return std::nullopt;
  return parse_enum<PeerRole>(uri.substr(role_uri_prefix.size()));
}

}  // namespace faultline
