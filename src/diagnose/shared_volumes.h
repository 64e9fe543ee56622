// Several nodes whose volumes give I/O errors within a minute: the storage behind them, and none of
// the nodes, though the kernel of each speaks of its own disks alone.
#pragma once

#include "diagnose/gather.h"

namespace faultline {

/// Once all places are settled: of three nodes and more, what their kernels say of volumes and of
/// the file systems on them becomes the word of each about one storage.
void settle_shared_volumes(Gathered& gathered, const Catalog& catalog);

}  // namespace faultline
