#include "detect/event_window.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

constexpr Instant start{std::chrono::hours{1000}};

Event make(int id, int second) {
  Event event;
  event.id = "e-" + std::to_string(id);
  event.observed_at = start + std::chrono::seconds{second};
  event.received_at = start + std::chrono::hours{1};
  return event;
}

std::vector<EventId> ids(const EventWindow& window) {
  std::vector<EventId> all;
  for (const Fact& fact : window.facts()) all.push_back(fact.event.id);
  return all;
}

TEST(EventWindow, OrdersByTimeAndKeepsTheOrderOfArrivalWithinIt) {
  EventWindow window(10);
  for (const auto& [id, second] : {std::pair{1, 5}, {2, 1}, {3, 5}, {4, 3}})
    EXPECT_TRUE(window.add(make(id, second)));
  EXPECT_EQ(ids(window), (std::vector<EventId>{"e-2", "e-4", "e-1", "e-3"}));
}

TEST(EventWindow, TakesAnEventOnce) {
  EventWindow window(10);
  EXPECT_TRUE(window.add(make(1, 1)));
  EXPECT_FALSE(window.add(make(1, 1)));
  EXPECT_EQ(window.facts().size(), 1U);
}

TEST(EventWindow, InAFloodTheFirstLinesStay) {
  EventWindow window(2);
  for (int id = 1; id <= 5; ++id) window.add(make(id, id));
  EXPECT_EQ(ids(window), (std::vector<EventId>{"e-1", "e-2"}));
  EXPECT_EQ(window.dropped(), 3U);
}

TEST(EventWindow, ALongMemoryLetsGoOfTheOldest) {
  EventWindow window(2, WhenFull::drop_oldest);
  for (int id = 1; id <= 5; ++id) EXPECT_TRUE(window.add(make(id, id)));
  EXPECT_EQ(ids(window), (std::vector<EventId>{"e-4", "e-5"}));
  EXPECT_EQ(window.dropped(), 3U);
  EXPECT_FALSE(window.add(make(2, 2))) << "older than all that it holds";
  EXPECT_FALSE(window.add(make(5, 5))) << "known, and pushes nothing out";
  EXPECT_EQ(ids(window), (std::vector<EventId>{"e-4", "e-5"}));
}

TEST(EventWindow, ForgetsWhatIsOlderAndTakesItAgain) {
  EventWindow window(10);
  for (int id = 1; id <= 3; ++id) window.add(make(id, id));
  window.forget_before(start + std::chrono::seconds{2});
  EXPECT_EQ(ids(window), (std::vector<EventId>{"e-2", "e-3"}));
  EXPECT_TRUE(window.add(make(1, 1)));
}

TEST(EventWindow, KeepsOnlyTheHeadOfALongLine) {
  EventWindow window(1);
  Event event = make(1, 1);
  event.raw.text.assign(5000, 'x');
  window.add(event);
  EXPECT_EQ(window.facts()[0].event.raw.text.size(), fact_text_bytes_max);
}

TEST(EventTime, AClockAheadMakesNoEventOfTheFuture) {
  Event event = make(1, 0);
  event.observed_at = event.received_at + std::chrono::hours{3};
  EXPECT_EQ(happened_at(event), event.received_at);
}

TEST(EventTime, WhatAJobPrintsIsNotBelievedFarBack) {
  Event event = make(1, 0);
  event.clock = ClockDomain::printed;
  event.observed_at = event.received_at - printed_age_max;
  EXPECT_EQ(happened_at(event), event.observed_at);
  event.observed_at -= Duration{1};
  EXPECT_EQ(happened_at(event), event.received_at);
}

TEST(EventTime, WithoutAStampItIsWhenItWasReceived) {
  Event event = make(1, 0);
  event.observed_at = {};
  EXPECT_EQ(happened_at(event), event.received_at);
  event.received_at = {};
  event.observed_at = start;
  EXPECT_EQ(learnt_at(event), start);
}

}  // namespace
}  // namespace faultline
