#include "model/node_state.h"

namespace faultline {

bool may_move(NodePhase from, NodePhase to) {
  switch (from) {
    case NodePhase::in_service: return to == NodePhase::suspected || to == NodePhase::drained;
    case NodePhase::suspected:
      return to == NodePhase::in_service || to == NodePhase::drained || to == NodePhase::testing;
    case NodePhase::drained:
      return to == NodePhase::testing || to == NodePhase::in_repair || to == NodePhase::returned;
    case NodePhase::testing: return to != NodePhase::testing;
    case NodePhase::in_repair: return to == NodePhase::testing || to == NodePhase::returned;
    case NodePhase::returned:
      return to == NodePhase::in_service || to == NodePhase::suspected || to == NodePhase::drained;
  }
  return false;
}

}  // namespace faultline
