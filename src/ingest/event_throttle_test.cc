#include "ingest/event_throttle.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using Ruling = EventThrottle::Ruling;

Event event(const std::string& signature, Instant at, Fields fields = {}) {
  Event event;
  event.signature = signature;
  event.subject = Subject::of_node("n1");
  event.observed_at = at;
  event.fields = std::move(fields);
  return event;
}

class Throttle : public testing::Test {
 protected:
  static constexpr DecoderLimits limits{std::chrono::seconds{5}, 10, 3, 5};
  EventThrottle throttle_{limits};
  Instant now_ = parse_instant("2026-03-01T12:00:00Z").value_or(Instant{});
  static Duration seconds(int count) { return std::chrono::seconds{count}; }
};

TEST_F(Throttle, TheWindowStartsAtWhatWasPassedAndEndsAfterIt) {
  EXPECT_EQ(throttle_.admit(event("a", now_), 0, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(event("a", now_ + seconds(5)), 1, now_), Ruling::repeat);
  EXPECT_EQ(throttle_.admit(event("a", now_ + seconds(6)), 2, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(event("a", now_ + seconds(11)), 3, now_), Ruling::repeat);
}

TEST_F(Throttle, TimesThatRunBackwardsAreMeasuredAlike) {
  EXPECT_EQ(throttle_.admit(event("a", now_), 0, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(event("a", now_ - seconds(4)), 1, now_), Ruling::repeat);
  EXPECT_EQ(throttle_.admit(event("a", now_ - seconds(60)), 2, now_), Ruling::pass);
}

TEST_F(Throttle, WithoutTimesLinesAndReceiptDecide) {
  EXPECT_EQ(throttle_.admit(event("a", {}), 0, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(event("a", {}), 10, now_), Ruling::repeat);
  EXPECT_EQ(throttle_.admit(event("a", {}), 11, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(event("a", {}), 12, now_ + seconds(6)), Ruling::pass);
}

TEST_F(Throttle, FreeTextDoesNotMakeAnotherFact) {
  EXPECT_EQ(
      throttle_.admit(event("a", now_, {{"pid", "1"}, {"body", "x"}, {"kernel_us", "1"}}), 0, now_),
      Ruling::pass);
  EXPECT_EQ(
      throttle_.admit(event("a", now_, {{"pid", "1"}, {"body", "y"}, {"kernel_us", "2"}}), 1, now_),
      Ruling::repeat);
  EXPECT_EQ(
      throttle_.admit(event("a", now_, {{"pid", "2"}, {"body", "y"}, {"kernel_us", "2"}}), 2, now_),
      Ruling::pass);
}

TEST_F(Throttle, AboveTheLimitOnlyNewPairsPassAndThenNothing) {
  const auto nth = [&](const std::string& signature, int n) {
    return event(signature, now_, {{"n", std::to_string(n)}});
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(throttle_.admit(nth("a", i), 0, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(nth("a", 3), 0, now_), Ruling::flood);
  for (const auto* signature : {"b", "c", "d", "e"})
    EXPECT_EQ(throttle_.admit(nth(signature, 0), 0, now_), Ruling::pass);
  EXPECT_EQ(throttle_.admit(nth("f", 0), 0, now_), Ruling::flood);
  EXPECT_EQ(throttle_.take_dropped(now_ + seconds(59), false), 0U);
  EXPECT_EQ(throttle_.take_dropped(now_ + seconds(60), false), 2U);
  EXPECT_EQ(throttle_.take_dropped(now_ + seconds(60), true), 0U);
}

TEST_F(Throttle, ANewMinuteStartsAfresh) {
  for (int i = 0; i < 5; ++i)
    throttle_.admit(event("a", now_, {{"n", std::to_string(i)}}), 0, now_);
  EXPECT_EQ(throttle_.admit(event("a", now_, {{"n", "9"}}), 0, now_), Ruling::flood);
  EXPECT_EQ(throttle_.admit(event("a", now_, {{"n", "10"}}), 0, now_ + seconds(60)), Ruling::pass);
}

TEST_F(Throttle, PrintedTimesCannotStartANewMinute) {
  for (int i = 0; i < 3; ++i)
    throttle_.admit(event("a", now_ + seconds(i * 3600), {{"n", std::to_string(i)}}), 0, now_);
  EXPECT_EQ(throttle_.admit(event("a", now_ + seconds(90'000), {{"n", "9"}}), 0, now_),
            Ruling::flood);
}

TEST_F(Throttle, AClockSetBackDoesNotShutItForever) {
  for (int i = 0; i < 5; ++i)
    throttle_.admit(event("a", now_, {{"n", std::to_string(i)}}), 0, now_);
  EXPECT_EQ(throttle_.admit(event("a", now_, {{"n", "9"}}), 0, now_ - seconds(3600)), Ruling::pass);
}

}  // namespace
}  // namespace faultline
