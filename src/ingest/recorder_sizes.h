// Sizes and types of an operation's tensors, as one short text each.
#pragma once

#include <cstddef>
#include <string>

#include "ingest/value_tree.h"

namespace faultline {

/// A list of shapes, or one shape: "429312", "[8,16],[4]", "[]" of a scalar, "" of no tensor. If
/// that is longer than `bytes_max`, how many elements they are together.
std::string sizes_text(const TreeValue& shapes, std::size_t bytes_max);

/// A list of names: "Float", "Float,BFloat16". One that is the same as that before it is not
/// repeated.
std::string dtypes_text(const TreeValue& names, std::size_t bytes_max);

}  // namespace faultline
