// Names come from users and other machines. Everything that ends up in a command line, a path or a
// query is checked here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace faultline {

/// A host name as schedulers accept it: letters, digits, '-', '_', '.', at most 253 bytes, no
/// leading '-' or '.'.
bool valid_node_name(std::string_view name);

/// A Slurm job id: 123, 123_4 (array task), 123+1 (heterogeneous component); or a local or
/// Kubernetes job name of letters, digits, '-', '_', '.', '+', at most 253 bytes, not starting with
/// '-' or '.'.
bool valid_job_id(std::string_view job);

/// A PCI address in any of the usual spellings ("00000000:3B:00.0", "0000:3b:00") in one canonical
/// form: "0000:3b:00.0". The input itself if it is not one.
std::string canonical_pci(std::string_view address);

/// Expands "n[1-3,7],gpu05" into single names, in order. Errors: malformed, or more than `limit`
/// names.
Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t limit = 65536);

}  // namespace faultline
