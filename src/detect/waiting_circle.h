// Ranks that all wait for each other, and who of them made it so: the one that calls otherwise than
// its like, that asks the wrong peer, that is alone where it is, or that stopped first.
#pragma once

#include <optional>

#include "detect/stuck_operation.h"
#include "detect/wait_graph.h"

namespace faultline {

/// nullopt if nobody waits in a circle.
std::optional<StuckFinding> find_circle(const WaitGraph& graph, const OperationBoard& board,
                                        Edges edges);

}  // namespace faultline
