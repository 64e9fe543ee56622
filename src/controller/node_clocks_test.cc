#include "controller/node_clocks.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Instant now = parse_instant("2026-03-01T12:00:00Z").value_or(Instant{});

Event stamped(Instant at) {
  Event event;
  event.subject = Subject::of_node("n2");
  event.observed_at = at;
  event.clock = ClockDomain::node_wall;
  return event;
}

TEST(NodeClocks, AFaultOnANodeWhoseClockIsHoursOffIsFresh) {
  NodeClocks clocks;
  for (const Duration off : {Duration(-hours{2}), Duration(hours{3})}) {
    static_cast<void>(clocks.heard("n2", now + off, now));
    Event event = stamped(now + off - seconds{1});
    clocks.correct("n2", event);
    EXPECT_EQ(event.observed_at, now - seconds{1});
    EXPECT_EQ(event.clock, ClockDomain::controller);
    EXPECT_EQ(event.fields.at("clock_behind_s"), off < Duration{0} ? "7200" : "-10800");
  }
}

TEST(NodeClocks, WhatIsNotTheNodesOwnTimeIsLeftAlone) {
  NodeClocks clocks;
  static_cast<void>(clocks.heard("n2", now - hours{2}, now));
  Event other = stamped(now);
  clocks.correct("n3", other);
  EXPECT_EQ(other.observed_at, now);
  Event scheduler = stamped(now);
  scheduler.clock = ClockDomain::scheduler;
  clocks.correct("n2", scheduler);
  EXPECT_EQ(scheduler.observed_at, now);
  Event timeless = stamped({});
  clocks.correct("n2", timeless);
  EXPECT_FALSE(known(timeless.observed_at));
}

TEST(NodeClocks, AMinuteIsTheLimitAndALateBeatIsNoStep) {
  NodeClocks clocks;
  EXPECT_FALSE(clocks.heard("n2", now - clock_offset_min + seconds{1}, now));
  EXPECT_EQ(clocks.behind("n2"), Duration{0});
  EXPECT_TRUE(clocks.heard("n2", now - clock_offset_min, now)) << "it became wrong";
  EXPECT_FALSE(clocks.heard("n2", now - clock_offset_min, now)) << "said once";
  EXPECT_EQ(clocks.behind("n2"), clock_offset_min);
  EXPECT_FALSE(clocks.heard("n2", {}, now)) << "an agent that says nothing changes nothing";
  EXPECT_EQ(clocks.behind("n2"), clock_offset_min);
  EXPECT_TRUE(clocks.heard("n2", now, now)) << "and right again";
  EXPECT_EQ(clocks.behind("n2"), Duration{0});
}

}  // namespace
}  // namespace faultline
