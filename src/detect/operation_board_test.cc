#include "detect/operation_board.h"

#include <gtest/gtest.h>

#include <list>

#include "detect/operation_match.h"

namespace faultline {
namespace {

using Ranks = std::set<std::int32_t>;

Event trace(EventKind kind, std::int32_t rank, Fields fields, const std::string& path = "") {
  Event event;
  event.source = EventSource::collective_trace;
  event.kind = kind;
  event.attempt = AttemptId{"7", 0};
  event.subject = Subject::of_rank(*event.attempt, rank);
  event.fields = std::move(fields);
  event.raw.path = path.empty() ? "rank_" + std::to_string(rank) : path;
  event.raw.text = event.fields["group"] + event.fields["seq"] + event.fields["record"];
  static std::uint64_t offset = 0;
  event.raw.offset = ++offset;
  event.id = make_event_id(event);
  return event;
}

Fields operation(const std::string& seq, const std::string& op = "all_reduce",
                 const std::string& size = "8192", const std::string& group = "g") {
  return {{"group", group},   {"lane", "collective"}, {"seq", seq},
          {"record", seq},    {"last", seq},          {"op", op},
          {"in_sizes", size}, {"out_sizes", size},    {"in_dtypes", "Float"}};
}

TEST(OperationBoard, ReadsRangesAndLeavesOutWhatIsNone) {
  EXPECT_EQ(parse_ranks("0-3,8", 100), (Ranks{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_ranks("0-12:4,5", 100), (Ranks{0, 4, 5, 8, 12}));
  EXPECT_EQ(parse_ranks("x,3-1,-4,7:0,2-", 100), Ranks{});
  EXPECT_EQ(parse_ranks("0-4000000000", 100), Ranks{});
  EXPECT_EQ(parse_ranks("0-1000000", 100).size(), 100U);
}

TEST(OperationBoard, KeepsTheLaterOfTwoTracesAndWhatIsSaidOnce) {
  OperationBoard board;
  const Event early = trace(EventKind::operation_pending, 0, operation("3"), "early");
  EXPECT_TRUE(board.add(early));
  EXPECT_FALSE(board.add(early));
  EXPECT_TRUE(board.add(trace(EventKind::operation_pending, 0, operation("9"), "late")));
  EXPECT_TRUE(board.add(trace(EventKind::operation_pending, 0, operation("5"), "early")));
  ASSERT_NE(board.trace(0), nullptr);
  EXPECT_EQ(board.trace(0)->last_record, 9);
}

TEST(OperationBoard, ForgetsNothingOfWhatComesInAnyOrder) {
  OperationBoard board;
  for (const char* seq : {"12", "10", "11"})
    board.add(trace(EventKind::operation_pending, 0, operation(seq)));
  for (const char* seq : {"8", "9", "7"})
    board.add(trace(EventKind::operation_completed, 0, operation(seq)));
  const Lane* lane = board.trace(0)->lane({"g", "collective"});
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->completed.seq, 9);
  ASSERT_EQ(lane->pending.size(), 3U);
  EXPECT_EQ(lane->pending.front().seq, 10);
  EXPECT_EQ(board.trace(0)->newest()->seq, 12);
}

TEST(OperationBoard, TakesNothingWithoutARankAndNothingElse) {
  OperationBoard board;
  EXPECT_FALSE(board.add(trace(EventKind::operation_pending, -1, operation("1"))));
  EXPECT_FALSE(board.add(trace(EventKind::rank_started, 0, {})));
  EXPECT_TRUE(board.empty());
}

TEST(OperationMatch, CountsElements) {
  EXPECT_EQ(element_count("429312"), 429312);
  EXPECT_EQ(element_count("[8,16],[4]"), 132);
  EXPECT_EQ(element_count("[8, 16]"), 128);
  EXPECT_EQ(element_count("[0]"), 0);
  EXPECT_EQ(element_count(""), -1);
  EXPECT_EQ(element_count("many"), -1);
  EXPECT_GT(element_count("[9999999999999,9999999999999,9999999999999]"), 0);
}

OddRanks odd(const std::vector<Fields>& by_rank) {
  static std::list<OperationBoard> boards;  // what comes back points into it
  OperationBoard& board = boards.emplace_back();
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    board.add(trace(EventKind::operation_pending, static_cast<std::int32_t>(rank), by_rank[rank]));
  return find_odd_ranks(board, {"g", "collective"}, 1).value_or(OddRanks{});
}

using Named = std::vector<std::int32_t>;

TEST(OperationMatch, TheManyAreRightAlsoAgainstTheFirst) {
  const OddRanks found = odd({operation("1", "broadcast"), operation("1"), operation("1")});
  EXPECT_EQ(found.ranks, Named{0});
  EXPECT_EQ(found.differs, "broadcast against all_reduce");
}

TEST(OperationMatch, OneAgainstOneNamesBoth) {
  const OddRanks found = odd({operation("1"), operation("1", "all_reduce", "4096")});
  EXPECT_EQ(found.ranks, (Named{0, 1}));
  EXPECT_FALSE(found.sided);
}

TEST(OperationMatch, SisterGroupsDecide) {
  OperationBoard board;
  for (const char* group : {"g", "h"})
    board.add(
        trace(EventKind::group_seen, 0, {{"group", group}, {"desc", "tensor"}, {"ranks", "0-1"}}));
  board.add(trace(EventKind::operation_pending, 0, operation("1")));
  board.add(trace(EventKind::operation_pending, 1, operation("1", "broadcast")));
  board.add(trace(EventKind::operation_pending, 2, operation("1", "all_reduce", "8192", "h")));
  const auto found = find_odd_ranks(board, {"g", "collective"}, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranks, Named{1});
}

TEST(OperationMatch, UnevenOperationsMayDifferInTheirAmountsAlone) {
  EXPECT_TRUE(
      odd({operation("1", "all_to_all", "1"), operation("1", "all_to_all", "2")}).ranks.empty());
  Fields half = operation("1", "all_to_all", "2");
  half["in_dtypes"] = "Half";
  EXPECT_EQ(odd({operation("1", "all_to_all"), operation("1", "all_to_all"), half}).ranks,
            Named{2});
  // The root alone has all of it.
  Fields root = operation("1", "gather", "16"), other = operation("1", "gather", "16");
  root["out_sizes"] = "[16],[16]";
  other["out_sizes"] = "";
  EXPECT_TRUE(odd({root, other}).ranks.empty());
}

TEST(OperationMatch, TheTwoEndsOfATransfer) {
  const auto end = [](const std::string& sizes, const std::string& dtypes) {
    return trace(EventKind::operation_pending, 0, {{"in_sizes", sizes}, {"in_dtypes", dtypes}});
  };
  EXPECT_EQ(unequal_ends(end("[2,8]", "Half"), end("16", "Half")), "");
  EXPECT_EQ(unequal_ends(end("16", "Half"), end("32", "Half")), "16 elements against 32 elements");
  EXPECT_EQ(unequal_ends(end("16", "Half"), end("16", "Float")), "Half against Float");
  EXPECT_EQ(unequal_ends(end("", ""), end("16", "Float")), "") << "what is not said differs not";
}

}  // namespace
}  // namespace faultline
