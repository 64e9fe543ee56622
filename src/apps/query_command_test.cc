// What the lists look like: one store with a story in it, and the tables as a person reads them.
// Programs read the same from --json.
#include "apps/query_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "apps/output.h"
#include "base/clock.h"
#include "model/json.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr Instant at(int hour, int minute) {
  return Instant{std::chrono::sys_days{std::chrono::year{2026} / 11 / 29}} +
         std::chrono::hours{hour} + std::chrono::minutes{minute};
}

/// Job 7 failed on n3's GPU: n3 was drained and put in repair, the job runs again without it. n2
/// was suspected and cleared; n9 is not in the scheduler any more.
class QueryCommand : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    ::unsetenv("COLUMNS");  // tables are whole
    store_ = open();
    put_nodes();
    put_jobs();
    put_verdicts();
    put_actions();
    options_.store = file_.string();
  }

  void put_nodes() {
    json nodes = json::array();
    for (const char* name : {"n1", "n2", "n3"}) {
      SchedulerNode node;
      node.name = name;
      node.state_text = node.name == "n3" ? "IDLE+DRAIN" : "ALLOCATED";
      if (node.name == "n3") node.drain_reason = "faultline:a-1 gpu.ecc_uncorrectable";
      nodes.push_back(to_json(node));
    }
    ASSERT_TRUE(store_->put_value("scheduler.nodes", nodes.dump()).ok());
    for (const NodeState& state : std::vector<NodeState>{
             {"n3", NodePhase::in_repair, at(21, 30), "ann(1000)", "v-1", "a-1", {}, "RMA 4711"},
             {"n9", NodePhase::suspected, at(20, 0), "faultline", "v-9", "", {}, "node.hang"}})
      ASSERT_TRUE(store_->put_node_state(state).ok());
  }

  void put_jobs() {
    Attempt failed;
    failed.id = {"7", 0};
    failed.name = "train";
    failed.user = "eve";
    failed.state = AttemptState::failed;
    failed.started_at = at(20, 0);
    failed.ended_at = at(21, 18);
    failed.nodes = {"n2", "n3"};
    failed.exit_code = 1;
    Attempt next = failed;
    next.id = {"7", 1};
    next.state = AttemptState::running;
    next.started_at = at(21, 20);
    next.ended_at = {};
    next.exit_code = {};
    next.nodes = {"n1", "n2"};
    next.excluded_nodes = {"n3"};
    for (const auto& attempt : {failed, next}) ASSERT_TRUE(store_->put_attempt(attempt).ok());
  }

  void put_verdicts() {
    Verdict gpu = verdict("v-1", VerdictStatus::confirmed);
    gpu.attempt = AttemptId{"7", 0};
    gpu.since = at(21, 18);
    gpu.updated_at = at(21, 19);
    Verdict over = verdict("v-2", VerdictStatus::cleared);
    over.subject = Subject::of_node("n2");
    over.cause = "node.hang";
    over.confidence = 0.5;
    over.evidence = {};
    over.since = over.updated_at = at(19, 0);
    for (const auto& each : {gpu, over}) ASSERT_TRUE(store_->put_verdict(each).ok());
    ASSERT_TRUE(store_
                    ->put_incident({"i-1",
                                    at(21, 18),
                                    {},
                                    AttemptId{"7", 0},
                                    gpu.subject,
                                    gpu.cause,
                                    {"v-1", "v-2"},
                                    {}})
                    .ok());
  }

  void put_actions() {
    Decision drain;
    drain.id = "d-1";
    drain.verdict = "v-1";
    drain.action.id = "a-1";
    drain.action.decision = "d-1";
    drain.action.kind = ActionKind::drain_node;
    drain.action.subject = Subject::of_node("n3");
    drain.ruling = Ruling::act;
    drain.reason = Reason::all_guards_passed;
    drain.decided_at = at(21, 19);
    Decision held = drain;
    held.id = "d-2";
    held.action.id = "a-2";
    held.action.subject = Subject::of_node("n2");
    held.ruling = Ruling::hold;
    held.reason = Reason::not_confirmed;
    held.detail = "suspected only";
    held.decided_at = at(19, 0);
    for (const auto& each : {drain, held}) ASSERT_TRUE(store_->put_decision(each).ok());
    ASSERT_TRUE(store_->record_intent(drain.action, at(21, 19)).ok());
    ASSERT_TRUE(store_
                    ->record_outcome({"a-1",
                                      OutcomeStatus::done,
                                      at(21, 19),
                                      "n3 is drained",
                                      {"scontrol update nodename=n3 state=drain"},
                                      false})
                    .ok());
  }

  /// A table begins on a line of its own, so that its columns stand one above the other here.
  std::string table(const std::string& verb) {
    options_.json = false;
    return "\n" + shown(verb);
  }
  json json_of(const std::string& verb) {
    options_.json = true;
    return json::parse(shown(verb));
  }
  std::string shown(const std::string& verb) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(query_main(verb, options_), exit_ok);
    return testing::internal::GetCapturedStdout();
  }

  std::unique_ptr<Store> store_;
  QueryOptions options_;
};

TEST_F(QueryCommand, Nodes) {
  EXPECT_EQ(table("nodes"), R"(
NODE  FAULTLINE   SINCE                BY         SCHEDULER             REASON
n1    in_service  -                    -          ALLOCATED             -
n2    in_service  -                    -          ALLOCATED             -
n3    in_repair   2026-11-29 21:30:00  ann(1000)  IDLE+DRAIN            faultline:a-1 gpu.ecc_uncorrectable; RMA 4711
n9    suspected   2026-11-29 20:00:00  faultline  not in the scheduler  node.hang
)");
  const json shown = json_of("nodes");
  ASSERT_EQ(shown["scheduler"].size(), 3U);
  EXPECT_EQ(shown["scheduler"][2]["drain_reason"], "faultline:a-1 gpu.ecc_uncorrectable");
  const auto n3 = std::find_if(shown["nodes"].begin(), shown["nodes"].end(),
                               [](const json& node) { return node["node"] == "n3"; });
  ASSERT_NE(n3, shown["nodes"].end());
  EXPECT_EQ((*n3)["phase"], "in_repair");
  EXPECT_EQ((*n3)["note"], "RMA 4711");
}

TEST_F(QueryCommand, AnOldViewOfTheNodesSaysHowOldItIs) {
  const auto seen = [&](Duration ago) {
    const Instant then = SystemClock().now() - ago;
    EXPECT_TRUE(store_->put_value("scheduler.nodes_seen_at", to_text(then)).ok());
  };
  EXPECT_EQ(json_of("nodes")["scheduler_seen_at"], json()) << "nobody knows";
  EXPECT_EQ(json_of("nodes")["scheduler_stale"], false);
  seen(std::chrono::seconds{5});
  EXPECT_THAT(table("nodes"), testing::Not(testing::HasSubstr("ago")));
  EXPECT_EQ(json_of("nodes")["scheduler_stale"], false);
  seen(std::chrono::hours{3});
  EXPECT_THAT(table("nodes"), testing::HasSubstr(", 3 h 0 min ago: does `faultline serve` run"));
  EXPECT_EQ(json_of("nodes")["scheduler_stale"], true);
  EXPECT_THAT(json_of("nodes")["scheduler_seen_at"].get<std::string>(), testing::EndsWith("Z"));
}

TEST_F(QueryCommand, JobsHaveTheExclusionsThatTheyRanWith) {
  Attempt ended = store_->attempts({}).value().back();
  ASSERT_EQ(ended.id.text(), "7#0");
  ended.excluded_nodes = {"n3"};  // the scheduler shows the job's, which came after this attempt
  ended.exit_code = 9;
  ASSERT_TRUE(store_->put_attempt(ended).ok());
  const json shown = json_of("jobs")["attempts"];
  EXPECT_EQ(shown[1]["id"], "7#0");
  EXPECT_EQ(shown[1]["exit_code"], 9);
  EXPECT_EQ(shown[1]["excluded_nodes"], json::array());
  EXPECT_EQ(shown[0]["excluded_nodes"], json({"n3"}));
}

TEST_F(QueryCommand, JobsSayWhereTheirRanksRun) {
  std::vector<Event> events;
  for (const int rank : {1, 0, 1}) {  // rank 1 twice: a launcher started it again
    Event started;
    started.kind = EventKind::rank_started;
    started.attempt = AttemptId{"7", 1};
    started.subject = Subject::of_rank(*started.attempt, rank, "n" + std::to_string(rank + 1));
    started.fields = {{"local_rank", "0"}, {"pid", std::to_string(40 + events.size())}};
    if (rank == 0) started.fields["gpus"] = "0000:3b:00.0,1";
    started.id = "e-" + std::to_string(events.size());
    events.push_back(started);
  }
  ASSERT_TRUE(store_->append_events(events).ok());
  const json shown = json_of("jobs")["attempts"];
  EXPECT_EQ(shown[0]["ranks"], json::parse(R"([
    {"rank": 0, "local_rank": 0, "node": "n1", "pid": 41, "gpus": ["0000:3b:00.0", "1"]},
    {"rank": 1, "local_rank": 0, "node": "n2", "pid": 42, "gpus": []}])"));
  EXPECT_EQ(shown[1]["ranks"], json::array());
}

TEST_F(QueryCommand, Jobs) {
  EXPECT_EQ(table("jobs"), R"(
ATTEMPT  STATE    STARTED              ENDED                USER  NAME   NODES  EXCLUDED
7#1      running  2026-11-29 21:20:00  -                    eve   train  n1,n2  n3
7#0      failed   2026-11-29 20:00:00  2026-11-29 21:18:00  eve   train  n2,n3  -
)");
  options_.limit = 1;
  const json shown = json_of("jobs");
  ASSERT_EQ(shown["attempts"].size(), 1U) << "the newest";
  EXPECT_EQ(shown["attempts"][0]["excluded_nodes"], json({"n3"}));
  EXPECT_EQ(shown["attempts"][0]["state"], "running");
}

TEST_F(QueryCommand, Incidents) {
  const std::string shown = table("incidents");
  EXPECT_THAT(shown, testing::HasSubstr("i-1       2026-11-29 21:18:00  "));
  EXPECT_THAT(shown, testing::HasSubstr("gpu.ecc_uncorrectable  gpu:n3/0000:3b:00.0  7#0"));
  const json incident = json_of("incidents")["incidents"].at(0);
  EXPECT_EQ(incident["cause"], "gpu.ecc_uncorrectable");
  EXPECT_EQ(incident["verdicts"], json({"v-1", "v-2"}));
}

TEST_F(QueryCommand, Verdicts) {
  EXPECT_EQ(table("verdicts"), R"(
VERDICT  SINCE                STATUS     CONF  CAUSE                  SUBJECT              ATTEMPT  EVIDENCE
v-1      2026-11-29 21:18:00  confirmed  95%   gpu.ecc_uncorrectable  gpu:n3/0000:3b:00.0  7#0      1
)");
  options_.all = true;
  EXPECT_EQ(table("verdicts"), R"(
VERDICT  SINCE                STATUS     CONF  CAUSE                  SUBJECT              ATTEMPT  EVIDENCE
v-1      2026-11-29 21:18:00  confirmed  95%   gpu.ecc_uncorrectable  gpu:n3/0000:3b:00.0  7#0      1
v-2      2026-11-29 19:00:00  cleared    50%   node.hang              node:n2              -        0
)");
  const json verdict = json_of("verdicts")["verdicts"].at(0);
  EXPECT_EQ(verdict["id"], "v-1");
  EXPECT_EQ(verdict["confidence"], 0.95);
  EXPECT_EQ(verdict["subject"], "gpu:n3/0000:3b:00.0");
}

TEST_F(QueryCommand, Actions) {
  EXPECT_EQ(table("actions"), R"(
ACTION  DECISION  DECIDED              RULING  REASON             KIND        SUBJECT  OUTCOME
a-1     d-1       2026-11-29 21:19:00  act     all_guards_passed  drain_node  node:n3  done: n3 is drained
)");
  options_.all = true;
  EXPECT_EQ(table("actions"), R"(
ACTION  DECISION  DECIDED              RULING  REASON             KIND        SUBJECT  OUTCOME
a-1     d-1       2026-11-29 21:19:00  act     all_guards_passed  drain_node  node:n3  done: n3 is drained
a-2     d-2       2026-11-29 19:00:00  hold    not_confirmed      drain_node  node:n2  suspected only
)");
  const json actions = json_of("actions")["actions"];
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0]["outcome"]["commands"], json({"scontrol update nodename=n3 state=drain"}));
  EXPECT_EQ(actions[1]["outcome"], json(nullptr));
  EXPECT_EQ(actions[1]["detail"], "suspected only");
}

}  // namespace
}  // namespace faultline
