#include "controller/drain_watch.h"

#include <algorithm>

namespace faultline {
namespace {

bool young(const NodeState& state, Instant now) {
  return state.phase == NodePhase::drained && state.by == "faultline" &&
         now - state.since <= DrainWatch::unsaved_max;
}

}  // namespace

bool DrainWatch::needs_boot_id(const NodeStates& states, Instant now) const {
  return !shown_by_.empty() || std::any_of(states.begin(), states.end(), [&](const auto& entry) {
    return young(entry.second, now);
  });
}

std::vector<NodeState> DrainWatch::lost(const NodeStates& states, const ClusterView& view,
                                        const std::string& boot_id) {
  std::vector<NodeState> lost;
  for (const auto& [name, state] : states) {
    const SchedulerNode* node = view.node(name);
    if (node == nullptr) continue;
    if (state.phase != NodePhase::drained) {
      shown_by_.erase(name);
    } else if (node->drained) {
      if (young(state, view.taken_at)) {
        shown_by_[name] = boot_id;
      } else {
        shown_by_.erase(name);
      }
    } else if (const auto shown = shown_by_.find(name);
               node->available && shown != shown_by_.end() && shown->second != boot_id) {
      lost.push_back(state);
    }
  }
  return lost;
}

}  // namespace faultline
