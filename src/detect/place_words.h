// Places as a person reads them, also where decoders found no name for the node.
#pragma once

#include <string>
#include <string_view>

#include "model/subject.h"

namespace faultline {

/// What decoders call a node that no line names.
inline constexpr std::string_view unnamed_node = "unknown";

/// "n1".
inline std::string node_words(std::string_view node) {
  return node == unnamed_node ? "a node that nothing names" : std::string(node);
}

/// "gpu:n1/0000:3b:00.0".
inline std::string place_words(const Subject& subject) {
  if (subject.node != unnamed_node) return subject.text();
  const std::string part = subject.part.empty() ? "" : subject.part + " on ";
  return part + node_words(subject.node);
}

/// "kernel log of n1".
inline std::string kernel_log_words(std::string_view node) {
  return "kernel log of " + (node == unnamed_node ? "that node" : std::string(node));
}

}  // namespace faultline
