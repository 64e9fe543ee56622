#include "agent/uplink_report.h"

#include <gtest/gtest.h>

#include "agent/own_log_fixture.h"

namespace faultline {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class UplinkReportTest : public testing::Test {
 protected:
  Status away(const std::string& why = "controller c: Connection refused") const {
    return Error{ErrorCode::unavailable, why};
  }
  Status refused(const std::string& why = "controller c: speaks for another") const {
    return Error{ErrorCode::permission_denied, why};
  }
  /// Heartbeats of so long, one a second.
  void beat(const Status& status, Duration duration) {
    for (const Duration end = now_ + duration; now_ < end; now_ += seconds{1})
      report_.heartbeat(status, now_);
  }
  std::vector<std::string> all() const { return own_.lines(""); }

  Duration now_{0};
  Counters counters_;
  UplinkReport report_{counters_};
  OwnLog own_;
};

TEST_F(UplinkReportTest, AConnectionIsNewsAndNoWarning) {
  beat(ok_status(), minutes{10});
  EXPECT_EQ(all(), std::vector<std::string>{"info: controller: connected"});
  EXPECT_EQ(counters_.get("agent_uplink_failures_total"), 0U);
}

TEST_F(UplinkReportTest, ARefusalIsAnErrorSaidOnceWithWhatToDoAndCounted) {
  beat(refused(), minutes{10});
  ASSERT_EQ(all().size(), 1U);
  EXPECT_TRUE(all()[0].starts_with("error: controller c: speaks for another; "));
  EXPECT_NE(all()[0].find("doctor --agent"), std::string::npos);
  EXPECT_EQ(counters_.get("agent_uplink_refused_total"), 600U);
  EXPECT_EQ(counters_.get("agent_uplink_failures_total"), 600U);
  beat(ok_status(), minutes{10});
  beat(refused(), minutes{10});
  EXPECT_EQ(all().size(), 3U) << "mended, and spoilt again";
}

TEST_F(UplinkReportTest, AControllerThatIsAwayIsAWarningAndNoRefusal) {
  beat(away(), minutes{10});
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].substr(0, 9), "warning: ");
  EXPECT_EQ(counters_.get("agent_uplink_refused_total"), 0U);
  beat(refused(), minutes{10});
  beat(away(), minutes{10});
  EXPECT_EQ(all().size(), 3U) << "another state each time";
}

TEST_F(UplinkReportTest, AnotherReasonIsSaidButNotAsOftenAsItLikes) {
  for (int i = 0; i < 30; ++i) {
    report_.heartbeat(refused("one"), now_);
    report_.heartbeat(refused("other"), now_);
    now_ += seconds{1};
  }
  EXPECT_EQ(all().size(), 1U);
  beat(refused("other"), minutes{10});
  EXPECT_EQ(own_.lines("other").size(), 1U) << "what it is now";
}

TEST_F(UplinkReportTest, ABatchThatAConnectedControllerDoesNotTakeIsSaidOnceUntilItDoes) {
  beat(ok_status(), seconds{1});
  for (int i = 0; i < 5; ++i) {
    report_.batch(away("controller c did not store: disk full"));
    beat(ok_status(), seconds{10});
  }
  EXPECT_EQ(own_.lines("disk full").size(), 1U);
  EXPECT_EQ(counters_.get("agent_batches_not_taken_total"), 5U);
  report_.batch(ok_status());
  report_.batch(ok_status());
  EXPECT_EQ(own_.lines("takes events again").size(), 1U);
}

TEST_F(UplinkReportTest, ABatchThatTheUplinkLostIsNotSaidTwice) {
  beat(ok_status(), seconds{1});
  report_.batch(away());
  beat(away(), seconds{10});
  EXPECT_EQ(own_.lines("Connection refused").size(), 1U);
  beat(ok_status(), seconds{10});
  report_.batch(ok_status());
  EXPECT_EQ(all().size(), 3U) << "connected, away, connected";
}

}  // namespace
}  // namespace faultline
