#include "adapters/grpc/grpc_log.h"

#include <grpc/support/log.h>

#include <mutex>
#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t text_bytes_max = 1000;

struct Listeners {
  std::mutex mutex;
  std::vector<const GrpcLog::Hear*> all;
};

/// Never destroyed: gRPC's threads may speak until the very end.
Listeners& listeners() {
  static auto* const the = new Listeners;
  return *the;
}

void hear(gpr_log_func_args* said) {
  if (said->severity != GPR_LOG_SEVERITY_ERROR) return;
  Listeners& to = listeners();
  const std::lock_guard lock(to.mutex);
  if (!to.all.empty()) (*to.all.back())(printable(said->message, text_bytes_max));
}

}  // namespace

GrpcLog::GrpcLog(Hear hear_it) : hear_(std::move(hear_it)) {
  Listeners& to = listeners();
  const std::lock_guard lock(to.mutex);
  to.all.push_back(&hear_);
  gpr_set_log_function(hear);
}

GrpcLog::~GrpcLog() {
  Listeners& to = listeners();
  const std::lock_guard lock(to.mutex);
  std::erase(to.all, &hear_);
  if (to.all.empty()) gpr_set_log_function(nullptr);  // back to its own
}

std::string failed_handshake(const std::string& text) {
  // "Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL routines::REASON."
  if (!text.starts_with("Handshake failed")) return {};
  std::string reason = text.substr(text.rfind(':') + 1);
  if (reason.ends_with('.')) reason.pop_back();
  return std::string(trim(reason));
}

std::string system_reason(const std::string& text) {
  constexpr std::string_view start = "os_error:\"";
  const auto at = text.find(start);
  if (at == std::string::npos) return {};
  const auto from = at + start.size();
  return text.substr(from, text.find('"', from) - from);
}

}  // namespace faultline
