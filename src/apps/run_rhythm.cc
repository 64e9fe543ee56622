#include "apps/run_rhythm.h"

#include <algorithm>

namespace faultline {

std::optional<OutputRhythm::Stall> OutputRhythm::output(Duration now, bool same_burst) {
  std::optional<Stall> ended;
  if (last_output_) {
    const Duration pause = now - *last_output_;
    if (stalled_) ended = Stall{pause, usual_};
    const bool burst = same_burst || pause < limits_.burst;
    if (!burst || now - counted_ >= limits_.steady) {
      // A burst that goes on is a rhythm as well, but says nothing new of a known one.
      learn(burst ? std::max(usual_, limits_.burst) : pause);
      counted_ = now;
    }
  } else {
    counted_ = now;
  }
  last_output_ = now;
  stalled_ = false;
  return ended;
}

std::optional<OutputRhythm::Stall> OutputRhythm::check(Duration now) {
  if (stalled_ || !last_output_ || !judges()) return std::nullopt;
  const Duration silent = now - *last_output_;
  if (silent <= threshold()) return std::nullopt;
  stalled_ = true;
  return Stall{silent, usual_};
}

std::optional<Duration> OutputRhythm::next_check() const {
  if (stalled_ || !last_output_ || !judges()) return std::nullopt;
  return *last_output_ + threshold() + std::chrono::milliseconds{1};
}

void OutputRhythm::learn(Duration pause) {
  if (pauses_++ < limits_.warm_up_pauses) return;
  // 1/8 a step, as in TCP's round-trip estimate: quick to follow, not thrown by one pause.
  usual_ = learnt_++ == 0 ? pause : usual_ + (pause - usual_) / 8;
  longest_ = std::max(longest_, pause);
}

Duration OutputRhythm::threshold() const {
  return std::max(limits_.floor, longest_ * limits_.factor);
}

}  // namespace faultline
