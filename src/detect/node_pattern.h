// How a node's name is formed: machines of one site are numbered.
#pragma once

#include <string>
#include <string_view>

namespace faultline {

/// "cn-0331" and "cn-0330.example" are formed alike: "cn-#".
inline std::string name_pattern(std::string_view node) {
  std::string pattern;
  for (const char c : node.substr(0, node.find('.'))) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) pattern += c;
    if (digit && !pattern.ends_with('#')) pattern += '#';
  }
  return pattern;
}

}  // namespace faultline
