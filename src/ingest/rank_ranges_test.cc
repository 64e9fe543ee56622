#include "ingest/rank_ranges.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace faultline {
namespace {

std::string ranges(const std::vector<std::int32_t>& ranks, std::size_t bytes_max = 1000) {
  return join(rank_ranges(ranks, bytes_max), " | ");
}

TEST(RankRangesTest, RunsAndStrides) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({7}), "7");
  EXPECT_EQ(ranges({0, 1}), "0,1");
  EXPECT_EQ(ranges({0, 1, 2}), "0-2");
  EXPECT_EQ(ranges({0, 4}), "0,4");
  EXPECT_EQ(ranges({0, 4, 8}), "0-8:4");
  EXPECT_EQ(ranges({0, 1, 2, 3, 8, 16, 24, 25}), "0-3,8-24:8,25");
  EXPECT_EQ(ranges({3, 2, 1, 1}), "3,2,1,1") << "in the order given";
  EXPECT_EQ(ranges({2147483647, 0, 2147483647}), "2147483647,0,2147483647");
}

TEST(RankRangesTest, SeveralTextsIfOneIsTooLong) {
  EXPECT_EQ(ranges({10, 20, 35, 51, 70}, 5), "10,20 | 35,51 | 70");
  EXPECT_EQ(ranges({10, 20, 35}, 1), "10 | 20 | 35") << "a rank is never cut";
}

}  // namespace
}  // namespace faultline
