// HOST:PORT as --status-listen has it; [::1]:9177 is an IPv6 address.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace faultline {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// invalid_argument: not HOST:PORT.
Result<Endpoint> parse_endpoint(const std::string& text);

}  // namespace faultline
