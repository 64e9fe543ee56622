#include "ingest/pickle_text.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace faultline {
namespace {

/// `digits` hexadecimal digits at the front of `text`.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0U | (code >> 12U));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0U | ((code >> 18U) & 7U));
    tail(12), tail(6), tail(0);
  }
}

std::optional<char> plain_escape(char letter) {
  switch (letter) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\':
    case '\'':
    case '"': return letter;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::string_view> unquoted(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  if (literal.front() != '\'' && literal.front() != '"') return std::nullopt;
  return literal.substr(1, literal.size() - 2);
}

std::string without_string_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (const auto plain = plain_escape(text[i + 1])) {
      out += *plain;
      ++i;
    } else if (const auto code = hexadecimal(text.substr(i + 2), 2); code && text[i + 1] == 'x') {
      out += static_cast<char>(*code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string without_unicode_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const auto code = digits == 0 ? std::nullopt : hexadecimal(text.substr(i + 2), digits);
    if (code && *code <= 0x10ffff) {
      append_utf8(out, *code);
      i += 1 + digits;
    } else {
      append_utf8(out, static_cast<unsigned char>(text[i]));
    }
  }
  return out;
}

}  // namespace faultline
