// How many collectives each rank has launched, as NCCL's RAS counts them: who is behind?
#pragma once

#include "base/time.h"
#include "detect/operation_board.h"

namespace faultline {

/// The one rank that has launched least in its group, as it was told at `since` or later, or nobody
/// knows when; nullptr if there is none, or another in each group.
const RankOperation* least_launched(const OperationBoard& board, Instant since);

}  // namespace faultline
