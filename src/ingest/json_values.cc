#include "ingest/json_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace faultline {

using Json = nlohmann::json;

const Json& json_field(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::optional<std::int64_t> json_number(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    constexpr double exact_max = 9e15;  // beyond 2^53 a double is no count of anything
    const double number = value.get<double>();
    if (!(number >= -exact_max && number <= exact_max)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_string()) return parse_number<std::int64_t>(value.get_ref<const std::string&>());
  if (!value.is_object()) return std::nullopt;
  const auto& set = json_field(value, "set");
  const auto& infinite = json_field(value, "infinite");
  if ((set.is_boolean() && !set.get<bool>()) || (infinite.is_boolean() && infinite.get<bool>()))
    return std::nullopt;
  const auto& inner = json_field(value, "number");
  return inner.is_object() ? std::nullopt : json_number(inner);
}

std::string json_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string{};
}

bool json_boolean(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string() && value.get_ref<const std::string&>() == "true") return true;
  return json_number(value).value_or(0) != 0;
}

void append_json_words(const Json& value, std::vector<std::string>& words) {
  const auto append = [&](const Json& word) {
    if (!word.is_string()) return;
    std::string upper = word.get<std::string>();
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (!upper.empty()) words.push_back(std::move(upper));
  };
  if (value.is_array()) {
    for (const auto& word : value) append(word);
  } else {
    append(value);
  }
}

std::vector<std::string> json_list(const Json& value) {
  std::vector<std::string> items;
  const auto append = [&](std::string_view item) {
    if (!trim(item).empty()) items.emplace_back(trim(item));
  };
  if (value.is_string()) {
    for (const auto item : split(value.get_ref<const std::string&>(), ',')) append(item);
  } else if (value.is_array()) {
    for (const auto& item : value) append(json_text(item));
  }
  return items;
}

Instant json_instant(const Json& value) {
  constexpr std::int64_t seconds_max = 9'000'000'000;  // nanoseconds in 64 bits end in 2262
  const auto seconds = json_number(value);
  return seconds && *seconds > 0 && *seconds < seconds_max ? Instant{std::chrono::seconds{*seconds}}
                                                           : Instant{};
}

std::optional<std::int32_t> json_exit_code(const Json& value) {
  const auto& signal = json_field(value, "signal");
  const auto& id = json_field(signal, "id");
  const auto number = json_number(id.is_null() ? json_field(signal, "signal_id") : id);
  constexpr std::int64_t signal_max = 64;
  if (number.value_or(0) > 0 && *number <= signal_max)
    return static_cast<std::int32_t>(128 + *number);
  const auto code = json_number(json_field(value, "return_code"));
  return code ? std::optional(static_cast<std::int32_t>(*code)) : std::nullopt;
}

}  // namespace faultline
