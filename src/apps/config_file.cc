#include "apps/config_file.h"

#include <toml++/toml.h>

#include <algorithm>

namespace faultline {
namespace {

Error bad(const std::string& file, const toml::node& node, const std::string& what) {
  return {ErrorCode::invalid_argument,
          file + ":" + std::to_string(node.source().begin.line) + ": " + what};
}

/// A scalar as it would stand on the command line; nullopt for anything else.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* real = node.as_floating_point()) return std::to_string(real->get());
  return std::nullopt;
}

Status add_results(CLI::Option& option, const std::string& file, const toml::node& node) {
  const auto* list = node.as_array();
  if (list == nullptr) {
    const auto text = scalar_text(node);
    if (!text) return bad(file, node, "a text, number, true or false was expected");
    option.add_result(*text);
    return ok_status();
  }
  for (const auto& item : *list) {
    const auto text = scalar_text(item);
    if (!text) return bad(file, item, "a list of texts or numbers was expected");
    option.add_result(*text);
  }
  return ok_status();
}

Status apply_key(CLI::App& command, const std::string& file, const std::string& key,
                 const toml::node& node) {
  CLI::Option* option = command.get_option_no_throw("--" + key);
  if (option == nullptr || key == "config" || key == "help") {
    return bad(file, node,
               "unknown key '" + key + "'; the keys are the long options of `faultline " +
                   command.get_name() + " --help`");
  }
  if (option->count() > 0) return ok_status();
  FAULTLINE_TRY(add_results(*option, file, node));
  try {
    option->run_callback();
  } catch (const CLI::Error& error) {
    return bad(file, node, key + ": " + error.what());
  }
  return ok_status();
}

}  // namespace

Status apply_config(CLI::App& command, const std::string& file,
                    const std::vector<std::string>& sections) {
  toml::table table;
  try {
    table = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    return Error{ErrorCode::invalid_argument, file + ":" +
                                                  std::to_string(error.source().begin.line) + ": " +
                                                  std::string(error.description())};
  }
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (std::find(sections.begin(), sections.end(), key) != sections.end()) continue;
    FAULTLINE_TRY(apply_key(command, file, key, node));
  }
  return ok_status();
}

}  // namespace faultline
