// What a person reads of the way to the controller: one line when it changes, none while it stays
// as it is, however often it is tried.
#pragma once

#include <optional>
#include <string>

#include "base/counters.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

/// Not thread-safe: of the thread that uses the uplink.
class UplinkReport {
 public:
  explicit UplinkReport(Counters& counters) : counters_(counters) {}

  /// Whether the controller was reached, and if not, why; `now` is monotonic.
  void heartbeat(const Status& status, Duration now);
  /// Whether it took a batch. A failure is said once a heartbeat shows that the uplink is not why.
  void batch(const Status& status);

 private:
  enum class State { unknown, connected, away, refused };
  void connected();

  Counters& counters_;
  State state_ = State::unknown;
  std::string reason_;  // as it was last said
  Duration said_at_{0};
  std::optional<std::string> not_taken_;  // why the last batch was not
  bool said_not_taken_ = false;
};

}  // namespace faultline
