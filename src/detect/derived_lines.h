// Lines that the driver derives from another Xid: "caused by previous Xid 79". What they name is
// the root, whether or not its own line is here.
#pragma once

#include <optional>

#include "detect/kernel_faults.h"

namespace faultline {

/// The line of the root that the driver names, on this node and shortly before (or, logs being what
/// they are, shortly after); null if there is none.
const Fact* named_root(const Fact& derived, const FactList& facts);

/// Teardown lines name a root whose own line is not here (cut log, rotated buffer). The best named
/// code is suspected on the GPU that named it; its peers are victims.
std::optional<KernelFault> infer_root(const FactList& derived, const Catalog& catalog);

}  // namespace faultline
