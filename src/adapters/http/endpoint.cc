#include "adapters/http/endpoint.h"

#include "base/text.h"

namespace faultline {

Result<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(std::string_view(text).substr(colon + 1));
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (!port || host.empty())
    return Error{ErrorCode::invalid_argument, "not HOST:PORT: '" + printable(text, 80) + "'"};
  return Endpoint{host, *port};
}

}  // namespace faultline
