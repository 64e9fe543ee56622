// Small text helpers for input that cannot be trusted.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

std::string_view trim(std::string_view text);

/// Splits at every `separator`; empty parts are kept. "" gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// At most `bytes_max` bytes of `text`, made safe to show and store: bytes that are not valid
/// UTF-8, control characters other than tab and those that turn the direction of text become
/// U+FFFD; a cut is marked with "...".
std::string printable(std::string_view text, std::size_t bytes_max);

std::string to_lower(std::string_view text);

/// A whole decimal number with nothing around it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Joins the elements with `separator` between them.
template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    text += part;
    first = false;
  }
  return text;
}

}  // namespace faultline
