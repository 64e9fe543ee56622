// NodeState: a node's life as faultline records it. Never inferred from a reason text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/time.h"

namespace faultline {

enum class NodePhase { in_service, suspected, drained, testing, in_repair, returned };
FAULTLINE_ENUM_NAMES(NodePhase, "in_service", "suspected", "drained", "testing", "in_repair",
                     "returned");

/// `by` of what faultline itself did.
inline constexpr std::string_view by_faultline = "faultline";

struct NodeState {
  std::string node;
  NodePhase phase = NodePhase::in_service;
  Instant since;
  std::string by;                    // "faultline", "scheduler" (resumed there), or the person
  std::string verdict;               // why
  std::string action;                // the drain that did it, "" if none
  std::vector<std::string> serials;  // GPU board serials seen on this node, for the repair record
  std::string note;

  /// Only a person brings the node back then; after a failed test a passed one does, too.
  [[nodiscard]] bool in_persons_repair() const {
    return phase == NodePhase::in_repair && by != by_faultline;
  }

  bool operator==(const NodeState&) const = default;
};

/// The moves a node may make; everything else is refused.
///   in_service -> suspected -> drained -> testing -> returned -> in_service, drained/testing ->
///   in_repair -> testing, suspected -> in_service when the verdict is cleared. A suspected node
///   that is idle may be tested without a drain: suspected -> testing -> in_service or suspected.
bool may_move(NodePhase from, NodePhase to);

}  // namespace faultline
