// Do the traces of a job show a standstill at all? Asked for while a job runs they show every rank
// somewhere else, and always somebody who is not there yet.
#pragma once

#include "base/time.h"
#include "detect/operation_board.h"

namespace faultline {

/// What waits no longer than this has not been waited for: a healthy job has such gaps in each
/// step.
inline constexpr Duration standstill_min = std::chrono::seconds{5};

/// True if the traces were written while the job moved. That is so where an operation that needs
/// everybody is done on one rank and not begun on another, where all that is pending was young when
/// it was written, or where most ranks have operations that are done and not put away. Without any
/// of these signs it is taken to stand still.
bool was_moving(const OperationBoard& board);

}  // namespace faultline
