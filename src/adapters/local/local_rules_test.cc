// The rules alone, without a process: who gets which node, and what requests, ends and requeues
// change.
#include "adapters/local/local_rules.h"

#include <gmock/gmock.h>

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Instant now = Instant{std::chrono::seconds{1000}};

LocalState cluster(int count, int spares) {
  LocalState state;
  for (int i = 1; i <= count; ++i)
    state.nodes.push_back({"n" + std::to_string(i), i > count - spares, false, "", ""});
  return state;
}

LocalRequest submit(const std::string& job, std::uint32_t nodes, ArraySpec array = {}) {
  LocalRequest request;
  request.job = job;
  request.by = "ann";
  request.node_count = nodes;
  request.array = std::move(array);
  request.argv = {"true"};
  request.directory = "/";
  return request;
}

Action requeue(const std::string& job, std::uint32_t restart, std::vector<std::string> nodes,
               std::string id = "a-1") {
  Action action;
  action.id = std::move(id);
  action.kind = ActionKind::requeue_excluding;
  action.attempt = AttemptId{job, restart};
  action.subject = Subject::of_job(job);
  action.nodes = std::move(nodes);
  return action;
}

void end_with(LocalState& state, const std::string& job, int code) {
  finish_attempt(*state.task(job), {code, now, ""});
}

using Progress = RequeueStep::Progress;

TEST(LocalRules, FirstFitTakesSparesLast) {
  auto state = cluster(4, 1);
  state.nodes[0].spare = true;  // n1 and n4 are spares
  ASSERT_TRUE(apply_request(state, submit("1", 2), now));
  ASSERT_TRUE(apply_request(state, submit("2", 2), now));
  ASSERT_TRUE(apply_request(state, submit("3", 1), now));
  EXPECT_THAT(start_what_fits(state, now), ElementsAre("1", "2"));
  EXPECT_THAT(state.task("1")->latest().nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(state.task("2")->latest().nodes, ElementsAre("n1", "n4"));
  EXPECT_EQ(waiting_reason(state, *state.task("3")), "0 of 1 nodes free");
}

TEST(LocalRules, ARequeueKeepsThePlacesOfTheRanks) {
  auto state = cluster(6, 1);
  ASSERT_TRUE(apply_request(state, submit("1", 4), now));
  start_what_fits(state, now);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n3"})).progress, Progress::waiting);
  EXPECT_EQ(inspect_requeue(state, requeue("1", 0, {"n3"})).status, OutcomeStatus::unknown);
  end_with(state, "1", 143);
  EXPECT_EQ(state.task("1")->attempts[0].state, AttemptState::requeued);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n3"})).progress, Progress::done);
  start_what_fits(state, now);
  EXPECT_EQ(state.task("1")->latest().restart, 1U);
  // The spare is taken before n5, and in the place of n3.
  EXPECT_THAT(state.task("1")->latest().nodes, ElementsAre("n1", "n2", "n6", "n4"));
  EXPECT_EQ(inspect_requeue(state, requeue("1", 0, {"n3"})).status, OutcomeStatus::done);
}

TEST(LocalRules, ARequeueOfAFailedAttemptAddsOne) {
  auto state = cluster(3, 0);
  ASSERT_TRUE(apply_request(state, submit("1", 2), now));
  start_what_fits(state, now);
  end_with(state, "1", 1);
  EXPECT_EQ(state.task("1")->latest().state, AttemptState::failed);
  EXPECT_TRUE(inspect_requeue(state, requeue("1", 0, {"n1"})).retryable);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n1"})).progress, Progress::done);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n1"})).progress, Progress::done);
  EXPECT_EQ(state.task("1")->attempts.size(), 2U);
  start_what_fits(state, now);
  EXPECT_THAT(state.task("1")->latest().nodes, ElementsAre("n3", "n2"));
}

TEST(LocalRules, WhatHasCompletedOrRunsElsewhereIsNotRequeued) {
  auto state = cluster(4, 0);
  ASSERT_TRUE(apply_request(state, submit("1", 2), now));
  start_what_fits(state, now);
  const auto elsewhere = advance_requeue(state, requeue("1", 0, {"n4"}));
  EXPECT_EQ(elsewhere.progress, Progress::refused);
  EXPECT_THAT(elsewhere.detail, HasSubstr("left alone"));
  end_with(state, "1", 0);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n1"})).progress, Progress::refused);
  EXPECT_EQ(advance_requeue(state, requeue("9", 0, {"n1"})).detail, "no job 9");
  EXPECT_THAT(state.task("1")->excluded, IsEmpty());
}

TEST(LocalRules, WhatMovedOnByItselfIsKeptAwayTooAndOnlyThatIsTold) {
  auto state = cluster(4, 0);
  ASSERT_TRUE(apply_request(state, submit("1", 1), now));
  start_what_fits(state, now);
  ASSERT_EQ(advance_requeue(state, requeue("1", 0, {"n1"}, "a-1")).progress, Progress::waiting);
  end_with(state, "1", 143);
  start_what_fits(state, now);  // on n2, as restart 1
  const auto act = requeue("1", 0, {"n3"}, "a-2");
  EXPECT_TRUE(inspect_requeue(state, act).retryable) << "n3 is not excluded";
  const auto step = advance_requeue(state, act);
  EXPECT_EQ(step.progress, Progress::done);
  EXPECT_THAT(step.commands, ElementsAre("local: exclude 1 nodes=n3"));
  EXPECT_THAT(state.task("1")->excluded, ElementsAre("n1", "n3"));
  EXPECT_THAT(advance_requeue(state, act).commands, IsEmpty()) << "again";
  EXPECT_EQ(inspect_requeue(state, act).status, OutcomeStatus::done);
}

TEST(LocalRules, CommandsAreThoseThatWereRun) {
  auto state = cluster(6, 0);
  ASSERT_TRUE(apply_request(state, submit("5", 2, {{1, 2, 3, 4}, 2}), now));
  start_what_fits(state, now);
  const auto act = requeue("5_1", 0, {"n1"});
  EXPECT_THAT(advance_requeue(state, act).commands,
              ElementsAre("local: exclude 5_1 nodes=n1", "local: exclude 5 nodes=n1",
                          "local: requeue 5_1"));
  EXPECT_THAT(advance_requeue(state, act).commands, IsEmpty()) << "is being stopped";
  end_with(state, "5_1", 143);
  EXPECT_THAT(advance_requeue(state, act).commands, IsEmpty()) << "waits already";
  const auto refused = advance_requeue(state, requeue("5_2", 0, {"n6"}));
  EXPECT_EQ(refused.progress, Progress::refused);
  EXPECT_THAT(refused.commands, IsEmpty());
}

TEST(LocalRules, AnArrayKeepsItsLimitAndSharesTheExclusion) {
  auto state = cluster(6, 0);
  ASSERT_TRUE(apply_request(state, submit("5", 2, {{1, 2, 3, 4}, 2}), now));
  EXPECT_THAT(start_what_fits(state, now), ElementsAre("5_1", "5_2"));
  EXPECT_EQ(waiting_reason(state, *state.task("5_3")), "2 of the array run already");
  end_with(state, "5_1", 1);
  EXPECT_THAT(start_what_fits(state, now), ElementsAre("5_3"));
  EXPECT_THAT(state.task("5_3")->latest().nodes, ElementsAre("n1", "n2"));
  // 5_1 failed on n1; 5_3 runs there now, 5_4 waits, 5_2 runs elsewhere.
  EXPECT_EQ(advance_requeue(state, requeue("5_1", 0, {"n1"})).progress, Progress::waiting);
  EXPECT_EQ(state.task("5_3")->requeued_by, "a-1");
  EXPECT_THAT(state.task("5_4")->excluded, ElementsAre("n1"));
  EXPECT_THAT(state.task("5_2")->requeued_by, IsEmpty());
  end_with(state, "5_3", 143);
  EXPECT_EQ(advance_requeue(state, requeue("5_1", 0, {"n1"})).progress, Progress::done);
}

TEST(LocalRules, WhatFollowsATaskThatIsOverIsKeptAway) {
  auto state = cluster(6, 0);
  ASSERT_TRUE(apply_request(state, submit("5", 2, {{1, 2}, 1}), now));
  EXPECT_THAT(start_what_fits(state, now), ElementsAre("5_1"));
  end_with(state, "5_1", 0);
  const auto act = requeue("5_1", 0, {"n1"});
  EXPECT_TRUE(inspect_requeue(state, act).retryable);
  const auto step = advance_requeue(state, act);
  EXPECT_EQ(step.progress, Progress::done);
  EXPECT_THAT(step.detail, HasSubstr("5_1 has ended (completed); nothing to requeue"));
  EXPECT_THAT(state.task("5_2")->excluded, ElementsAre("n1"));
  EXPECT_THAT(state.task("5_1")->excluded, IsEmpty());
  EXPECT_EQ(inspect_requeue(state, act).status, OutcomeStatus::done);
  EXPECT_THAT(start_what_fits(state, now), ElementsAre("5_2"));
  EXPECT_THAT(state.task("5_2")->latest().nodes, ElementsAre("n2", "n3"));
  // Nothing of the array is left.
  end_with(state, "5_2", 0);
  EXPECT_EQ(advance_requeue(state, act).progress, Progress::refused);
  EXPECT_EQ(inspect_requeue(state, act).status, OutcomeStatus::failed);
}

TEST(LocalRules, CancelEndsWhatWaitsAndMarksWhatRuns) {
  auto state = cluster(1, 0);
  ASSERT_TRUE(apply_request(state, submit("1", 1), now));
  ASSERT_TRUE(apply_request(state, submit("2", 1), now));
  start_what_fits(state, now);
  LocalRequest cancel;
  cancel.kind = LocalRequestKind::cancel;
  cancel.by = "ann";
  for (const char* job : {"1", "2"}) {
    cancel.job = job;
    ASSERT_TRUE(apply_request(state, cancel, now));
  }
  EXPECT_TRUE(state.task("1")->cancelled);
  EXPECT_EQ(state.task("2")->latest().state, AttemptState::cancelled);
  EXPECT_EQ(advance_requeue(state, requeue("1", 0, {"n1"})).progress, Progress::refused);
  end_with(state, "1", 143);
  EXPECT_EQ(state.task("1")->latest().state, AttemptState::cancelled);
  cancel.job = "3";
  EXPECT_EQ(apply_request(state, cancel, now).error().code, ErrorCode::not_found);
}

TEST(LocalRules, APersonsDrainIsNotReplacedByAnother) {
  auto state = cluster(2, 0);
  LocalRequest drain;
  drain.kind = LocalRequestKind::drain;
  drain.by = "ann";
  drain.node = "n1";
  drain.reason = "cable";
  ASSERT_TRUE(apply_request(state, drain, now));
  drain.by = "bob";
  EXPECT_EQ(apply_request(state, drain, now).error().code, ErrorCode::conflict);
  EXPECT_EQ(state.node("n1")->drain_owner, "ann");
  drain.node = "n9";
  EXPECT_EQ(apply_request(state, drain, now).error().code, ErrorCode::not_found);
}

TEST(LocalRules, TheViewShowsEveryAttemptAndNode) {
  auto state = cluster(3, 1);
  ASSERT_TRUE(apply_request(state, submit("7", 1, {{4}, 0}), now));
  start_what_fits(state, now);
  end_with(state, "7_4", 3);
  advance_requeue(state, requeue("7_4", 0, {"n1"}));
  const auto view = make_view(state, now);
  ASSERT_EQ(view.attempts.size(), 2U);
  EXPECT_EQ(view.attempts[0].id.text(), "7_4#0");
  EXPECT_EQ(view.attempts[0].exit_code, 3);
  EXPECT_EQ(view.attempts[0].array_job, "7");
  EXPECT_TRUE(view.attempts[0].restartable);
  EXPECT_EQ(view.attempts[1].state, AttemptState::pending);
  EXPECT_THAT(view.attempts[1].excluded_nodes, ElementsAre("n1"));
  EXPECT_TRUE(view.node("n3")->spare);
  EXPECT_FALSE(view.node("n1")->spare);
  EXPECT_TRUE(view.node("n1")->idle);
}

TEST(LocalRules, TheOldestEndedJobsAreForgotten) {
  auto state = cluster(1, 0);
  for (std::size_t i = 1; i <= ended_tasks_kept + 2; ++i) {
    ASSERT_TRUE(apply_request(state, submit(std::to_string(i), 1), now));
    start_what_fits(state, now);
    if (i != 1) end_with(state, std::to_string(i), 0);
    if (i == 1)
      state.task("1")->latest().nodes.clear();  // still runs, and leaves the node to the others
  }
  const auto forgotten = forget_old(state);
  ASSERT_EQ(forgotten.size(), 1U);
  EXPECT_EQ(forgotten[0].job, "2");
  EXPECT_NE(state.task("1"), nullptr);
}

TEST(LocalState, ReadsWhatItWrites) {
  auto state = cluster(2, 1);
  ASSERT_TRUE(apply_request(state, submit("1", 1, {{1, 2}, 1}), now));
  start_what_fits(state, now);
  state.task("1_1")->latest().keeper = ProcessId{42, 99, "boot"};
  end_with(state, "1_1", 9);
  const auto text = state_text(state);
  const auto back = parse_state(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(state_text(*back), text);
}

TEST(LocalState, RefusesDamage) {
  auto state = cluster(2, 0);
  ASSERT_TRUE(apply_request(state, submit("1", 1), now));
  const auto text = state_text(state);
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), instead);
    return parse_state(changed);
  };
  EXPECT_FALSE(parse_state(""));
  EXPECT_FALSE(parse_state("[]"));
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 7)
    EXPECT_FALSE(parse_state(text.substr(0, cut))) << cut;
  EXPECT_THAT(with("\"job\":\"1\"", "\"job\":\"../1\"").error().message, HasSubstr("bad job id"));
  EXPECT_THAT(with("\"name\":\"n2\"", "\"name\":\"n1\"").error().message, HasSubstr("there twice"));
  EXPECT_THAT(with("\"format\":1", "\"format\":7").error().message, HasSubstr("format 7"));
  EXPECT_THAT(with("\"state\":\"pending\"", "\"state\":\"odd\"").error().message,
              HasSubstr("'state'"));
}

TEST(LocalRules, OnlyWhatIsHeldIsReleased) {
  auto state = cluster(2, 0);
  for (const char* job : {"1", "2", "3"}) ASSERT_TRUE(apply_request(state, submit(job, 1), now));
  state.task("2")->held_by = "faultline:a-1";
  start_what_fits(state, now);
  end_with(state, "1", 1);
  state.task("1")->held_by = "faultline:a-2";  // a loop of failures, too late to hold it
  LocalRequest release;
  release.kind = LocalRequestKind::release;
  release.by = "ann";
  const auto refused = [&](const std::string& job) {
    release.job = job;
    const Status applied = apply_request(state, release, now);
    return applied.ok() ? std::string() : applied.error().message;
  };
  EXPECT_THAT(refused("1"), HasSubstr("job 1 ended (failed): there is nothing to release"));
  EXPECT_THAT(refused("3"), HasSubstr("job 3 is not held"));
  EXPECT_THAT(refused("9"), HasSubstr("no job 9"));
  EXPECT_EQ(refused("2"), "");
  EXPECT_EQ(state.task("2")->held_by, "");
}

}  // namespace
}  // namespace faultline
