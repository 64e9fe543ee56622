// The text forms of pickle's protocol 0: numbers and strings as Python prints them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace faultline {

/// What stands between the quotes of a Python 2 string literal; nullopt if there are no quotes.
std::optional<std::string_view> unquoted(std::string_view literal);

/// A string literal's escapes (\n \t \r \\ \' \" \xNN) as the bytes they mean. Unknown ones stay.
std::string without_string_escapes(std::string_view text);

/// The escapes \uNNNN and \UNNNNNNNN, and Latin-1 bytes, as UTF-8.
std::string without_unicode_escapes(std::string_view text);

}  // namespace faultline
