#include "diagnose/step_pace.h"

namespace faultline {

bool StepPace::line(Instant at, std::optional<std::int64_t> step) {
  if (!known(at)) return false;
  last_ = std::max(last_, at);
  if (!step || *step == step_) return false;
  if (steps_ > 0) longest_ = std::max(longest_, at - stepped_at_);
  step_ = *step;
  stepped_at_ = at;
  ++steps_;
  return true;
}

std::optional<StepPace::Stall> StepPace::stall() const {
  const Duration silent = last_ - stepped_at_;
  if (steps_ < paced_steps_min || silent < stalled_min || silent < stalled_paces_min * longest_)
    return std::nullopt;
  return Stall{stepped_at_, last_, longest_};
}

}  // namespace faultline
