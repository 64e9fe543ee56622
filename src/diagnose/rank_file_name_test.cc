#include "diagnose/rank_file_name.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

std::string split_of(std::string_view name, std::int32_t rank) {
  const auto [stem, tail] = rank_file_name(name, rank);
  return stem + "|" + tail;
}

TEST(RankFileName, IsCutAtTheRank) {
  EXPECT_EQ(split_of("kill-rank3.stdout.log", 3), "kill-rank|.stdout.log");
  EXPECT_EQ(split_of("job7_rank_7.log", 7), "job7_rank_|.log");
  EXPECT_EQ(split_of("nccl_trace_rank_17", 17), "nccl_trace_rank_|");
  EXPECT_EQ(split_of("trace.12.pickle", 12), "trace.|.pickle");
  EXPECT_EQ(split_of("rank003.log", 3), "rank|.log");
  EXPECT_EQ(split_of("rank13.log", 3), "|rank13.log");
  EXPECT_EQ(split_of("stdout.log", 3), "|stdout.log");
}

TEST(RankFileName, WordsTellRunsApart) {
  EXPECT_TRUE(name_other_runs("kill-rank", "hang-rank"));
  EXPECT_TRUE(name_other_runs("run1_rank_", "run2_rank_"));
  EXPECT_TRUE(name_other_runs("old-rank", "rank"));
}

TEST(RankFileName, OutputsAndHostsDoNot) {
  EXPECT_FALSE(name_other_runs("rank", "rank"));
  EXPECT_FALSE(name_other_runs("stdout_rank", "stderr_rank"));
  EXPECT_FALSE(name_other_runs("n1-rank", "n12-rank"));
}

}  // namespace
}  // namespace faultline
