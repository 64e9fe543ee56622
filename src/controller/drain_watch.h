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

  /// True if lost() has to know the daemon's boot id: a drain is young, or has not been seen since.
  [[nodiscard]] bool needs_boot_id(const NodeStates& states, Instant now) const;
  /// To be called with each view. The nodes that faultline drained, that an earlier view showed
  /// drained by a daemon with another boot id before the drain can have been saved for sure, and
  /// that are available now. A node that is available under the same daemon was resumed.
  std::vector<NodeState> lost(const NodeStates& states, const ClusterView& view,
                              const std::string& boot_id);

 private:
  std::map<std::string, std::string> shown_by_;  // young drains: node -> the daemon that showed it
};

}  // namespace faultline
