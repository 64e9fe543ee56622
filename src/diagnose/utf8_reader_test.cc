#include "diagnose/utf8_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace faultline {
namespace {

using namespace std::string_literals;

/// Gives `bytes` in pieces of `piece`, then its end or an error.
class PieceReader final : public InputReader {
 public:
  PieceReader(std::string bytes, std::size_t piece, bool breaks = false)
      : bytes_(std::move(bytes)), piece_(piece), breaks_(breaks) {}
  Result<std::size_t> read(std::span<char> into) override {
    if (bytes_.empty() && breaks_) return Error{ErrorCode::corrupt, "cut"};
    const std::size_t got = std::min({piece_, into.size(), bytes_.size()});
    std::copy_n(bytes_.data(), got, into.data());
    bytes_.erase(0, got);
    return got;
  }

 private:
  std::string bytes_;
  std::size_t piece_;
  bool breaks_;
};

std::string all_of(InputReader& source) {
  Utf8Reader reader(source);
  std::string all;
  std::string block(7, '\0');
  for (;;) {
    const auto got = reader.read(block);
    if (!got.ok()) return all + "<" + std::string(to_text(got.error().code)) + ">";
    if (*got == 0) return all;
    all.append(block, 0, *got);
  }
}

std::string wide(const std::u16string& text, bool big) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xFF);
    bytes += big ? std::string{high, low} : std::string{low, high};
  }
  return bytes;
}

const std::u16string words = u"step 1 loss 3.2, na\u00efve \u4e16 \U0001F600 and so on\n";
const std::string words_utf8 = "step 1 loss 3.2, na\u00efve \u4e16 \U0001F600 and so on\n";

TEST(Utf8Reader, ReadsUtf16InAnyPieces) {
  std::u16string log;
  std::string expected;
  for (int i = 0; i < 20; ++i) log += words, expected += words_utf8;
  for (const std::size_t piece : {1U, 2U, 3U, 64U, 100'000U}) {
    PieceReader little("\xFF\xFE" + wide(log, false), piece);
    EXPECT_EQ(all_of(little), expected);
    PieceReader big("\xFE\xFF" + wide(log, true), piece);
    EXPECT_EQ(all_of(big), expected);
    PieceReader unmarked(wide(log, false), piece);
    EXPECT_EQ(all_of(unmarked), expected);
  }
}

TEST(Utf8Reader, HalvesOfCharactersAreReplaced) {
  const std::u16string torn = u"a\xD83D b\xDE00\n";
  PieceReader source("\xFF\xFE" + wide(torn, false), 4);
  EXPECT_EQ(all_of(source), "a\uFFFD b\uFFFD\n");
  PieceReader cut("\xFF\xFE" + wide(u"ab", false) + "c", 4);
  EXPECT_EQ(all_of(cut), "ab");
}

TEST(Utf8Reader, AMarkOfUtf8IsDropped) {
  PieceReader source("\xEF\xBB\xBFstep 1\n", 2);
  EXPECT_EQ(all_of(source), "step 1\n");
}

TEST(Utf8Reader, AllElsePassesAsItIs) {
  for (const std::string& bytes :
       {""s, "x"s, "step 1\n"s, "\x80\x02}q\0X\x07\0\0\0version"s, std::string(1000, '\0'),
        "\xc4\xe3\xba\xc3"s, std::string(100'000, 'y')}) {
    PieceReader source(bytes, 333);
    EXPECT_EQ(all_of(source), bytes);
  }
}

TEST(Utf8Reader, AnErrorComesAfterWhatCameBefore) {
  PieceReader plain("step 1\n", 3, true);
  EXPECT_EQ(all_of(plain), "step 1\n<corrupt>");
  PieceReader wide_text("\xFF\xFE" + wide(words, false), 3, true);
  EXPECT_EQ(all_of(wide_text), words_utf8 + "<corrupt>");
}

}  // namespace
}  // namespace faultline
