#include "diagnose/step_pace.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Instant start = *parse_instant("2026-11-29T10:00:00Z");

/// Steps 0 to `steps` - 1, one in 20 s.
StepPace paced(int steps) {
  StepPace pace;
  for (int i = 0; i < steps; ++i) pace.line(start + seconds{20 * i}, i);
  return pace;
}

TEST(StepPace, ALogThatGoesOnLongAfterItsLastStep) {
  StepPace pace = paced(5);
  pace.line(start + minutes{5}, 4);  // the same step, told again
  pace.line(start + minutes{40}, std::nullopt);
  const auto stall = pace.stall();
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->since, start + seconds{80});
  EXPECT_EQ(stall->until, start + minutes{40});
  EXPECT_EQ(stall->usual, seconds{20});
}

TEST(StepPace, ALogThatEndsWithItsSteps) {
  EXPECT_FALSE(paced(500).stall());
  EXPECT_FALSE(StepPace().stall());
}

TEST(StepPace, TheShortestThatCounts) {
  StepPace pace = paced(5);
  pace.line(start + seconds{80} + stalled_min - seconds{1}, std::nullopt);
  EXPECT_FALSE(pace.stall());
  pace.line(start + seconds{80} + stalled_min, std::nullopt);
  EXPECT_TRUE(pace.stall());
}

TEST(StepPace, StepsThatHaveTakenAsLong) {
  StepPace pace = paced(3);
  pace.line(start + minutes{10}, 3);  // a checkpoint, say
  pace.line(start + minutes{10} + stalled_paces_min * minutes{9}, std::nullopt);
  EXPECT_FALSE(pace.stall());
}

TEST(StepPace, CountingAnewIsProgress) {
  StepPace pace = paced(5);
  for (int i = 0; i < 90; ++i) pace.line(start + minutes{2 + i}, i);
  EXPECT_FALSE(pace.stall());
}

TEST(StepPace, TooFewStepsShowNoPace) {
  StepPace pace = paced(paced_steps_min - 1);
  pace.line(start + minutes{60}, std::nullopt);
  EXPECT_FALSE(pace.stall());
}

TEST(StepPace, LinesWithoutATimeSayNothing) {
  StepPace pace = paced(5);
  pace.line({}, 9);
  EXPECT_FALSE(pace.stall());
}

}  // namespace
}  // namespace faultline
