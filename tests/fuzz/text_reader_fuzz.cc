// What lies before every log decoder: UTF-16 as UTF-8, and broken lines made whole. Whatever bytes
// come, in blocks of whatever size, the text is the same, and of a UTF-8 text nothing but line ends
// changes its place. Input: first byte the size of the blocks, the rest the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "diagnose/unwrapping_reader.h"
#include "diagnose/utf8_reader.h"
#include "ingest/content_kind.h"

namespace {

using namespace faultline;

/// Gives no more than one block at a time, as a pipe does.
class BlockReader final : public InputReader {
 public:
  BlockReader(std::string_view bytes, std::size_t block_bytes)
      : bytes_(bytes), block_bytes_(block_bytes) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t got = std::min({into.size(), bytes_.size(), block_bytes_});
    std::copy_n(bytes_.data(), got, into.data());
    bytes_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view bytes_;
  std::size_t block_bytes_;
};

std::string text_of(std::string_view bytes, std::size_t block_bytes) {
  BlockReader blocks(bytes, block_bytes);
  Utf8Reader utf8(blocks);
  UnwrappingReader whole(utf8);
  std::string text, room(block_bytes, '\0');
  for (;;) {
    const auto got = whole.read(room);
    FAULTLINE_CHECK(got.ok() && *got <= room.size());
    if (*got == 0) return text;
    text.append(room, 0, *got);
  }
}

std::string without_line_ends(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char c) { return c != '\n' && c != '\r'; });
  return kept;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string text = text_of(bytes, bytes.size() + 1);
  FAULTLINE_CHECK(text_of(bytes, 1 + data[0]) == text);
  if (encoding_of(bytes.substr(0, 256)) != TextEncoding::utf8) return 0;
  FAULTLINE_CHECK(text.size() == bytes.size());
  FAULTLINE_CHECK(std::count(text.begin(), text.end(), '\n') ==
                  std::count(bytes.begin(), bytes.end(), '\n'));
  FAULTLINE_CHECK(without_line_ends(text) == without_line_ends(bytes));
  return 0;
}
