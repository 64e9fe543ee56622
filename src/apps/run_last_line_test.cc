#include "apps/run_last_line.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

std::string last_of(const std::string& text) {
  LastLine last;
  last.output(text);
  return last.text();
}

TEST(LastLine, IsTheLastThatIsNotBlank) {
  EXPECT_EQ(last_of(""), "");
  EXPECT_EQ(last_of("\n \n"), "");
  EXPECT_EQ(last_of("one"), "one");
  EXPECT_EQ(last_of("one\n  two: bad \r\n\n"), "two: bad");
  EXPECT_EQ(last_of("10%\r20%\r"), "20%");
}

TEST(LastLine, CutAnywhereIsTheSame) {
  const std::string text = "Traceback:\nValueError: no such file\n";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    LastLine last;
    last.output(text.substr(0, at));
    last.output(text.substr(at));
    EXPECT_EQ(last.text(), "ValueError: no such file") << at;
  }
}

TEST(LastLine, OfAnEndlessLineTheEndIsKept) {
  LastLine last;
  for (int i = 0; i < 1000; ++i) last.output(std::string(5000, 'x'));
  EXPECT_LE(last.text().size(), 2048U);
  last.output("\nend\n");
  EXPECT_EQ(last.text(), "end");
}

}  // namespace
}  // namespace faultline
