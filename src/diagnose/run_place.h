// Where a run ran and on which cards, as far as a report of a machine's GPUs can be held to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "model/verdict.h"

namespace faultline {

/// A report of later than this counts what came later, too.
inline constexpr Duration looked_after_failure_max = std::chrono::hours{1};

/// What is known of one run beside its verdicts.
struct RunPlace {
  std::vector<std::string> nodes;    // on which it ran
  Instant start;                     // its first time that anybody gives
  const std::vector<Event>& events;  // they say on which card a rank ran

  /// `failure` happened on `node`, or on no other one.
  [[nodiscard]] bool is_on(std::string_view node, const Verdict& failure) const;
  /// Somebody says on which card the rank that failed ran.
  [[nodiscard]] bool knows_card(const Verdict& failure) const;
  /// It ran on this one.
  [[nodiscard]] bool is_on_card(const Subject& card, const Verdict& failure) const;
};

}  // namespace faultline
