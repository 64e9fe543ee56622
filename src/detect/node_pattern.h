// How a node's name is formed: machines of one site are numbered, and have a domain or not.
#pragma once

#include <string>
#include <string_view>
#include <utility>

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

/// The kernel of "cn-0331.example" may be known to the scheduler as "cn-0331".
inline bool same_machine(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return a == b ||
         (b.starts_with(a) && b[a.size()] == '.' && a.find('.') == std::string_view::npos);
}

}  // namespace faultline
