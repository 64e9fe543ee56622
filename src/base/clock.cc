#include "base/clock.h"

#include <thread>

namespace faultline {

Instant SystemClock::now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

Duration SystemClock::monotonic() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void SystemClock::sleep(Duration duration) const { std::this_thread::sleep_for(duration); }

}  // namespace faultline
