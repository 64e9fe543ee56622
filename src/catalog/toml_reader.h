// Reads one table of a catalog file strictly: every key must be known, every value of its kind. The
// first error is kept, so that a reader can ask for all its keys and look once at the end.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

/// The whole text as a table; toml++'s exceptions end here. Errors: invalid_argument with
/// "file:line: ".
Result<toml::table> parse_toml(std::string_view text, const std::string& file);

/// "catalog/causes/gpu.toml:12", or the file alone where a node has no place.
std::string place_of(const toml::node& node, const std::string& file);

/// Not thread-safe; lives shorter than its table and file name.
class TableReader {
 public:
  TableReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }

  /// A missing or wrong value is an error, and then what comes back is of no use.
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string_view otherwise);
  std::vector<std::string> texts_or_none(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise, std::int64_t least,
                          std::int64_t most);
  double number_or(std::string_view key, double otherwise, double least, double most);
  /// An integer count of `unit`; the key's own suffix says which (_ms, _s).
  Duration duration_or(std::string_view key, Duration otherwise, Duration unit);

  template <class Enum>
  Enum word(std::string_view key) {
    return parse_word<Enum>(key, text(key)).value_or(Enum{});
  }
  template <class Enum>
  Enum word_or(std::string_view key, Enum otherwise) {
    return has(key) ? word<Enum>(key) : (known_.emplace(key), otherwise);
  }
  template <class Enum>
  std::vector<Enum> words(std::string_view key) {
    std::vector<Enum> out;
    for (const auto& entry : texts(key)) {
      if (const auto value = parse_word<Enum>(key, entry)) out.push_back(*value);
    }
    return out;
  }

  /// Notes an error of the reader's own at the key's line (or the table's, if it is not there).
  void fail(std::string_view key, const std::string& message);

  /// The first error, or that of a key nobody asked for.
  Status finish();

  [[nodiscard]] std::string place() const { return place_of(table_, file_); }

 private:
  /// nullptr if it is not there; marks the key as known.
  const toml::node* find(std::string_view key);
  const toml::node* require(std::string_view key);

  template <class Enum>
  std::optional<Enum> parse_word(std::string_view key, std::string_view value) {
    const auto parsed = parse_enum<Enum>(value);
    if (!parsed)
      fail_word(key, value, {EnumNames<Enum>::values.begin(), EnumNames<Enum>::values.end()});
    return parsed;
  }
  void fail_word(std::string_view key, std::string_view value,
                 const std::vector<std::string_view>& known);

  const toml::table& table_;
  const std::string& file_;
  std::set<std::string, std::less<>> known_;
  std::optional<Error> error_;
};

/// Calls `read` with each table of the list [[name]] in `document`, in order. A document without
/// the list is an error, and so is any other key of it that is not in `others`.
Status for_each_table(const toml::table& document, const std::string& file, std::string_view name,
                      const std::vector<std::string_view>& others,
                      const std::function<Status(const toml::table&)>& read);

}  // namespace faultline
