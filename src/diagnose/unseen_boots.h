// `last -x` says when a machine began anew without a shutdown, and not when it went down. That was
// after the last that was heard of it, and a machine with many GPUs takes minutes to come back.
#pragma once

#include "diagnose/gather.h"

namespace faultline {

/// Once all places are settled: a boot that a record tells of moves to the last event of its
/// machine, or where its machine is not heard of, to the last one of a job, if that was soon
/// before.
void settle_boots(Gathered& gathered);

}  // namespace faultline
