#include "apps/run_agent_link.h"

#include <utility>

namespace faultline {
namespace {

constexpr Duration retry_interval = std::chrono::seconds{5};

}  // namespace

RunAgentLink::RunAgentLink(std::string socket, LauncherMessage start, const Clock& clock)
    : socket_(std::move(socket)), start_(std::move(start)), clock_(clock) {}

Status RunAgentLink::connect() {
  if (client_.connected()) return ok_status();
  if (socket_.empty()) return Error{ErrorCode::not_found, "no agent socket"};
  const Duration now = clock_.monotonic();
  if (now < next_try_) return Error{ErrorCode::unavailable, "tried just now"};
  next_try_ = now + retry_interval;
  FAULTLINE_TRY(client_.connect(socket_));
  return client_.send(start_);
}

void RunAgentLink::tell(const LauncherMessage& message) {
  // An agent that was restarted a moment ago is worth one more try.
  if (client_.connected() && client_.send(message).ok()) return;
  next_try_ = Duration{0};
  if (connect().ok()) static_cast<void>(client_.send(message).ok());
}

std::vector<LauncherReply> RunAgentLink::hear() {
  auto replies = client_.poll();
  return replies.ok() ? std::move(replies).value() : std::vector<LauncherReply>();
}

LauncherMessage RunAgentLink::message(LauncherVerb verb) const {
  LauncherMessage message;
  message.verb = verb;
  message.attempt = start_.attempt;
  message.rank = start_.rank;
  message.at = clock_.now();
  return message;
}

}  // namespace faultline
