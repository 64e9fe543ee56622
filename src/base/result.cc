#include "base/result.h"

namespace faultline {

std::string_view to_text(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::deadline_exceeded: return "deadline_exceeded";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::exhausted: return "exhausted";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

Error Error::with_context(std::string_view context) const {
  return Error{code, std::string(context) + ": " + message};
}

}  // namespace faultline
