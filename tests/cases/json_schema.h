// As much of JSON Schema (draft 2020-12) as docs/*.schema.json use. A keyword that is not known
// here is an error, so that nothing is taken for checked that is not.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace faultline {

/// "" if `value` is as `schema` has it, else what is wrong, and where. `root` is what "$ref" is
/// looked up in.
std::string schema_error(const nlohmann::json& schema, const nlohmann::json& value,
                         const nlohmann::json& root, const std::string& where = "#");

}  // namespace faultline
