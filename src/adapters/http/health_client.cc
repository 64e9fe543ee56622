#include "adapters/http/health_client.h"

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "adapters/http/endpoint.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr time_t timeout_s = 3;  // on the same machine; a healthy one answers in milliseconds
constexpr std::size_t answer_bytes_max = 1 << 16;
constexpr std::size_t reason_bytes_max = 512;

std::optional<Health> health_of(const httplib::Result& answer, const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (answer->status != 200 && answer->status != 503) return std::nullopt;
  if (!json.is_object() || !json.contains("status") || !json.contains("reasons"))
    return std::nullopt;
  Health health{answer->status == 200, {}};
  for (const auto& reason : json["reasons"])
    if (reason.is_string())
      health.reasons.push_back(printable(reason.get<std::string>(), reason_bytes_max));
  return health;
}

/// Where somebody on this machine reaches what listens at `host`.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

}  // namespace

Result<Health> ask_health(const std::string& listen) {
  const auto endpoint = parse_endpoint(listen);
  if (!endpoint) return endpoint.error();
  httplib::Client client(reachable(endpoint->host), endpoint->port);
  client.set_connection_timeout(timeout_s);
  client.set_read_timeout(timeout_s);
  client.set_write_timeout(timeout_s);
  std::string body;
  const auto answer = client.Get("/healthz", [&](const char* data, std::size_t length) {
    body.append(data, length);
    return body.size() <= answer_bytes_max;
  });
  const auto error = answer.error();
  if (error == httplib::Error::Connection || error == httplib::Error::ConnectionTimeout)
    return Error{ErrorCode::not_found, "nothing listens at " + listen};
  if (!answer)
    return Error{ErrorCode::unavailable, listen + " takes connections but does not answer"};
  auto health = health_of(answer, body);
  if (health) return *std::move(health);
  return Error{ErrorCode::conflict,
               listen + " is taken by something that is not `faultline serve`"};
}

}  // namespace faultline
