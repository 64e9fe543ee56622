#include "adapters/files/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace faultline {
namespace {

TEST(NaturalOrder, NumbersCompareAsNumbers) {
  EXPECT_TRUE(natural_less("rank2.log", "rank10.log"));
  EXPECT_FALSE(natural_less("rank10.log", "rank2.log"));
  EXPECT_TRUE(natural_less("n3/rank10", "n10/rank2"));
  EXPECT_TRUE(natural_less("99999999999999999999999", "100000000000000000000000"));
}

TEST(NaturalOrder, AFolderStaysTogether) {
  std::vector<std::string> names{"logs.tar", "logs/b", "logs-old", "logs/a", "logs"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"logs", "logs/a", "logs/b", "logs-old", "logs.tar"}));
}

TEST(NaturalOrder, OnlyEqualTextsAreEqual) {
  EXPECT_NE(natural_less("rank01", "rank1"), natural_less("rank1", "rank01"));
  EXPECT_NE(natural_less("r1a", "r01b"), natural_less("r01b", "r1a"));
  EXPECT_FALSE(natural_less("rank1", "rank1"));
  EXPECT_TRUE(natural_less("", "a"));
  EXPECT_FALSE(natural_less("", ""));
}

}  // namespace
}  // namespace faultline
