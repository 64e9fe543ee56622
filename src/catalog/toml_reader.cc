#include "catalog/toml_reader.h"

#include <algorithm>
#include <exception>

#include "base/nearest.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t shown_bytes_max = 80;

std::string quoted(std::string_view text) { return "'" + printable(text, shown_bytes_max) + "'"; }

Error bad(const std::string& place, const std::string& message) {
  return {ErrorCode::invalid_argument, place + ": " + message};
}

std::string place_of_region(const toml::source_region& region, const std::string& file) {
  return region.begin.line == 0 ? file : file + ":" + std::to_string(region.begin.line);
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return bad(place_of_region(error.source(), file),
               printable(error.description(), 4 * shown_bytes_max));
  } catch (const std::exception& error) {
    return bad(file, printable(error.what(), 4 * shown_bytes_max));
  }
}

std::string place_of(const toml::node& node, const std::string& file) {
  return place_of_region(node.source(), file);
}

const toml::node* TableReader::find(std::string_view key) {
  known_.emplace(key);
  return table_.get(key);
}

const toml::node* TableReader::require(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) fail(key, "key " + quoted(key) + " is missing");
  return node;
}

void TableReader::fail(std::string_view key, const std::string& message) {
  if (error_) return;
  const toml::node* node = table_.get(key);
  error_ = bad(place_of(node == nullptr ? table_ : *node, file_), message);
}

void TableReader::fail_word(std::string_view key, std::string_view value,
                            const std::vector<std::string_view>& known) {
  fail(key, quoted(key) + " is " + quoted(value) + ", must be one of: " + join(known, " "));
}

std::string TableReader::text(std::string_view key) {
  const toml::node* node = require(key);
  if (node == nullptr) return {};
  if (const auto* value = node->as_string()) return value->get();
  fail(key, quoted(key) + " must be a string");
  return {};
}

std::string TableReader::text_or(std::string_view key, std::string_view otherwise) {
  return find(key) == nullptr ? std::string(otherwise) : text(key);
}

std::vector<std::string> TableReader::texts(std::string_view key) {
  return require(key) == nullptr ? std::vector<std::string>{} : texts_or_none(key);
}

std::vector<std::string> TableReader::texts_or_none(std::string_view key) {
  std::vector<std::string> out;
  const toml::node* node = find(key);
  if (node == nullptr) return out;
  const auto* list = node->as_array();
  if (list == nullptr) {
    fail(key, quoted(key) + " must be a list of strings");
    return out;
  }
  for (const auto& entry : *list) {
    if (const auto* value = entry.as_string()) {
      out.push_back(value->get());
    } else {
      fail(key, quoted(key) + " must be a list of strings");
    }
  }
  return out;
}

std::int64_t TableReader::integer_or(std::string_view key, std::int64_t otherwise,
                                     std::int64_t least, std::int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  const auto* value = node->as_integer();
  if (value != nullptr && value->get() >= least && value->get() <= most) return value->get();
  fail(key, quoted(key) + " must be an integer from " + std::to_string(least) + " to " +
                std::to_string(most));
  return otherwise;
}

double TableReader::number_or(std::string_view key, double otherwise, double least, double most) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  const auto value = node->value<double>();  // takes integers, too
  // Written so that a NaN fails.
  if (node->is_number() && value && *value >= least && *value <= most) return *value;
  fail(key, quoted(key) + " must be a number from " + std::to_string(least) + " to " +
                std::to_string(most));
  return otherwise;
}

Duration TableReader::duration_or(std::string_view key, Duration otherwise, Duration unit) {
  constexpr Duration longest = std::chrono::hours{24 * 366};
  const std::int64_t fallback = otherwise / unit;
  if (!has(key)) {
    known_.emplace(key);
    return otherwise;
  }
  return integer_or(key, fallback, 0, longest / unit) * unit;
}

Status TableReader::finish() {
  for (const auto& [key, value] : table_) {
    if (!known_.contains(key.str())) {
      const toml::source_region& region = key.source();
      return error_ ? *error_
                    : bad(place_of_region(region, file_),
                          "unknown key " + quoted(key.str()) +
                              did_you_mean(key.str(), {known_.begin(), known_.end()}));
    }
  }
  if (error_) return *error_;
  return ok_status();
}

Status for_each_table(const toml::table& document, const std::string& file, std::string_view name,
                      const std::vector<std::string_view>& others,
                      const std::function<Status(const toml::table&)>& read) {
  for (const auto& [key, value] : document) {
    if (key.str() != name && std::find(others.begin(), others.end(), key.str()) == others.end()) {
      return bad(place_of_region(key.source(), file), "unknown key " + quoted(key.str()));
    }
  }
  const toml::node* node = document.get(name);
  if (node == nullptr) {
    return others.empty() ? Status(bad(file, "has no [[" + std::string(name) + "]]")) : ok_status();
  }
  const auto* list = node->as_array();
  if (list == nullptr) {
    return bad(place_of(*node, file),
               quoted(name) + " must be written [[" + std::string(name) + "]]");
  }
  for (const auto& entry : *list) {
    const auto* table = entry.as_table();
    if (table == nullptr) return bad(place_of(entry, file), quoted(name) + " must hold tables");
    FAULTLINE_TRY(read(*table));
  }
  return ok_status();
}

}  // namespace faultline
