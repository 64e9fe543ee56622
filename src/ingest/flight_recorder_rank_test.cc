#include "ingest/flight_recorder_rank.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/fixtures/flight_recorder_story.h"

namespace faultline {
namespace {

std::string found(const FlightRecorderDump& dump, std::int32_t named) {
  const RecorderRank rank = find_recorder_rank(dump, named);
  std::string text = std::to_string(rank.rank);
  if (rank.by == RecorderRank::By::contents) text += " by contents";
  if (rank.by == RecorderRank::By::name) text += " by name";
  return rank.conflict ? text + ", conflict" : text;
}

TEST(FlightRecorderRankTest, TheNameIsAllThereIs) {
  RecorderStory story;
  EXPECT_EQ(found(story.dump, 3), "3 by name");
  EXPECT_EQ(found(story.dump, -1), "-1");
  story.group("0", "default_pg", {0, 1, 2, 3});
  EXPECT_EQ(found(story.dump, 3), "3 by name");
  EXPECT_EQ(found(story.dump, -1), "-1");
}

TEST(FlightRecorderRankTest, ANameThatCannotBe) {
  RecorderStory story;
  story.group("0", "default_pg", {0, 1, 2, 3});
  EXPECT_EQ(found(story.dump, 4), "-1, conflict") << "trace.4711.pickle: a job, not a rank";
}

TEST(FlightRecorderRankTest, AGroupOfOne) {
  RecorderStory story;
  story.group("0", "default_pg", {0, 1, 2, 3});
  story.group("5", "tp", {2});
  EXPECT_EQ(found(story.dump, -1), "2 by contents");
  EXPECT_EQ(found(story.dump, 2), "2 by contents");
  EXPECT_EQ(found(story.dump, 3), "2 by contents, conflict");
}

TEST(FlightRecorderRankTest, GroupsThatHaveOneRankInCommon) {
  RecorderStory story;
  story.group("0", "default_pg", {});  // not said
  story.group("3", "tp", {4, 5, 6, 7});
  story.group("9", "dp", {1, 5, 9, 13});
  EXPECT_EQ(found(story.dump, -1), "5 by contents");
}

TEST(FlightRecorderRankTest, GroupsThatHaveNoneInCommonSayNothing) {
  RecorderStory story;
  story.group("3", "tp", {4, 5});
  story.group("9", "dp", {1, 2});
  EXPECT_EQ(found(story.dump, 7), "7 by name");
}

TEST(FlightRecorderRankTest, TransfersNameTheirOwnEnd) {
  for (const std::string name : {"nccl:send 1->0", "nccl:recv 1<-0"}) {
    RecorderStory story;
    const auto pipe = story.group("7", "pp", {3, 11, 19});
    story.transfer(pipe, name, OperationState::completed, 1);
    EXPECT_EQ(found(story.dump, -1), "11 by contents") << name;
  }
}

TEST(FlightRecorderRankTest, TransfersThatContradictEachOtherSayNothing) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11, 19});
  story.transfer(pipe, "nccl:send 1->0", OperationState::completed, 1);
  story.transfer(pipe, "nccl:send 2->0", OperationState::completed, 2);
  EXPECT_EQ(found(story.dump, 3), "3 by name");
}

TEST(FlightRecorderRankTest, TransferOutsideOfItsGroup) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11});
  story.transfer(pipe, "nccl:send 2->0", OperationState::completed, 1);
  EXPECT_EQ(found(story.dump, 3), "3 by name");
}

TEST(FlightRecorderRankTest, NamesOfTransfers) {
  RecorderTransfer transfer;
  ASSERT_TRUE(parse_transfer("nccl:send 1->12", transfer));
  EXPECT_TRUE(transfer.is_send && transfer.own == 1 && transfer.peer == 12);
  ASSERT_TRUE(parse_transfer("xccl:recv 3<-0", transfer));
  EXPECT_TRUE(!transfer.is_send && transfer.own == 3 && transfer.peer == 0);
  for (const std::string name :
       {"nccl:send", "nccl:send 1", "nccl:send 1<-2", "nccl:recv 1->2", "nccl:send 1->",
        "nccl:send ->2", "nccl:send -1->2", "", "nccl:sender 1->2", "nccl:send 1->99999999999"}) {
    EXPECT_FALSE(parse_transfer(name, transfer)) << name;
  }
}

}  // namespace
}  // namespace faultline
