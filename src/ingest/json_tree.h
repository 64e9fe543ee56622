// JSON as a tree of the same values that a pickle gives, so that who reads a format that exists in
// both reads it once.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ingest/value_tree.h"

namespace faultline {

/// Errors: corrupt (with the byte), exhausted (a limit). `bytes` must outlive the tree.
Result<ValueTree> read_json_tree(std::string_view bytes, const TreeLimits& limits = {});

}  // namespace faultline
