// Launchers, their ranks, and the logs of jobs.
#include "agent/runtime_fixture.h"

namespace faultline {
namespace {

TEST_F(RuntimeTest, AJobLogThatHangsIsToldOnceAndReadWhenItIsBack) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.error = Error{ErrorCode::deadline_exceeded, "hangs"};
  job_log_.text += "BOOM\n";
  run_for(seconds{10});
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U) << "the kernel's log goes on";
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "hung");
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("log"), "/logs/77.log");
  EXPECT_EQ(counters_.get("agent_log_hangs_total"), 1U);
  job_log_.error.reset();
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
}

TEST_F(RuntimeTest, AJobLogWithoutAnAnswerIsReadAfterItsJobWhenTheMountIsBack) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.waiting = true;
  job_log_.text += "BOOM\n";
  door_.say(peer_, message(LauncherVerb::rank_exited));
  run_for(seconds{120});
  job_log_.waiting = false;
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 0U);
  EXPECT_TRUE(uplink_.of(EventKind::source_gap).empty());
  run_for(seconds{5});
  job_log_.text += "BOOM\n";
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U) << "its job is long over";
}

TEST_F(RuntimeTest, AJobLogThatIsNeverAnsweredIsGivenUpAloud) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.waiting = true;
  door_.say(peer_, message(LauncherVerb::rank_exited));
  const auto wait = [this](Duration duration) {  // in longer steps: an hour is long
    for (Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      clock_.advance(seconds{1});
      runtime_->step();
    }
  };
  wait(std::chrono::minutes{59});
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 0U);
  wait(std::chrono::minutes{2});
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 1U);
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "unread");
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("log"), "/logs/77.log");
}

TEST_F(RuntimeTest, ALogThatIsNotThereYetIsNoHang) {
  run_for(seconds{1});
  job_log_.error = Error{ErrorCode::not_found, "no such file"};
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{10});
  EXPECT_TRUE(uplink_.of(EventKind::source_gap).empty());
  EXPECT_EQ(counters_.get("agent_log_hangs_total"), 0U);
}

TEST_F(RuntimeTest, RankItsLogAndItsEnd) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.text += "2027-01-15T08:00:02.000000Z n3 rank2 | BOOM\n";
  xid(4711);
  door_.say(peer_, message(LauncherVerb::rank_exited));  // in the same moment as its last line
  run_for(seconds{1});
  std::vector<EventKind> order;
  for (const Event& event : uplink_.got) order.push_back(event.kind);
  const auto lines = uplink_.of(EventKind::log_signature);
  ASSERT_EQ(lines.size(), 2U);
  for (const Event& line : lines) EXPECT_EQ(line.attempt, (AttemptId{"77", 1})) << line.raw.text;
  const auto exits = uplink_.of(EventKind::rank_exited);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].subject.text(), "rank:77#1/2@n3");
  EXPECT_EQ(exits[0].field("exit_code"), "1");
  EXPECT_EQ(exits[0].field("step"), "120");
  EXPECT_EQ(order.back(), EventKind::rank_exited) << "after the lines that say why";
}

TEST_F(RuntimeTest, AStallAndItsEndAreTwoFacts) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  for (const LauncherVerb verb : {LauncherVerb::progress_stalled, LauncherVerb::progress_resumed}) {
    LauncherMessage about = message(verb);
    about.silent = seconds{300};
    about.usual = seconds{20};
    door_.say(peer_, about);
    run_for(seconds{1});
  }
  ASSERT_EQ(uplink_.of(EventKind::progress_stalled).size(), 1U);
  ASSERT_EQ(uplink_.of(EventKind::progress_resumed).size(), 1U);
  const Event resumed = uplink_.of(EventKind::progress_resumed)[0];
  EXPECT_EQ(resumed.subject.text(), "rank:77#1/2@n3");
  EXPECT_EQ(resumed.field("silent_ms"), "300000");
}

TEST_F(RuntimeTest, AnnouncementRepeatedAfterAReconnectionIsOneEvent) {
  run_for(seconds{1});
  const LauncherMessage start = message(LauncherVerb::rank_started);
  door_.say(peer_, start);
  run_for(seconds{1});
  door_.say({2, 1000, 4700}, start);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::rank_started).size(), 1U);
}

TEST_F(RuntimeTest, NobodySpeaksForAnotherJob) {
  processes_.origins[4700] = {"77", 1, 2, 1000};
  processes_.origins[6600] = {"66", 0, 0, 2000};
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  door_.say({2, 2000, 6600}, message(LauncherVerb::rank_started));  // another job's process
  door_.say({3, 2000, 9999},
            message(LauncherVerb::rank_exited));  // unknown process of another user
  door_.say({4, 2000, 9999}, message(LauncherVerb::rank_exited, "99"));  // nobody announced that
  door_.say({5, 2000, 9999},
            message(LauncherVerb::rank_started, "77", 5));  // a rank more of another user's job
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::rank_started).size(), 1U);
  EXPECT_TRUE(uplink_.of(EventKind::rank_exited).empty());
  EXPECT_EQ(counters_.get("agent_launcher_refusals_total"), 4U);
  ASSERT_EQ(door_.replies.size(), 4U);
  for (const auto& [connection, reply] : door_.replies)
    EXPECT_EQ(reply.kind, LauncherReply::Kind::refused);
}

TEST_F(RuntimeTest, RulingsReachThoseWhoWaitBeforeAndAfter) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  door_.say(peer_, message(LauncherVerb::await_ruling));
  run_for(seconds{1});
  EXPECT_TRUE(door_.replies.empty());
  uplink_.rulings.push_back({{"77", 1}, true, "n3 drained"});
  uplink_.rulings.push_back({{"78", 0}, true, "another job's"});
  run_for(seconds{1});
  ASSERT_EQ(door_.replies.size(), 1U);
  EXPECT_EQ(door_.replies[0].second.text, "n3 drained");
  EXPECT_TRUE(door_.replies[0].second.final);
  const LauncherPeer late{2, 1000, 4702};
  door_.say(late, message(LauncherVerb::rank_started, "77", 3));
  door_.say(late, message(LauncherVerb::await_ruling, "77", 3));
  run_for(seconds{1});
  ASSERT_EQ(door_.replies.size(), 2U);
  EXPECT_EQ(door_.replies[1].first, 2U);
}

}  // namespace
}  // namespace faultline
