#include "detect/launch_counts.h"

#include <gtest/gtest.h>

#include <string>

namespace faultline {
namespace {

constexpr Instant asked_at{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}};

Event told(std::int32_t rank, std::int64_t launched, const std::string& group = "world",
           Instant at = asked_at) {
  Event event;
  event.source = EventSource::collective_trace;
  event.kind = EventKind::operation_completed;
  event.subject = Subject::of_rank({"7", 0}, rank, "");
  event.observed_at = at;
  event.fields = {{"group", group},
                  {"lane", "collective"},
                  {"seq", std::to_string(launched)},
                  {"counted", "launched"}};
  event.id = make_event_id(event);
  return event;
}

std::int32_t least_of(const std::vector<Event>& events, Instant since = asked_at) {
  OperationBoard board;
  for (const Event& event : events) board.add(event);
  const RankOperation* least = least_launched(board, since);
  return least == nullptr ? -1 : least->rank;
}

TEST(LaunchCounts, NamesTheOneThatIsBehindAllOthers) {
  EXPECT_EQ(least_of({told(0, 120), told(1, 121), told(2, 117), told(3, 120)}), 2);
}

TEST(LaunchCounts, NamesNobodyWhereTwoAreOrNobodyIsBehind) {
  EXPECT_EQ(least_of({told(0, 120), told(1, 117), told(2, 117)}), -1);
  EXPECT_EQ(least_of({told(0, 120), told(1, 120)}), -1);
  EXPECT_EQ(least_of({told(0, 120)}), -1);
}

TEST(LaunchCounts, NamesNobodyWhereGroupsAccuseDifferentRanks) {
  EXPECT_EQ(least_of({told(0, 9, "a"), told(1, 8, "a"), told(2, 9, "b"), told(3, 8, "b")}), -1);
  EXPECT_EQ(least_of({told(0, 9, "a"), told(1, 8, "a"), told(1, 7, "b"), told(3, 8, "b")}), 1);
}

TEST(LaunchCounts, WhatWasToldBeforeDoesNotCount) {
  const std::vector<Event> events{told(0, 120), told(1, 117)};
  EXPECT_EQ(least_of(events, asked_at), 1);
  EXPECT_EQ(least_of(events, asked_at + std::chrono::seconds{1}), -1);
  EXPECT_EQ(least_of({told(0, 120, "world", {}), told(1, 117, "world", {})}), 1);
}

}  // namespace
}  // namespace faultline
