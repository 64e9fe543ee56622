// Ranks that all wait for each other, and who of them made it so: the one that calls otherwise than
// its like, that is alone where it is, that stopped first, or that asks the wrong peer.
#pragma once

#include <optional>

#include "detect/stuck_operation.h"
#include "detect/wait_graph.h"

namespace faultline {

/// nullopt if nobody waits in a circle.
std::optional<StuckFinding> find_circle(const WaitGraph& graph, const OperationBoard& board,
                                        Edges edges);

/// One that waits for a peer with which it never had to do, while another one, with which it had,
/// waits for it with the same kind of transfer. That is so whatever the ranks without a trace did.
std::optional<StuckFinding> find_wrong_peer(const WaitGraph& graph, const OperationBoard& board);

}  // namespace faultline
