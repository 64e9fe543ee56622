#include "apps/config_file.h"

#include <algorithm>

#include "apps/usage.h"
#include "base/nearest.h"
#include "base/small_file.h"
#include "base/text.h"
#include "catalog/toml_reader.h"

namespace faultline {
namespace {

constexpr std::uint64_t config_bytes_max = 1 << 20;  // people write it
constexpr std::size_t shown_bytes_max = 200;

Error bad(const std::string& file, const toml::node& node, const std::string& what) {
  return {ErrorCode::invalid_argument, place_of(node, file) + ": " + what};
}

/// What an option takes, told by the type of the variable behind it.
enum class Wanted { flag, integer, number, text };

Wanted wanted_by(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return Wanted::flag;
  const std::string type = option.get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return Wanted::integer;
  return type.starts_with("FLOAT") ? Wanted::number : Wanted::text;
}

std::string_view words_for(Wanted wanted) {
  switch (wanted) {
    case Wanted::flag: return "true or false";
    case Wanted::integer: return "a whole number";
    case Wanted::number: return "a number";
    case Wanted::text: return "a text in quotes";
  }
  return "";
}

/// The scalar as it would stand on the command line; nullopt if it is not of the kind wanted.
std::optional<std::string> scalar_text(const toml::node& node, Wanted wanted) {
  const auto* integer = node.as_integer();
  switch (wanted) {
    case Wanted::flag:
      if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
      return std::nullopt;
    case Wanted::number:
      if (const auto* real = node.as_floating_point()) return std::to_string(real->get());
      [[fallthrough]];
    case Wanted::integer:
      return integer != nullptr ? std::optional(std::to_string(integer->get())) : std::nullopt;
    case Wanted::text:
      if (const auto* text = node.as_string()) return text->get();
      return std::nullopt;
  }
  return std::nullopt;
}

Status add_results(CLI::Option& option, const std::string& file, const std::string& key,
                   const toml::node& node) {
  const Wanted wanted = wanted_by(option);
  const bool many = option.get_expected_max() > 1;
  const std::string expected = "'" + key + "' must be " + std::string(words_for(wanted)) +
                               (many ? ", or a list of such" : "");
  const auto* list = node.as_array();
  if (list != nullptr && !many) return bad(file, node, expected + ", not a list");
  const auto add = [&](const toml::node& item) -> Status {
    const auto text = scalar_text(item, wanted);
    if (!text) return bad(file, item, expected);
    option.add_result(*text);
    return ok_status();
  };
  if (list == nullptr) return add(node);
  for (const auto& item : *list) FAULTLINE_TRY(add(item));
  return ok_status();
}

/// The options that are keys, too.
std::vector<std::string> keys_of(const CLI::App& command) {
  auto keys = long_options(command);
  std::erase_if(keys, [](const std::string& key) { return key == "config" || key == "help"; });
  return keys;
}

Error unknown_key(const CLI::App& command, const std::string& file, const std::string& key,
                  const toml::node& node) {
  if (key == "config") {
    return bad(file, node,
               "'config' is for the command line alone: a configuration file names no other one");
  }
  const std::string meant = did_you_mean(key, keys_of(command));
  return bad(file, node,
             "unknown key '" + printable(key, shown_bytes_max) + "'" +
                 (meant.empty() ? "; the keys are the long options of `faultline " +
                                      command.get_name() + " --help`"
                                : meant));
}

Status apply_key(CLI::App& command, const std::string& file, const std::string& key,
                 const toml::node& node) {
  CLI::Option* option = command.get_option_no_throw("--" + key);
  if (option == nullptr || key == "config" || key == "help")
    return unknown_key(command, file, key, node);
  if (option->count() > 0) return ok_status();
  FAULTLINE_TRY(add_results(*option, file, key, node));
  // An empty list is none at all.
  if (option->count() == 0) return ok_status();
  try {
    option->run_callback();
  } catch (const CLI::Error& error) {
    return bad(file, node, printable(error.what(), shown_bytes_max));
  }
  return ok_status();
}

}  // namespace

Result<toml::table> read_config(const std::string& file) {
  const auto text = read_small_file(file, config_bytes_max);
  if (!text) return text.error().with_context("--config");
  return parse_toml(*text, file);
}

Status apply_config(CLI::App& command, const std::string& file,
                    const std::vector<std::string>& sections) {
  const auto table = read_config(file);
  if (!table) return table.error();
  for (const auto& [name, node] : *table) {
    const std::string key(name.str());
    if (std::find(sections.begin(), sections.end(), key) != sections.end()) continue;
    FAULTLINE_TRY(apply_key(command, file, key, node));
  }
  return ok_status();
}

}  // namespace faultline
