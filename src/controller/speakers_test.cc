#include "controller/speakers.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>  // tidy: allow stream
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>  // tidy: allow stream

namespace faultline {
namespace {

class SpeakersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said_)));
  }
  void TearDown() override { spdlog::set_default_logger(before_); }

  static Event line(EventSource source, const std::string& reporter, const std::string& node) {
    Event event;
    event.source = source;
    event.kind = EventKind::log_signature;
    event.reporter = reporter;
    event.subject = Subject::of_node(node);
    return event;
  }
  [[nodiscard]] std::size_t refused() const {
    return counters_.get("controller_foreign_events_total");
  }
  [[nodiscard]] std::ptrdiff_t lines_said() const {
    const std::string text = said_.str();
    return std::count(text.begin(), text.end(), '\n');
  }

  Counters counters_;
  Speakers speakers_{{"head"}, counters_};
  std::ostringstream said_;  // tidy: allow stream
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(SpeakersTest, WhoFollowsTheSchedulersLogSpeaksOfAnyNode) {
  EXPECT_TRUE(speakers_.may_say("head", line(EventSource::scheduler, "head", "n3")));
  EXPECT_EQ(refused(), 0U);
  EXPECT_EQ(said_.str(), "");
}

TEST_F(SpeakersTest, AnotherAgentDoesNotAndThatIsCountedAndSaidOnce) {
  EXPECT_FALSE(speakers_.may_say("n5", line(EventSource::scheduler, "n5", "n3")));
  EXPECT_FALSE(speakers_.may_say("n5", line(EventSource::scheduler, "n5", "n4")));
  EXPECT_EQ(refused(), 2U);
  EXPECT_EQ(lines_said(), 1) << said_.str();
  EXPECT_NE(said_.str().find("--scheduler-log-host"), std::string::npos);
  EXPECT_FALSE(speakers_.may_say("n6", line(EventSource::kernel_log, "n6", "n3")));
  EXPECT_EQ(lines_said(), 2);
}

TEST_F(SpeakersTest, OfItsOwnNodeEveryAgentSpeaks) {
  EXPECT_TRUE(speakers_.may_say("n5", line(EventSource::scheduler, "n5", "n5")));
  EXPECT_TRUE(speakers_.may_say("n5", line(EventSource::kernel_log, "n5", "n5")));
}

TEST_F(SpeakersTest, AnotherSourceOfTheAllowedHostIsRefused) {
  for (const auto source : {EventSource::kernel_log, EventSource::nvml, EventSource::agent})
    EXPECT_FALSE(speakers_.may_say("head", line(source, "head", "n3"))) << to_text(source);
  Event seen = line(EventSource::scheduler, "head", "n3");
  seen.kind = EventKind::node_seen;  // only the scheduler's own answers say so
  EXPECT_FALSE(speakers_.may_say("head", seen));
  EXPECT_FALSE(speakers_.may_say("head", line(EventSource::scheduler, "n3", "n3")))
      << "nor in another agent's name";
}

TEST_F(SpeakersTest, NobodyDoesByDefault) {
  Speakers none({}, counters_);
  EXPECT_FALSE(none.may_say("head", line(EventSource::scheduler, "head", "n3")));
  EXPECT_TRUE(none.may_say("n1", line(EventSource::job_log, "n1", "n3"))) << "a job's words";
}

}  // namespace
}  // namespace faultline
