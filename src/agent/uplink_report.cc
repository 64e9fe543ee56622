#include "agent/uplink_report.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace faultline {
namespace {

// Another reason for the same state is worth a line, but a reason may come and go.
constexpr Duration reason_interval = std::chrono::minutes{1};

/// The controller, or our own certificate, must be mended by a person: time will not do it.
bool is_refusal(ErrorCode code) {
  return code != ErrorCode::unavailable && code != ErrorCode::deadline_exceeded &&
         code != ErrorCode::exhausted;
}

}  // namespace

void UplinkReport::heartbeat(const Status& status, Duration now) {
  if (status.ok()) return connected();
  const Error& error = status.error();
  not_taken_.reset();  // because of this
  const State state = is_refusal(error.code) ? State::refused : State::away;
  counters_.add("agent_uplink_failures_total");
  if (state == State::refused) counters_.add("agent_uplink_refused_total");
  const bool changed = std::exchange(state_, state) != state;
  if (!changed && (error.message == reason_ || now - said_at_ < reason_interval)) return;
  reason_ = error.message;
  said_at_ = now;
  if (state == State::refused) {
    spdlog::error(
        "{}; no way to the controller until that is mended: events are kept, and it is "
        "tried again (`faultline doctor --agent`)",
        reason_);
  } else {
    spdlog::warn("{}; events are kept and sent later", reason_);
  }
}

void UplinkReport::connected() {
  if (std::exchange(state_, State::connected) != State::connected)
    spdlog::info("controller: connected");
  if (!not_taken_ || std::exchange(said_not_taken_, true)) return;
  spdlog::warn("{}; events are kept and sent later", *not_taken_);
}

void UplinkReport::batch(const Status& status) {
  if (!status.ok()) {
    counters_.add("agent_batches_not_taken_total");
    not_taken_ = status.error().message;
    return;
  }
  not_taken_.reset();
  if (std::exchange(said_not_taken_, false)) spdlog::info("controller: takes events again");
}

}  // namespace faultline
