// A program that is refused a GPU, or finds fewer than it was started for, may ask for too many; or
// the kernel has lost one, however long before: a GPU that is gone stays so until the machine is
// started anew.
#pragma once

#include "detect/failure_case.h"

namespace faultline {

/// A GPU was not there for whoever asked for it.
bool misses_gpu(const JobLine& line);

/// The kernel of the node has lost the GPU, and all that the program complains of is that one is
/// missing there.
bool explains_missing_gpu(const KernelFault& fault, const NodeFaults& on_node,
                          const FailureCase& failure);

}  // namespace faultline
