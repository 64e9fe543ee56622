// Tells a drain that went with the scheduler's daemon from one that a person took back. slurmctld
// acknowledges a drain up to five seconds before it saves it (SAVE_MAX_WAIT in its state_save.c):
// killed in between, it comes back, or its backup takes over, without.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "controller/node_life.h"
#include "model/cluster_view.h"

namespace faultline {

class DrainWatch {
 public:
  /// Longer than any scheduler keeps an acknowledged change in memory alone.
  static constexpr Duration unsaved_max = std::chrono::seconds{60};

  /// True if a drain is young: saw() is to be told of it.
  [[nodiscard]] static bool any_young(const NodeStates& states, Instant now);
  /// Notes what `view` shows drained. `daemon_id` is the daemon's from before the view was asked
  /// for: one that was restarted meanwhile counts as restarted after it.
  void saw(const NodeStates& states, const ClusterView& view, const std::string& daemon_id);
  /// Drained by faultline, shown so while it may have been unsaved, and available in `view`: lost
  /// if the daemon is another one by now, and resumed by somebody if it is the same.
  [[nodiscard]] std::vector<NodeState> gone(const NodeStates& states,
                                            const ClusterView& view) const;
  /// `daemon_id`: the daemon's from after the view.
  [[nodiscard]] bool lost(const std::string& node, const std::string& daemon_id) const;

 private:
  std::map<std::string, std::string> shown_by_;  // young drains: node -> the daemon that showed it
};

}  // namespace faultline
