// Agents that end and start again, with their state, without it, and with one that is damaged.
#include "agent/runtime_fixture.h"

namespace faultline {
namespace {

TEST_F(RuntimeTest, LinesOfBeforeTheFirstStartAreNotReported) {
  run_for(seconds{10});
  xid(1, seconds{60});  // printed now by somebody who replays an old log
  xid(2);
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(counters_.get("agent_stale_lines_total"), 1U);
}

/// Compiling the signatures takes seconds on a first start, and a node's worst moment may be one of
/// them.
class FirstStartTest : public RuntimeTest {
 protected:
  FirstStartTest() {
    runtime_.reset();
    fs::remove_all(folder_ / "state");
    xid(1);
    job_log_.text = "BOOM of before\n";
    find_job_logs_ = [this] { return found_; };
    start();
  }
  void expect_the_news_alone() {
    run_for(seconds{3});
    std::multiset<std::string> told;
    for (const Event& event : uplink_.of(EventKind::log_signature))
      told.insert(event.signature + " " + std::string(event.field("pid")));
    EXPECT_EQ(told, (std::multiset<std::string>{"app.boom ", "xid.48 2"}));
    EXPECT_GT(counters_.get("signature_compiles_total"), 0U);
  }
  std::optional<std::vector<std::string>> found_ = std::vector<std::string>{"/logs/77.log"};
};

TEST_F(FirstStartTest, ALineWrittenBeforeTheSignaturesAreCompiledIsTold) {
  EXPECT_TRUE(runtime_->place_job_logs());
  EXPECT_EQ(counters_.get("signature_compiles_total"), 0U);
  xid(2);
  job_log_.text += "BOOM\n";
  expect_the_news_alone();
}

TEST_F(FirstStartTest, KilledWhileItCompilesItFindsItsPlacesAgain) {
  EXPECT_TRUE(runtime_->place_job_logs());
  xid(2);
  job_log_.text += "BOOM\n";
  start();
  expect_the_news_alone();
}

TEST_F(FirstStartTest, JobLogsThatCannotBeFoundYetAreLookedForAgain) {
  found_.reset();
  EXPECT_FALSE(runtime_->place_job_logs());
  found_ = std::vector<std::string>{"/logs/77.log"};
  EXPECT_TRUE(runtime_->place_job_logs());
}

TEST_F(RuntimeTest, RestartReportsNothingTwiceAndNothingLess) {
  run_for(seconds{1});
  xid(1);
  run_for(seconds{7});
  runtime_.reset();
  clock_.advance(seconds{10});
  xid(2);
  start();
  run_for(seconds{7});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
  EXPECT_EQ(uplink_.of(EventKind::node_boot).size(), 1U) << "same boot";
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 2U);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

TEST_F(RuntimeTest, ItIsTheSameAgentAfterARestartAndAnotherOneWithAnotherState) {
  const AgentIdentity first = uplink_.who;
  EXPECT_EQ(first.boot_id, "boot-1");
  clock_.advance(seconds{10});
  start();
  EXPECT_EQ(uplink_.who, first);
  start("boot-2");
  EXPECT_EQ(uplink_.who.state, first.state);
  EXPECT_NE(uplink_.who, first);
  runtime_.reset();
  fs::remove_all(folder_ / "state");
  start();
  EXPECT_NE(uplink_.who.state, first.state);
}

TEST_F(RuntimeTest, NewBootStartsLogsAnew) {
  run_for(seconds{1});
  xid(1);
  runtime_.reset();  // nobody read that line
  clock_.advance(std::chrono::hours{2});
  start("boot-2");
  xid(2);
  run_for(seconds{2});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::log_signature)[0].field("pid"), "2");
  EXPECT_EQ(uplink_.of(EventKind::node_boot).size(), 2U);
}

TEST_F(RuntimeTest, ControllerDownAndUpLosesNothing) {
  run_for(seconds{1});
  uplink_.down = true;
  for (int i = 0; i < 20; ++i) {
    xid(100 + i);
    run_for(seconds{6});  // beyond the decoder's window of like lines
  }
  EXPECT_TRUE(uplink_.of(EventKind::log_signature).empty());
  start();  // and the agent dies meanwhile
  uplink_.down = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 20U);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

TEST_F(RuntimeTest, LostAnswersRepeatTheSameIds) {
  run_for(seconds{1});
  uplink_.lose_answers = true;
  xid(1);
  run_for(seconds{10});
  uplink_.lose_answers = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_GT(uplink_.deliveries[uplink_.of(EventKind::log_signature)[0].id], 1);
}

TEST_F(RuntimeTest, FirstStartInTheFutureDoesNotSilenceTheNode) {
  clock_.step_wall(
      Instant{seconds{1'700'000'000}});  // the clock was years ahead at the first start
  start();
  xid(1);
  run_for(seconds{2});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
}

TEST_F(RuntimeTest, ASecondAgentOnTheStateIsRefusedAndSpoilsNothing) {
  run_for(seconds{1});
  const auto second = open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().message.find("--state"), std::string::npos);
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 1U);
  start();  // the first one has left
}

TEST_F(RuntimeTest, DamagedStateIsAFirstStartAndSaid) {
  run_for(seconds{1});
  EXPECT_EQ(counters_.get("agent_state_damaged_total"), 0U) << "none is not a damaged one";
  runtime_.reset();
  const std::string first = R"("first_start":"2027-01-15T08:00:00.000000Z")";
  std::uint64_t damaged = 0;
  for (const std::string& content : std::vector<std::string>{
           "", "{", "[]", R"({"cursors":7})",
           R"({"boot_id":3,"first_start":"x","cursors":{"a":1}})",
           R"({"boot_id":"boot-1",)" + first + R"(,"cursors":{"/var/log/kern.log":"0","a":1}})",
           R"({"boot_id":"boot-1",)" + first + "}"}) {
    xid(1);
    put("state/state.json", content);
    start();
    run_for(seconds{1});
    EXPECT_EQ(counters_.get("agent_state_damaged_total"), ++damaged) << content;
    EXPECT_TRUE(uplink_.of(EventKind::log_signature).empty()) << content;
  }
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 1 + damaged);
  EXPECT_EQ(uplink_.of(EventKind::source_gap).size(), damaged);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "state_damaged");
  start();
  EXPECT_EQ(counters_.get("agent_state_damaged_total"), damaged) << "it is whole again";
}

TEST_F(RuntimeTest, AfterADamagedStateARanksOldLinesAreNotToldAgain) {
  LauncherMessage old = message(LauncherVerb::rank_started);
  job_log_.text = "BOOM\n";
  clock_.advance(seconds{1});
  for (const char* content : {"{", ""}) {
    runtime_.reset();
    if (*content != '\0') put("state/state.json", content);
    if (*content == '\0') fs::remove(folder_ / "state/state.json");
    start();
    door_.say(peer_, old);
    run_for(seconds{1});
    EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), *content == '\0' ? 1U : 0U)
        << "a first start reads a rank's log from the rank's start";
  }
}

}  // namespace
}  // namespace faultline
