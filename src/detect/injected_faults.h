// Errors that somebody made for a test. What the injector makes looks like broken hardware in every
// line but its own.
#pragma once

#include <vector>

#include "detect/kernel_faults.h"

namespace faultline {

/// An error this long after an injector was at work on the same node is taken for its doing: people
/// load it, write what they want, and look.
inline constexpr Duration injected_span = std::chrono::minutes{10};

/// The line says that an error injector was loaded or used.
bool tells_of_injector(const Cause& cause);

/// Faults of `faults` behind an injector's line become its doing, which is nothing against the
/// node. `facts`: all lines of the node. An injector that is part of the kernel says so at each
/// boot, which tells nothing.
void blame_injector(std::vector<KernelFault>& faults, const FactList& facts,
                    const Catalog& catalog);

}  // namespace faultline
