// The port to the outside world. Both calls are idempotent by action id; several threads may call,
// each for an action of its own.
#pragma once

#include "base/result.h"
#include "model/action.h"

namespace faultline {

class Actuator {
 public:
  virtual ~Actuator() = default;
  /// Carries out `action` and reports what was seen. An error or OutcomeStatus::unknown means: ask
  /// with inspect, do not repeat. `failed` with retryable means that nothing was changed. A dry run
  /// changes nothing and returns the commands. Of a node test `done` means that the node passed and
  /// `failed` that it did not; `unknown` that the test has no result and will not have one.
  virtual Result<Outcome> execute(const Action& action) = 0;
  /// After a crash or an unknown outcome: did it happen? Looks, changes nothing. `failed` with
  /// retryable: it did not. `unknown` with retryable: it was begun, and executing it again finishes
  /// it.
  virtual Result<Outcome> inspect(const Action& action) = 0;
};

}  // namespace faultline
