// The fabric manager says that a switch failed, and the kernel shows only what that did: every GPU
// tears its channels down. Anybody can write under a daemon's name, and a program that ends tears
// down the same; the two together are no chance, though nothing to take a node out for.
#pragma once

#include <optional>

#include "detect/kernel_faults.h"

namespace faultline {

/// `leads` and `consequences` are those of one node, by time. A suspicion against the node; nothing
/// if fewer than two GPUs tore anything down as the manager spoke.
std::optional<KernelFault> infer_switch_failure(const FactList& leads, const FactList& consequences,
                                                const Catalog& catalog);

}  // namespace faultline
