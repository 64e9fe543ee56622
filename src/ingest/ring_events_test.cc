#include "ingest/ring_events.h"

#include <gmock/gmock.h>

namespace faultline {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

RingTime at_ms(std::int64_t ms) {
  const Duration time = std::chrono::milliseconds{ms};
  return {true, time, Instant{std::chrono::seconds{1'790'000'000} + time}};
}

RingOperation operation(const std::string& kind, std::uint64_t sequence, std::int64_t started_ms) {
  RingOperation one;
  one.kind = kind;
  one.sequence = sequence;
  one.count = 64;
  one.data_type = "float32";
  one.started = at_ms(started_ms);
  one.phase = OperationPhase::enqueued;
  return one;
}

RingOperation over(RingOperation one) {
  one.phase = OperationPhase::over;
  return one;
}

/// Rank 3 of 8, in the communicator of all and in one of two.
RingSnapshot rank_three() {
  RingSnapshot ring;
  ring.identity.host = "n12";
  ring.identity.job = "4711";
  ring.identity.rank = 3;
  ring.identity.rank_count = 8;
  ring.identity.library = "nccl";
  ring.last_sign = at_ms(1000);
  RingCommunicator world;
  world.id = 0xabc;
  world.name = "default_pg";
  world.rank = 3;
  world.rank_count = 8;
  world.started = 3;
  world.completed = {over(operation("all_reduce", 1, 200)), over(operation("all_reduce", 0, 100))};
  world.in_flight = {operation("all_reduce", 2, 300)};
  RingCommunicator pair;
  pair.id = 0xdef;
  pair.rank = 1;
  pair.rank_count = 2;
  pair.started = 900;
  RingOperation sends = operation("send", 7, 250);
  sends.peer = 0;
  pair.in_flight = {sends};
  ring.communicators = {world, pair};
  return ring;
}

std::vector<Event> of_kind(const std::vector<Event>& events, EventKind kind) {
  std::vector<Event> found;
  for (const Event& event : events)
    if (event.kind == kind) found.push_back(event);
  return found;
}

TEST(RingEvents, OfEachLaneTheNewestThatIsOverAndWhatIsInFlight) {
  const auto events = ring_events(rank_three(), "x.ring", at_ms(60'300));
  const auto read = of_kind(events, EventKind::trace_read);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].field("format"), "black_box");
  EXPECT_EQ(read[0].field("world"), "8");
  EXPECT_EQ(read[0].field("written_after_ms"), "60000");
  EXPECT_EQ(read[0].field("truncated"), "1") << "899 operations of the pair are no longer there";
  EXPECT_EQ(read[0].subject, Subject::of_rank({"4711", 0}, 3, "n12"));
  const auto groups = of_kind(events, EventKind::group_seen);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].field("group"), "0xabc");
  EXPECT_EQ(groups[0].field("desc"), "default_pg");
  EXPECT_EQ(groups[0].field("ranks"), "0-7") << "all ranks are in it";
  EXPECT_EQ(groups[1].field("ranks"), "3") << "who else is in it the others tell";
  const auto done = of_kind(events, EventKind::operation_completed);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].field("seq"), "2");
  EXPECT_EQ(done[0].field("last"), "3");
  const auto pending = of_kind(events, EventKind::operation_pending);
  ASSERT_THAT(pending, SizeIs(2));
  EXPECT_EQ(pending[0].field("lane"), "collective");
  EXPECT_EQ(pending[0].field("seq"), "3");
  EXPECT_EQ(pending[0].field("state"), "scheduled");
  EXPECT_EQ(pending[0].field("in_sizes"), "64");
  EXPECT_EQ(pending[1].field("lane"), "send>#0");
}

TEST(RingEvents, WhatALaterOnePassedIsOver) {
  RingSnapshot ring = rank_three();
  RingOperation passed = operation("broadcast", 0, 90);
  RingOperation running = operation("all_reduce", 1, 95);
  running.channels_started = 1;
  running.phase = OperationPhase::running;
  ring.communicators.resize(1);
  ring.communicators[0].completed = {over(operation("all_reduce", 2, 100))};
  ring.communicators[0].in_flight = {passed, running};
  const auto pending =
      of_kind(ring_events(ring, "x.ring", at_ms(9'000)), EventKind::operation_pending);
  ASSERT_THAT(pending, SizeIs(1)) << "but what has channels that go on is not";
  EXPECT_EQ(pending[0].field("seq"), "2");
  EXPECT_EQ(pending[0].field("state"), "started");
}

TEST(RingEvents, MpiLetsAReceiveHaveRoomForMore) {
  RingSnapshot ring = rank_three();
  ring.identity.library = "openmpi 4.1.4";
  RingOperation receives = operation("receive", 0, 400);
  receives.peer = 5;
  RingOperation from_anybody = operation("receive", 0, 400);
  ring.communicators[0].in_flight = {receives, from_anybody, operation("gather", 5, 500)};
  ring.communicators.resize(1);
  const auto pending =
      of_kind(ring_events(ring, "x.ring", at_ms(9'000)), EventKind::operation_pending);
  ASSERT_THAT(pending, SizeIs(2));
  EXPECT_EQ(pending[0].field("op"), "gather");
  EXPECT_EQ(pending[0].field("in_sizes"), "");
  EXPECT_EQ(pending[1].field("lane"), "recv<5");
  EXPECT_EQ(pending[1].field("in_sizes"), "");
}

TEST(RingEvents, WhereNobodySaysHowLongNothingWasWaitedFor) {
  const auto read = of_kind(ring_events(rank_three(), "x.ring", {}), EventKind::trace_read);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].field("written_after_ms"), "0");
}

TEST(RingEvents, ARankThatNobodyNamesIsThatOfItsLargestCommunicator) {
  RingSnapshot ring = rank_three();
  ring.identity.rank = -1;
  EXPECT_EQ(ring_events(ring, "x.ring", {}).front().subject.rank, 3);
  ring.communicators.clear();
  EXPECT_THAT(ring_events(ring, "x.ring", {}), IsEmpty());
}

}  // namespace
}  // namespace faultline
