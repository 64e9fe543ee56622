// The order that people expect of file names: rank2 before rank10.
#pragma once

#include <string_view>

namespace faultline {

/// Runs of digits compare as numbers, and '/' comes before all else, so that what lies in one
/// folder stays together. A total order: only equal texts are equal.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace faultline
