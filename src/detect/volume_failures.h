// Volumes do not fail together: where several of one node give I/O errors within a minute, what is
// between them and the node does (its controller, HBA, backplane, or the fabric behind it), and a
// new disk mends nothing.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "detect/kernel_faults.h"

namespace faultline {

inline constexpr std::size_t volumes_together_min = 3;
inline constexpr Duration volumes_together_max = std::chrono::minutes{1};

/// True for the kernel's word that a volume gave an I/O error: of a drive, of a path to it, of a
/// disk.
bool tells_of_volume(std::string_view signature);

/// Takes out of `faults`, which are those of one node, what several volumes say together, and puts
/// the one fault there that explains it.
void fold_volumes(const FactList& facts, const Catalog& catalog, std::vector<KernelFault>& faults);

}  // namespace faultline
