#include "tests/cases/json_schema.h"

#include <algorithm>

namespace faultline {
namespace {

using nlohmann::json;

bool is_of_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  return value.type_name() == type;
}

bool is_of_types(const json& value, const json& types) {
  if (types.is_string()) return is_of_type(value, types);
  return std::any_of(types.begin(), types.end(),
                     [&](const json& type) { return is_of_type(value, type); });
}

std::string object_error(const json& schema, const json& value, const json& root,
                         const std::string& where) {
  for (const json& key : schema.value("required", json::array())) {
    if (!value.contains(key.get<std::string>())) return where + " has no " + key.dump();
  }
  for (const auto& [key, inner] : value.items()) {
    const json& properties = schema.at("properties");
    if (!properties.contains(key)) return where + "/" + key + " is not in the schema";
    if (auto wrong = schema_error(properties[key], inner, root, where + "/" + key); !wrong.empty())
      return wrong;
  }
  return {};
}

std::string any_error(const json& choices, const json& value, const json& root,
                      const std::string& where) {
  std::string wrong;
  for (const json& choice : choices) {
    const std::string here = schema_error(choice, value, root, where);
    if (here.empty()) return {};
    wrong += (wrong.empty() ? "" : "; or ") + here;
  }
  return wrong;
}

/// By one keyword of a schema.
std::string keyword_error(const std::string& key, const json& schema, const json& value,
                          const json& root, const std::string& where) {
  const json& wanted = schema.at(key);
  if (key == "$schema" || key == "title" || key == "description" || key == "$defs" ||
      key == "required")
    return {};
  if (key == "$ref")
    return schema_error(root.at(json::json_pointer(wanted.get<std::string>().substr(1))), value,
                        root, where);
  if (key == "type") return is_of_types(value, wanted) ? "" : where + " is no " + wanted.dump();
  if (key == "enum")
    return std::find(wanted.begin(), wanted.end(), value) != wanted.end()
               ? ""
               : where + " is none of " + wanted.dump() + ": " + value.dump();
  if (key == "minimum") return value >= wanted ? "" : where + " is below " + wanted.dump();
  if (key == "maximum") return value <= wanted ? "" : where + " is above " + wanted.dump();
  if (key == "properties") return object_error(schema, value, root, where);
  if (key == "anyOf") return any_error(wanted, value, root, where);
  if (key != "items") return "the schema has a keyword that is not known here: " + key;
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto wrong = schema_error(wanted, value[i], root, where + "/" + std::to_string(i));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string schema_error(const json& schema, const json& value, const json& root,
                         const std::string& where) {
  // What is of another type has no keys or items to look at.
  if (schema.contains("type") && !is_of_types(value, schema["type"]))
    return where + " is no " + schema["type"].dump();
  for (const auto& [key, wanted] : schema.items()) {
    if (auto wrong = keyword_error(key, schema, value, root, where); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace faultline
