// ClusterView and ActionHistory: read-only values that policy rules on, each with its age. Never
// live handles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/action.h"
#include "model/attempt.h"
#include "model/node_state.h"
#include "model/silence.h"

namespace faultline {

/// A node as the scheduler sees it.
struct SchedulerNode {
  std::string name;
  bool available = false;  // up and not drained, reserved for maintenance or failed; it may be busy
  bool drained = false;    // draining or drained
  bool down = false;
  bool maintenance = false;  // inside a maintenance reservation
  bool spare = false;        // configured or idle: may replace another
  bool idle = false;
  std::string drain_reason;
  std::string drain_owner;     // user who set the reason, "" if none
  std::string network_switch;  // leaf switch, "" if topology is unknown
  std::string rack;
  std::vector<std::string> partitions;
  std::string state_text;  // the scheduler's own words
  Instant boot_time;

  bool operator==(const SchedulerNode&) const = default;
};

struct ClusterView {
  Instant taken_at;       // unknown: the scheduler has never answered
  std::string scheduler;  // "slurm 22.05.8", "local"
  std::map<std::string, SchedulerNode, std::less<>> nodes;
  std::vector<Attempt> attempts;  // pending, running, and recently ended
  /// Acts of ours that the scheduler shows half done: a job waits with what only they put on it.
  std::vector<ActionId> half_done;
  /// faultline's own record of each node's life.
  std::map<std::string, NodeState, std::less<>> node_states;

  [[nodiscard]] const SchedulerNode* node(std::string_view name) const {
    const auto it = nodes.find(name);
    return it == nodes.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Attempt* attempt(const AttemptId& id) const {
    for (const auto& attempt : attempts) {
      if (attempt.id == id) return &attempt;
    }
    return nullptr;
  }
};

/// What was decided and done lately, newest last, and what people asked for.
struct ActionHistory {
  struct Entry {
    Action action;
    Instant decided_at;
    std::optional<Outcome> outcome;  // empty while on its way
    std::string cause;
  };
  std::vector<Entry> entries;
  std::vector<Silence> silences;                             // those that hold
  std::map<std::string, std::string, std::less<>> approved;  // decision id -> person
  std::map<std::string, std::string, std::less<>> denied;    // decision id -> person
};

}  // namespace faultline
