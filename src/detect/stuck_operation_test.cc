// What the walk over waiting ranks makes of a few traces written down by hand; whole jobs are in
// tests/cases/detect_operations_test.cc.
#include "detect/stuck_operation.h"

#include <gtest/gtest.h>

#include <list>

#include "detect/standstill.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant start{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

class Traces {
 public:
  /// "0-3" of group `name`.
  void group(const std::string& name, const std::string& ranks, const std::string& desc = "kind") {
    add(EventKind::group_seen, 0, {{"group", name}, {"ranks", ranks}, {"desc", desc}});
  }
  /// The newest operation is of `start`, and the file was written that much later.
  void read(std::int32_t rank, Duration written_after, int unretired = 0) {
    const auto ms = std::chrono::duration_cast<milliseconds>(written_after).count();
    add(EventKind::trace_read, rank,
        {{"written_after_ms", std::to_string(ms)}, {"unretired", std::to_string(unretired)}});
  }
  void done(std::int32_t rank, const std::string& group, const std::string& lane, int seq,
            int record) {
    add(EventKind::operation_completed, rank, operation(group, lane, seq, record));
  }
  void waits(std::int32_t rank, const std::string& group, const std::string& lane, int seq,
             int record, Fields more = {}) {
    more.merge(operation(group, lane, seq, record));
    add(EventKind::operation_pending, rank, std::move(more));
  }

  /// "not_joined 2".
  std::string finding(const std::set<std::int32_t>& said_waiting = {}) const {
    const auto found = find_stuck_operation(board_, said_waiting);
    if (!found) return "nothing";
    std::string text(to_text(found->kind));
    for (const auto rank : found->ranks) text += ' ' + std::to_string(rank);
    return text;
  }

 private:
  static Fields operation(const std::string& group, const std::string& lane, int seq, int record) {
    return {{"group", group},
            {"lane", lane},
            {"seq", std::to_string(seq)},
            {"last", std::to_string(seq)},
            {"record", std::to_string(record)},
            {"op", lane == "collective" ? "all_reduce" : lane.substr(0, 4)},
            {"in_sizes", "64"},
            {"in_dtypes", "Float"}};
  }
  void add(EventKind kind, std::int32_t rank, Fields fields) {
    Event event;
    event.source = EventSource::collective_trace;
    event.kind = kind;
    event.attempt = AttemptId{"7", 0};
    event.subject = Subject::of_rank(*event.attempt, rank);
    event.observed_at = start;
    event.fields = std::move(fields);
    event.raw.path = "rank_" + std::to_string(rank);
    event.raw.offset = ++offset_;
    event.id = make_event_id(event);
    board_.add(event);
  }

  OperationBoard board_;
  std::uint64_t offset_ = 0;
};

/// Rank 2 is not at what 0 and 1 wait in.
void one_is_missing(Traces& traces) {
  traces.group("0", "0-2");
  for (const int rank : {0, 1, 2}) traces.done(rank, "0", "collective", 4, 0);
  for (const int rank : {0, 1}) traces.waits(rank, "0", "collective", 5, 1);
}

// --- a job that moves ---

TEST(StuckOperation, WhatIsYoungWhenItIsWrittenIsNotStuck) {
  const auto told = [](Duration after) {
    Traces traces;
    one_is_missing(traces);
    for (const int rank : {0, 1, 2}) traces.read(rank, after);
    return traces.finding();
  };
  EXPECT_EQ(told(standstill_min - milliseconds{1}), "moving");
  EXPECT_EQ(told(standstill_min), "not_joined 2");
}

TEST(StuckOperation, OneThatHasWaitedForLongIsEnough) {
  Traces traces;
  one_is_missing(traces);
  traces.read(0, seconds{1});
  traces.read(1, seconds{60});
  EXPECT_EQ(traces.finding(), "not_joined 2");
}

TEST(StuckOperation, AShortTimeOutMakesAShortStandstill) {
  const auto told = [](const std::string& timeout_ms) {
    Traces traces;
    traces.group("0", "0-1");
    traces.done(1, "0", "collective", 1, 0);
    traces.waits(0, "0", "collective", 2, 1, {{"timeout_ms", timeout_ms}});
    traces.read(0, milliseconds{2000});
    return traces.finding();
  };
  EXPECT_EQ(told("4000"), "not_joined 1");
  EXPECT_EQ(told("4002"), "moving");
}

TEST(StuckOperation, WithoutFileTimesItIsTakenToStandStill) {
  Traces traces;
  one_is_missing(traces);
  EXPECT_EQ(traces.finding(), "not_joined 2");
}

TEST(StuckOperation, WhatIsDoneOnOneRankWasBegunOnAll) {
  Traces traces;
  one_is_missing(traces);
  traces.done(1, "0", "collective", 9, 7);
  EXPECT_EQ(traces.finding(), "moving") << "rank 1 is from a later moment";
}

TEST(StuckOperation, MostRanksBusyIsAJobThatMoves) {
  const auto told = [](int busy) {
    Traces traces;
    one_is_missing(traces);
    for (const int rank : {0, 1, 2}) traces.read(rank, std::chrono::hours{1}, rank < busy ? 3 : 0);
    return traces.finding();
  };
  EXPECT_EQ(told(1), "not_joined 2");
  EXPECT_EQ(told(2), "moving");
}

TEST(StuckOperation, WhereARankPrintedItsTimeOutNothingMoves) {
  Traces traces;
  one_is_missing(traces);
  for (const int rank : {0, 1, 2}) traces.read(rank, seconds{1});
  EXPECT_EQ(traces.finding({0}), "not_joined 2");
}

// --- transfers ---

TEST(StuckOperation, ABatchBeginsAsOne) {
  Traces traces;
  traces.group("p", "3,9");
  for (const auto& [rank, peer] : {std::pair{3, "9"}, std::pair{9, "3"}}) {
    traces.waits(rank, "p", std::string("send>") + peer, 1, 4, {{"batch", "4"}});
    traces.waits(rank, "p", std::string("recv<") + peer, 1, 5, {{"batch", "4"}});
  }
  EXPECT_EQ(traces.finding(), "inside") << "nobody waits for the other half of his own batch";
}

TEST(StuckOperation, TheEndsOfATransferMustAgree) {
  Traces traces;
  traces.group("p", "3,9");
  traces.waits(3, "p", "send>9", 1, 4);
  traces.waits(9, "p", "recv<3", 1, 4, {{"in_sizes", "128"}});
  EXPECT_EQ(traces.finding(), "mismatch 3 9");
}

// --- order ---

TEST(StuckOperation, WhoDiffersFromHisLikeMadeTheCircle) {
  Traces traces;
  traces.group("w", "0-3", "world");
  traces.group("b0", "0,2", "b");
  traces.group("b1", "1,3", "b");
  for (const int rank : {0, 1, 2}) {
    traces.waits(rank, "w", "collective", 1, 1);
    traces.waits(rank, rank == 1 ? "b1" : "b0", "collective", 1, 2);
  }
  traces.waits(3, "b1", "collective", 1, 1);
  EXPECT_EQ(traces.finding(), "wrong_order 3");
}

TEST(StuckOperation, MembersOfBothGroupsDecideWhateverElseTheyDo) {
  Traces traces;
  traces.group("w", "0-2", "world");
  traces.group("b", "0-2", "b");
  traces.group("own", "0,7", "of rank 0 alone");
  traces.done(0, "own", "collective", 90, 0);
  for (const int rank : {1, 2}) {
    traces.waits(rank, "w", "collective", 1, 5);
    traces.waits(rank, "b", "collective", 1, 6);
  }
  traces.waits(0, "b", "collective", 1, 5);
  EXPECT_EQ(traces.finding(), "wrong_order 0");
}

TEST(StuckOperation, OneAgainstOneIsACircleAndNoMore) {
  Traces traces;
  traces.group("w", "0-1", "world");
  traces.group("b", "0-1", "b");
  traces.waits(0, "w", "collective", 1, 1);
  traces.waits(0, "b", "collective", 1, 2);
  traces.waits(1, "b", "collective", 1, 1);
  traces.waits(1, "w", "collective", 1, 2);
  EXPECT_EQ(traces.finding(), "deadlock 0 1");
}

// --- traces that say nothing ---

TEST(StuckOperation, AnEmptyTraceSpeaksWhereNobodyHasComeThrough) {
  const auto told = [](bool done) {
    Traces traces;
    traces.group("0", "0-2");
    for (const int rank : {0, 1}) {
      if (done) traces.done(rank, "0", "collective", 1, 0);
      traces.waits(rank, "0", "collective", done ? 2 : 1, 1);
    }
    traces.read(2, std::chrono::minutes{10});
    return traces.finding();
  };
  EXPECT_EQ(told(false), "not_joined 2");
  EXPECT_EQ(told(true), "no_trace 2") << "it was needed for the first one";
}

TEST(StuckOperation, ATransferWithAnotherIsNoReasonToHaveBeenThere) {
  Traces traces;
  traces.group("0", "0-2");
  traces.group("p", "0,1");
  for (const int rank : {0, 1}) {
    traces.done(rank, "p", rank == 0 ? "send>1" : "recv<0", 1, 0);
    traces.waits(rank, "0", "collective", 1, 1);
  }
  traces.read(2, std::chrono::minutes{10});
  EXPECT_EQ(traces.finding(), "not_joined 2");
}

// --- circles beside ranks without a trace ---

TEST(StuckOperation, OnlyWhatHangsAnywayBeatsAMissingTrace) {
  const auto told = [](bool in_two_orders) {
    Traces traces;
    traces.group("w", "0-3", "world");
    traces.group("b", "0-2", "b");
    for (const int rank : {0, 1}) {
      traces.waits(rank, "w", "collective", 1, 1);
      traces.waits(rank, "b", "collective", 1, 2);
    }
    traces.waits(2, "w", "collective", 1, in_two_orders ? 2 : 1);
    traces.waits(2, "b", "collective", 1, in_two_orders ? 1 : 2);
    return traces.finding();
  };
  EXPECT_EQ(told(false), "no_trace 3");
  EXPECT_EQ(told(true), "wrong_order 2");
}

TEST(StuckOperation, ASendThatIsNotTakenNeedNotBeWhatItsRankWaitsIn) {
  Traces traces;
  traces.group("p", "0-1");
  traces.group("w", "0-2", "world");
  traces.waits(0, "p", "send>1", 1, 1);
  traces.waits(0, "w", "collective", 1, 2);
  traces.waits(1, "w", "collective", 1, 1);
  EXPECT_EQ(traces.finding(), "no_trace 2") << "rank 1 takes it when rank 2 has come";
}

// --- wrong peers and swapped transfers ---

TEST(StuckOperation, WhoAsksAStrangerWhileItsPeerWaitsCallsTheWrongOne) {
  const auto told = [](bool stranger) {
    Traces traces;
    traces.group("p", "0-2", "pipe");
    traces.waits(0, "p", "recv<1", 1, 1);
    traces.done(1, "p", "send>2", 1, 0);
    traces.waits(1, "p", "send>2", 2, 1);
    traces.done(2, "p", "recv<1", 1, 1);
    if (!stranger) traces.done(2, "p", "send>0", 1, 2);
    traces.waits(2, "p", "recv<0", 1, 3);
    return traces.finding();
  };
  EXPECT_EQ(told(true), "wrong_peer 2");
  EXPECT_EQ(told(false), "deadlock 0 1 2") << "it sent to rank 0 before";
}

TEST(StuckOperation, WhoReceivesInAnotherOrderThanItsStageMadeTheCircle) {
  Traces traces;
  for (const int first : {0, 1, 2}) {
    const std::string group = "p" + std::to_string(first);
    traces.group(group, std::to_string(first) + "-" + std::to_string(first + 6) + ":3", "pipe");
    const int middle = first + 3;
    const std::string from = "recv<" + std::to_string(first);
    const std::string back = "recv<" + std::to_string(first + 6);
    if (first < 2) {
      traces.done(middle, group, from, 1, 1);
      traces.waits(middle, group, back, 1, 2);
    } else {
      traces.waits(middle, group, back, 1, 1);
      traces.waits(first, group, "send>" + std::to_string(middle), 1, 1);
      traces.waits(first + 6, group, "recv<" + std::to_string(middle), 1, 1);
    }
  }
  // The other pipelines wait for it in what all have in common.
  traces.group("w", "0-8", "world");
  for (const int rank : {0, 1, 6, 7}) traces.waits(rank, "w", "collective", 1, 9);
  EXPECT_EQ(traces.finding(), "wrong_order 5");
}

}  // namespace
}  // namespace faultline
