#include "diagnose/utf8_reader.h"

#include <algorithm>
#include <string_view>

namespace faultline {
namespace {

constexpr std::size_t head_bytes = 256;
constexpr std::size_t block_bytes = 64 * 1024;
constexpr char32_t replacement = 0xFFFD;

void append_utf8(std::string& text, char32_t point) {
  const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
  const auto tail = [&](int shift) { add(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | point >> 6);
    return tail(0);
  }
  if (point < 0x10000) {
    add(0xE0 | point >> 12);
  } else {
    add(0xF0 | point >> 18);
    tail(12);
  }
  tail(6);
  tail(0);
}

bool is_high(char32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(char32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// Appends what is whole of `wide`; gives how many bytes that was.
std::size_t append_utf16(std::string& text, std::string_view wide, bool big) {
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(wide[at]);
    const auto second = static_cast<unsigned char>(wide[at + 1]);
    return static_cast<char32_t>(big ? first << 8 | second : second << 8 | first);
  };
  std::size_t at = 0;
  for (; at + 2 <= wide.size(); at += 2) {
    const char32_t here = unit(at);
    if (!is_high(here)) {
      append_utf8(text, is_low(here) ? replacement : here);
      continue;
    }
    if (at + 4 > wide.size()) break;
    const char32_t next = unit(at + 2);
    if (is_low(next)) at += 2;
    append_utf8(text,
                is_low(next) ? 0x10000 + ((here - 0xD800) << 10) + (next - 0xDC00) : replacement);
  }
  return at;
}

}  // namespace

Result<std::size_t> Utf8Reader::read(std::span<char> into) {
  begin();
  const bool wide = encoding_ == TextEncoding::utf16_le || encoding_ == TextEncoding::utf16_be;
  while (wide && given_ == ready_.size()) {
    const std::size_t before = wide_.size();
    FAULTLINE_TRY(take_block());
    if (ready_.empty() && wide_.size() <= before) return std::size_t{0};
  }
  if (given_ == ready_.size()) return source_.read(into);
  const std::size_t bytes = std::min(into.size(), ready_.size() - given_);
  std::copy_n(ready_.data() + given_, bytes, into.data());
  given_ += bytes;
  return bytes;
}

/// An error here comes again with the next read.
void Utf8Reader::begin() {
  if (std::exchange(begun_, true)) return;
  std::string head(head_bytes, '\0');
  std::size_t have = 0;
  while (have < head.size()) {
    const auto got = source_.read(std::span(head).subspan(have));
    if (!got.ok() || *got == 0) break;
    have += *got;
  }
  head.resize(have);
  encoding_ = encoding_of(head);
  if (encoding_ == TextEncoding::utf8_bom) head.erase(0, 3);
  const bool marked = head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
  if (encoding_ == TextEncoding::utf8 || encoding_ == TextEncoding::utf8_bom) {
    ready_ = std::move(head);
  } else {
    wide_ = head.substr(marked ? 2 : 0);
    wide_.erase(0, append_utf16(ready_, wide_, encoding_ == TextEncoding::utf16_be));
  }
}

Status Utf8Reader::take_block() {
  ready_.clear();
  given_ = 0;
  const std::size_t kept = wide_.size();
  wide_.resize(kept + block_bytes);
  const auto got = source_.read(std::span(wide_).subspan(kept));
  wide_.resize(kept + (got.ok() ? *got : 0));
  if (!got.ok()) return got.error();
  wide_.erase(0, append_utf16(ready_, wide_, encoding_ == TextEncoding::utf16_be));
  return ok_status();
}

}  // namespace faultline
