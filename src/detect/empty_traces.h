// A trace without operations: of a rank that never came to its first one, or of one whose record
// was not kept, was reset or was switched off. The first speaks, the second says nothing.
#pragma once

#include <cstdint>
#include <set>

#include "detect/operation_board.h"

namespace faultline {

/// Ranks whose trace has no operation although they took part in some: others are done with what
/// needed them, or are past the first, or the trace itself counts more than it lists.
std::set<std::int32_t> ranks_with_lost_record(const OperationBoard& board);

}  // namespace faultline
