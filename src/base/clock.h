// The port through which time enters. Only adapters, runtimes and apps hold one; detectors and
// policy get `now` as a value.
#pragma once

#include "base/time.h"

namespace faultline {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall-clock time; may step when the machine's clock is set.
  [[nodiscard]] virtual Instant now() const = 0;
  /// Time since some fixed point, never stepping back; for deadlines and rates.
  [[nodiscard]] virtual Duration monotonic() const = 0;
  /// Blocks the calling thread.
  virtual void sleep(Duration duration) const = 0;
};

/// The machine's clocks. Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] Duration monotonic() const override;
  void sleep(Duration duration) const override;
};

/// A clock that moves only when told to; for tests and the simulator. Not thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start) : now_(start) {}
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] Duration monotonic() const override { return elapsed_; }
  void sleep(Duration duration) const override { advance(duration); }
  void advance(Duration duration) const {
    now_ += duration;
    elapsed_ += duration;
  }
  /// Sets the wall clock alone, as an operator or NTP would.
  void step_wall(Instant now) const { now_ = now; }

 private:
  mutable Instant now_;
  mutable Duration elapsed_{0};
};

}  // namespace faultline
