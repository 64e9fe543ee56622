#include "controller/drain_watch.h"

#include <algorithm>

namespace faultline {
namespace {

bool young(const NodeState& state, Instant now) {
  return state.phase == NodePhase::drained && state.by == by_faultline &&
         now - state.since <= DrainWatch::unsaved_max;
}

}  // namespace

bool DrainWatch::any_young(const NodeStates& states, Instant now) {
  return std::any_of(states.begin(), states.end(),
                     [&](const auto& entry) { return young(entry.second, now); });
}

void DrainWatch::saw(const NodeStates& states, const ClusterView& view,
                     const std::string& daemon_id) {
  for (const auto& [name, state] : states) {
    const SchedulerNode* node = view.node(name);
    if (node == nullptr) continue;
    const bool may_be_lost = young(state, view.taken_at);
    if (node->drained && may_be_lost && !daemon_id.empty()) shown_by_[name] = daemon_id;
    if ((node->drained && !may_be_lost) || state.phase != NodePhase::drained) shown_by_.erase(name);
  }
}

std::vector<NodeState> DrainWatch::gone(const NodeStates& states, const ClusterView& view) const {
  std::vector<NodeState> gone;
  for (const auto& [name, shown_by] : shown_by_) {
    const SchedulerNode* node = view.node(name);
    const auto state = states.find(name);
    if (node == nullptr || !node->available || state == states.end()) continue;
    if (state->second.phase == NodePhase::drained) gone.push_back(state->second);
  }
  return gone;
}

bool DrainWatch::lost(const std::string& node, const std::string& daemon_id) const {
  const auto shown = shown_by_.find(node);
  return shown != shown_by_.end() && shown->second != daemon_id;
}

}  // namespace faultline
