// The intent journal: an intent is on disk before its act, so that a controller killed at any point
// neither loses nor repeats an act. The store implements it; the controller binds the two.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"

namespace faultline {

class Journal {
 public:
  virtual ~Journal() = default;
  /// Durable on return. conflict if this action id is journalled already.
  virtual Status record_intent(const Action& action) = 0;
  /// Durable on return. Replaces an earlier `unknown`; a `done` or final `failed` is never
  /// replaced.
  virtual Status record_outcome(const Outcome& outcome) = 0;
  /// Intents without a final outcome (none, unknown, or failed but retryable), oldest first. The
  /// unknown outcome of a node test is final: nobody could be asked.
  virtual Result<std::vector<Action>> open_intents() = 0;
  /// When the intent was recorded; nullopt if the journal cannot say, which counts as past every
  /// deadline.
  virtual std::optional<Instant> intended_at(const ActionId& /*action*/) { return std::nullopt; }
};

}  // namespace faultline
