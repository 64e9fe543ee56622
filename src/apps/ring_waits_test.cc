#include "apps/ring_waits.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace faultline {
namespace {

using testing::HasSubstr;

RingTime at_second(std::int64_t second) {
  const Duration time = std::chrono::seconds{second};
  return {true, time, Instant{std::chrono::seconds{1'790'000'000} + time}};
}

/// Of four ranks; in flight is all_reduce 8, since second 50, if `waits`.
RingView rank(std::int32_t number, bool waits, std::int64_t until) {
  RingView view;
  view.path = std::to_string(number) + ".ring";
  view.life = WriterLife::running;
  view.until = at_second(until);
  view.ring.identity.host = "n" + std::to_string(number);
  view.ring.identity.job = "4711";
  view.ring.identity.pid = 100 + static_cast<std::uint32_t>(number);
  view.ring.identity.rank = number;
  view.ring.identity.rank_count = 4;
  RingCommunicator world;
  world.id = 0xabc;
  world.name = "MPI_COMM_WORLD";
  world.rank = number;
  world.rank_count = 4;
  RingOperation one;
  one.kind = "all_reduce";
  one.count = 64;
  one.data_type = "float32";
  one.sequence = 6;
  one.phase = OperationPhase::over;
  one.started = at_second(49);
  world.completed = {one};
  if (waits) {
    one.sequence = 7;
    one.phase = OperationPhase::called;
    one.started = at_second(50);
    world.in_flight = {one};
  }
  view.ring.communicators = {world};
  return view;
}

std::vector<RingView> job(std::int64_t until) {
  return {rank(0, true, until), rank(1, true, until), rank(2, false, until), rank(3, true, until)};
}

TEST(RingWaitsTest, SaysWhoNeverEntered) {
  auto views = job(80);
  views[2].life = WriterLife::stopped;
  const std::string text = ring_waits_text(views);
  EXPECT_THAT(text, HasSubstr("job 4711: rank 2 never entered all_reduce 8 of MPI_COMM_WORLD, in "
                              "which 3 others wait; for 30.0 s"));
  EXPECT_THAT(text, HasSubstr("rank 2 (pid 102 on n2) is stopped"));
  const auto json = ring_waits_json(views);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["kind"], "not_joined");
  EXPECT_EQ(json[0]["ranks"], nlohmann::json::array({2}));
  EXPECT_EQ(json[0]["waiting"], 3);
  EXPECT_EQ(json[0]["waited_s"], 30.0);
}

TEST(RingWaitsTest, AHealthyJobWaitsForMoments) {
  EXPECT_EQ(ring_waits_text(job(53)), "");
  EXPECT_TRUE(ring_waits_json(job(53)).empty());
}

TEST(RingWaitsTest, SaysWhatDiffers) {
  auto views = job(80);
  views[2] = rank(2, true, 80);
  views[2].ring.communicators[0].in_flight[0].count = 65;
  EXPECT_THAT(ring_waits_text(views), HasSubstr("rank 2 met others in all_reduce 8"));
}

TEST(RingWaitsTest, SaysWhenAllAreInIt) {
  auto views = job(80);
  views[2] = rank(2, true, 80);
  EXPECT_THAT(ring_waits_text(views),
              HasSubstr("all have entered all_reduce 8 of MPI_COMM_WORLD, and it does not end"));
}

TEST(RingWaitsTest, AMissingBlackBoxIsNamed) {
  auto views = job(80);
  views.erase(views.begin() + 2);
  const std::string text = ring_waits_text(views);
  EXPECT_THAT(text, HasSubstr("left no black box here: rank 2"));
}

TEST(RingWaitsTest, JobsAreKeptApartAndOneRankAloneSaysNothing) {
  auto views = job(80);
  for (RingView& view : views) view.ring.identity.job += std::to_string(view.ring.identity.rank);
  EXPECT_EQ(ring_waits_text(views), "");
}

}  // namespace
}  // namespace faultline
