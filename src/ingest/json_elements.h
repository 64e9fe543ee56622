// The elements of a large JSON document, one at a time: what `sacct --json` and `kubectl get -o
// json` print is one array of objects, and parsing it whole costs many times its size. The document
// is split by its brackets and strings alone; each element is parsed by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace faultline {

/// A longer one is left out: nothing that describes one job, node or pod comes near it.
inline constexpr std::size_t json_element_bytes_max = std::size_t{16} << 20U;

/// An element, where it begins in the document, and its bytes.
using JsonElementVisitor =
    std::function<void(const nlohmann::json& record, std::uint64_t offset, std::string_view bytes)>;

struct JsonElementCounts {
  std::size_t records = 0;   // visited
  std::size_t left_out = 0;  // not JSON, or too long
  bool cut = false;          // the document ends in the middle
};

/// Visits the objects of the array `list` in each root object; a root object without one is a
/// record itself, and a root array is the list. What stands before the first bracket and between
/// documents is passed over. Time grows with the bytes alone; what came before a cut or damage is
/// visited.
JsonElementCounts visit_json_elements(std::string_view document, std::string_view list,
                                      const JsonElementVisitor& visit);

}  // namespace faultline
