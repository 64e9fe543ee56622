// Proof that a message is ours: X-Faultline-Signature is "sha256=" and the HMAC-SHA256, under the
// shared secret, of the timestamp header, a full stop and the body. A receiver checks it, and that
// the timestamp is recent.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace faultline {

std::string webhook_signature(std::string_view secret, std::string_view timestamp,
                              std::string_view body);

/// The first line of a file that others cannot read. permission_denied: they can; invalid_argument:
/// empty or too long.
Result<std::string> read_secret_file(const std::string& path);

}  // namespace faultline
