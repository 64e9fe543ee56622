// Whether a list holds a name.
#pragma once

#include <algorithm>
#include <string_view>

namespace faultline {

/// `names`: a vector, array or span of strings or views.
template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace faultline
