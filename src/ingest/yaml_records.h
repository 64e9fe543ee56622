// The records of a YAML document, one at a time and as JSON: what `kubectl get -o yaml` prints is
// one list of maps. Scalars stay text, whatever they look like; json_number() and json_boolean()
// read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace faultline {

/// Larger documents are refused: reading YAML takes ten times as long as reading JSON.
inline constexpr std::size_t yaml_document_bytes_max = std::size_t{256} << 20U;
/// Kubernetes' objects are less than 20 deep.
inline constexpr std::size_t yaml_depth_max = 64;
/// Of a document. An alias is never expanded, so that anchors alone cost nothing.
inline constexpr std::size_t yaml_anchors_max = 1024;

/// A record, and where it begins in the document.
using YamlRecordVisitor = std::function<void(const nlohmann::json& record, std::uint64_t offset)>;

/// Visits the elements of the list `list` in each document's root map; a root map without one is a
/// record itself. What came before an error was visited.
/// Errors: corrupt (no YAML), exhausted (a limit above), invalid_argument (an alias, or a key that
/// is no scalar: kubectl writes neither).
Status visit_yaml_records(std::string_view document, std::string_view list,
                          const YamlRecordVisitor& visit);

}  // namespace faultline
