#include "base/text.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(Printable, KeepsTextAndTakesWhatATerminalObeys) {
  EXPECT_EQ(printable("n3\tgrößer 節點", 100), "n3\tgrößer 節點");
  EXPECT_EQ(printable("a\033[2Jb\rc\x7f", 100), "a\uFFFD[2Jb\uFFFDc\uFFFD");
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J\xff",
                      100),
            "\uFFFD2J\uFFFD");
}

TEST(Printable, NothingTurnsTheDirectionOfALine) {
  EXPECT_EQ(printable("x\u202Ey\u2066z\u2069", 100), "x\uFFFDy\uFFFDz\uFFFD");
  EXPECT_EQ(printable("\u2014 \u2026 \u202F", 100), "\u2014 \u2026 \u202F");  // their neighbours
}

TEST(Printable, CutsBetweenCharacters) { EXPECT_EQ(printable("größer", 3), "gr..."); }

}  // namespace
}  // namespace faultline
