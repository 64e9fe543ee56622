// Logs that cannot be read, and what is odd in those that can: what the agent's own log, its
// counters and its events say of them.
#include "agent/own_log_fixture.h"
#include "agent/runtime_fixture.h"

namespace faultline {
namespace {

class RuntimeLogsTest : public RuntimeTest {
 protected:
  /// In longer steps: minutes are long.
  void wait(Duration duration) {
    for (const Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      clock_.advance(seconds{1});
      runtime_->step();
    }
  }
  void announce_rank() {
    door_.say(peer_, message(LauncherVerb::rank_started));
    run_for(seconds{1});
  }
  std::size_t gaps(const std::string& why) const {
    std::size_t count = 0;
    for (const Event& gap : uplink_.of(EventKind::source_gap)) count += gap.field("why") == why;
    return count;
  }

  OwnLog own_;
};

TEST_F(RuntimeLogsTest, AKernelLogThatCannotBeReadIsSaidOnceCountedAndToldWhenItIsBack) {
  for (const ErrorCode code :
       {ErrorCode::not_found, ErrorCode::permission_denied, ErrorCode::invalid_argument}) {
    const OwnLog own;
    kernel_.error = Error{code, "/var/log/kern.log: no"};
    start();
    wait(std::chrono::minutes{30});
    const auto said = own.lines("/var/log/kern.log: no");
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].substr(0, 7), "error: ");
    EXPECT_NE(said[0].find("--kernel-log"), std::string::npos) << "what to do";
    EXPECT_EQ(counters_.get("agent_kernel_logs_unreadable"), 1U);
    kernel_.error.reset();
    xid(static_cast<int>(code) + 1);
    wait(std::chrono::minutes{30});
    EXPECT_EQ(own.lines("info: log: /var/log/kern.log can be read").size(), 1U);
    EXPECT_EQ(counters_.get("agent_kernel_logs_unreadable"), 0U);
  }
  EXPECT_EQ(gaps("unreadable"), 3U);
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 3U) << "it was tried on and on";
  EXPECT_TRUE(own_.lines("kern.log").empty()) << "before and after, nothing was wrong";
}

TEST_F(RuntimeLogsTest, TheSchedulersLogSpeaksAsTheScheduler) {
  start();
  job_log_.path = "/var/log/slurmctld.log";
  ASSERT_TRUE(runtime_->add_scheduler_log(std::make_unique<FakeSource>(job_log_)).ok());
  job_log_.text +=
      "[2026-02-28T09:14:03.500] error: Nodes n[17-19] not responding, setting DOWN\n"
      "[2026-02-28T09:14:03.600] NVRM: Xid (PCI:0000:3b:00): 48, pid=7\n";
  wait(seconds{5});
  const auto events = uplink_.of(EventKind::log_signature);
  ASSERT_EQ(events.size(), 3U) << "a kernel's words in it are none";
  EXPECT_EQ(events[0].source, EventSource::scheduler);
  EXPECT_EQ(events[0].subject, Subject::of_node("n17"));
}

TEST_F(RuntimeLogsTest, AKernelLogThatComesAndGoesDoesNotFillTheLog) {
  const auto flap = [this](Duration duration) {
    for (const Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      kernel_.error = Error{ErrorCode::unavailable, "/var/log/kern.log: bad disk"};
      wait(seconds{1});
      kernel_.error.reset();
      wait(seconds{1});
    }
  };
  flap(seconds{58});
  EXPECT_EQ(own_.lines("bad disk").size(), 1U);
  EXPECT_EQ(gaps("unreadable"), 1U);
  kernel_.error = Error{ErrorCode::unavailable, "/var/log/kern.log: bad disk"};
  wait(seconds{10});
  EXPECT_EQ(own_.lines("bad disk").size(), 2U) << "what lasts is said";
}

TEST_F(RuntimeLogsTest, AJobLogThatIsNotThereYetIsNoTrouble) {
  announce_rank();
  job_log_.error = Error{ErrorCode::not_found, "/logs/77.log: no such file"};
  wait(std::chrono::minutes{2});
  EXPECT_EQ(own_.lines("error:").size() + own_.lines("warning:").size(), 0U);
  EXPECT_EQ(own_.lines("/logs/77.log: no such file").size(), 1U);
  EXPECT_EQ(counters_.get("agent_kernel_logs_unreadable"), 0U);
  EXPECT_EQ(gaps("unreadable"), 0U);
}

TEST_F(RuntimeLogsTest, WhatIsOddInALogIsSaidAtOnceThenCounted) {
  announce_rank();
  const std::string binary("a\0b\n", 4);
  const std::string endless = std::string(100'000, 'x') + "\n";
  job_log_.text += binary + endless;
  wait(std::chrono::minutes{2});
  const std::string about = "warning: log: /logs/77.log: ";
  ASSERT_EQ(own_.lines(about + "lines held NUL bytes").size(), 1U);
  ASSERT_EQ(own_.lines(about + "lines were too long").size(), 1U);
  for (int minute = 0; minute < 7; ++minute) {
    job_log_.text += binary + binary;
    job_log_.gap = GapReason::truncated;
    wait(std::chrono::minutes{1});
  }
  EXPECT_EQ(own_.lines("NUL bytes").size(), 1U) << "held back";
  EXPECT_EQ(own_.lines("truncated").size(), 1U);
  wait(std::chrono::minutes{10});
  const auto binary_lines = own_.lines("NUL bytes");
  ASSERT_EQ(binary_lines.size(), 2U);
  EXPECT_NE(binary_lines[1].find(", 14 lines, 14 bytes, 7 times"), std::string::npos)
      << binary_lines[1];
  EXPECT_EQ(own_.lines("truncated").size(), 2U);
  EXPECT_EQ(own_.lines("too long").size(), 1U) << "once is once";
}

TEST_F(RuntimeLogsTest, OldKernelLinesAreDroppedWithAWordOfHowManyWhyAndHowOld) {
  wait(seconds{10});
  EXPECT_TRUE(own_.lines("old news").empty());
  for (int pid = 1; pid <= 3; ++pid) xid(pid, std::chrono::minutes{10 * pid});
  xid(4);
  wait(std::chrono::minutes{5});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  auto said = own_.lines("old news");
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].find("warning: log: /var/log/kern.log: hits of before the agent's first start"),
            0U)
      << said[0];
  EXPECT_NE(said[0].find("the oldest is of 30 min before it, 3 lines"), std::string::npos)
      << said[0];
  xid(5, std::chrono::hours{2});
  wait(std::chrono::minutes{1});
  EXPECT_EQ(own_.lines("old news").size(), 1U) << "counted until it is due again";
  wait(std::chrono::minutes{10});
  said = own_.lines("old news");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_NE(said[1].find("hits of before this boot"), std::string::npos) << said[1];
  EXPECT_EQ(counters_.get("agent_stale_lines_total"), 4U);
}

TEST_F(RuntimeLogsTest, WhatWasHeldBackIsSaidWhenTheLogIsOver) {
  announce_rank();
  for (int i = 0; i < 2; ++i) {
    job_log_.gap = GapReason::truncated;
    job_log_.text += "x\n";
    wait(seconds{1});
  }
  EXPECT_EQ(own_.lines("truncated").size(), 1U);
  door_.say(peer_, message(LauncherVerb::rank_exited));
  wait(std::chrono::minutes{1});
  EXPECT_EQ(own_.lines("truncated").size(), 2U);
}

TEST_F(RuntimeLogsTest, ARotationIsSaidOnceAlsoWhileTheOldFileStillGrows) {
  announce_rank();
  job_log_.text += "one\n";
  wait(seconds{1});
  EXPECT_TRUE(own_.lines("another file").empty());
  for (const char* incarnation : {"2", "1", "2", "1", "2"}) {
    job_log_.incarnation = incarnation;
    job_log_.text += "more\n";
    wait(seconds{1});
  }
  door_.say(peer_, message(LauncherVerb::rank_exited));
  wait(std::chrono::minutes{1});
  const auto said = own_.lines("another file");
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].substr(0, 6), "info: ");
}

}  // namespace
}  // namespace faultline
