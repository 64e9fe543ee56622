// A requeued job gets its healthy nodes back where it can, and never waits for them.
#include "adapters/slurm/slurm_tie.h"

#include "adapters/slurm/slurm_acts_fixture.h"

namespace faultline {
namespace {

/// Job 7 ran on n1 to n4 of seven nodes; n1 broke.
class SlurmTies : public SlurmActs {
 protected:
  SlurmTies() { reset(); }
  void reset() {
    slurm_ = FakeSlurm{};
    for (int i = 1; i <= 7; ++i) slurm_.nodes["n" + std::to_string(i)] = {};
    slurm_.nodes["n1"].state = "IDLE+DRAIN";
    slurm_.jobs["7"] = {
        .number = "7", .shown = "7", .excluded = "n9", .nodes = "n[1-4]", .completing_looks = 2};
    slurm_.next_nodes = "n[4-7]";
  }
  FakeSlurm::Job& job() { return slurm_.jobs["7"]; }
  static Action act() { return requeue_keeping({"n2", "n3", "n4"}); }
  /// The attempt that runs tied after `act()`.
  void run_tied() {
    job().nodes = job().required = "n2,n3,n4,n5";
    job().excluded = "n9,n1";
    job().comment = comment_of(act().id, {"n2", "n3", "n4", "n5"});
    job().restart = 1;
  }
  /// `change` happens right after the job was tied.
  void once_tied(std::function<void()> change) {
    slurm_.after = [this, change = std::move(change)](int) -> std::optional<Error> {
      if (!slurm_.log.empty() && slurm_.log.back().find("ReqNodeList=n") != std::string::npos)
        change();
      return {};
    };
  }
  [[nodiscard]] bool was_tied() const {
    return join(slurm_.log, ";").find("ReqNodeList=n") != std::string::npos;
  }
  void expect_ran_elsewhere() {
    expect_moved();
    EXPECT_EQ(job().required, "");
  }
  [[nodiscard]] bool waits_tied() { return job().state == "PENDING" && !job().required.empty(); }
};

TEST_F(SlurmTies, AJobComesBackOnTheNodesThatItHadAndASpare) {
  struct Row {
    std::string state;
    int completing_looks;
  };
  for (const Row& row : {Row{"RUNNING", 0}, {"RUNNING", 2}, {"FAILED", 0}}) {
    SCOPED_TRACE(row.state + " " + std::to_string(row.completing_looks));
    reset();
    job().state = row.state;
    job().completing_looks = row.completing_looks;
    EXPECT_DONE(run(act()));
    EXPECT_EQ(job().state, "RUNNING");
    EXPECT_EQ(job().nodes, "n2,n3,n4,n5");
    const std::string tie = "scontrol update jobid=7 ReqNodeList=n2,n3,n4,n5 AdminComment=" +
                            comment_of(act().id, {"n2", "n3", "n4", "n5"});
    EXPECT_EQ(std::count(slurm_.log.begin(), slurm_.log.end(), tie), 1) << join(slurm_.log, "\n");
    EXPECT_DONE(look(act()));
    const auto before = slurm_.log;
    EXPECT_DONE(run(act()));
    EXPECT_EQ(slurm_.log, before) << "a duplicate does nothing";
  }
}

TEST_F(SlurmTies, ANodeThatIsTakenMeanwhileIsNotWaitedFor) {
  Duration tied_at{};
  once_tied([&] {
    if (slurm_.nodes["n3"].state == "IDLE") tied_at = clock_.monotonic();
    slurm_.nodes["n3"].state = "ALLOCATED";
  });
  EXPECT_DONE(run(act()));
  EXPECT_TRUE(was_tied());
  expect_ran_elsewhere();
  EXPECT_GE(clock_.monotonic() - tied_at, options_.placement_wait);
  EXPECT_LT(clock_.monotonic() - tied_at, options_.placement_wait + seconds{1});
}

TEST_F(SlurmTies, WhereNoNodeIsFreeTheActEndsWithoutATie) {
  once_tied([&] { slurm_.nodes["n3"].state = "ALLOCATED"; });
  slurm_.next_nodes = "";
  EXPECT_DONE(run(act()));
  EXPECT_EQ(job().required, "");
}

TEST_F(SlurmTies, ANodeThatTheJobDoesNotFitIsNotWaitedFor) {
  slurm_.unfit = "n5";
  EXPECT_DONE(run(act()));
  EXPECT_TRUE(was_tied());
  expect_ran_elsewhere();
}

TEST_F(SlurmTies, ANodeThatIsBusyAlreadyTiesNothing) {
  slurm_.nodes["n3"].state = "ALLOCATED";
  EXPECT_DONE(run(act()));
  EXPECT_FALSE(was_tied());
  expect_ran_elsewhere();
}

TEST_F(SlurmTies, WhatSlurmRefusesIsNoFailure) {
  const CommandRunner slurm = slurm_.runner();
  SlurmActuator actuator(
      options_, clock_, counters_,
      [&](const auto& argv, Duration deadline, const auto& environment) -> Result<ProcessResult> {
        if (join(argv, " ").find("ReqNodeList=n") != std::string::npos)
          return ProcessResult{1, "", "Access/permission denied", false, false};
        return slurm(argv, deadline, environment);
      });
  EXPECT_DONE(actuator.execute(act()));
  expect_ran_elsewhere();
}

TEST_F(SlurmTies, APersonsHoldOfATiedJobStays) {
  once_tied([&] {
    slurm_.nodes["n3"].state = "ALLOCATED";
    slurm_.after = [&](int) -> std::optional<Error> {
      if (job().reason != "Resources") return {};
      job().priority = 0;
      job().reason = "JobHeldAdmin";
      return {};
    };
  });
  const auto result = run(act());
  EXPECT_DONE(result);
  EXPECT_NE(result->detail.find("stays held"), std::string::npos) << result->detail;
  EXPECT_TRUE(was_tied());
  EXPECT_EQ(job().required, "");
  EXPECT_EQ(job().priority, 0);
}

TEST_F(SlurmTies, AUsersOwnListIsKept) {
  job().required = "n4";
  EXPECT_DONE(run(act()));
  EXPECT_EQ(job().required, "n4");
  EXPECT_EQ(join(slurm_.log, ";").find("ReqNodeList"), std::string::npos);
}

TEST_F(SlurmTies, AJobWithSomebodyElsesCommentIsNotTied) {
  job().comment = "billing: project 12";
  EXPECT_DONE(run(act()));
  EXPECT_FALSE(was_tied());
  expect_ran_elsewhere();
}

TEST_F(SlurmTies, AHeterogeneousJobIsNotTied) {
  slurm_.jobs.clear();
  slurm_.jobs["14"] = {.number = "14", .shown = "14+0", .het = "14", .offset = "0", .nodes = "n1"};
  slurm_.jobs["15"] = {.number = "15", .shown = "14+1", .het = "14", .offset = "1", .nodes = "n2"};
  EXPECT_DONE(run(requeue_keeping({"n2"}, "14+0")));
  EXPECT_FALSE(was_tied());
}

TEST_F(SlurmTies, NoTieThatCouldNotBeTakenBackBeforeTheDeadline) {
  auto hurried = act();
  hurried.deadline = options_.placement_wait + seconds{1};
  EXPECT_DONE(run(hurried));
  EXPECT_FALSE(was_tied());
  expect_ran_elsewhere();
}

/// Slurm takes the list from no job that runs, so the next requeue meets it.
TEST_F(SlurmTies, ALaterRequeueTellsATieFromAWishOfTheUser) {
  auto later = requeue_keeping({"n2", "n4", "n5"});
  later.id = "a-0000000000000002";
  later.reason = "faultline:" + later.id + " gpu.x";
  later.attempt = AttemptId{"7", 1};
  later.nodes = {"n3"};
  run_tied();
  slurm_.nodes["n3"].state = "IDLE+DRAIN";
  EXPECT_DONE(run(later));
  EXPECT_EQ(job().nodes, "n2,n4,n5,n6");
  EXPECT_EQ(job().excluded, "n9,n1,n3");
  EXPECT_EQ(job().comment, comment_of(later.id, {"n2", "n4", "n5", "n6"}));

  for (const std::string changed : {"its list", "its comment"}) {
    reset();
    run_tied();
    (changed == "its list" ? job().required : job().comment) += "0";
    SCOPED_TRACE(changed);
    EXPECT_REFUSED(run(later));
    EXPECT_TRUE(slurm_.log.empty());
  }
}

/// Killed after its requeue a job may go back to Slurm by other ways: a node that went down, a
/// person.
TEST_F(SlurmTies, ATiedJobThatWaitsAgainIsUntiedAndNoMore) {
  run_tied();
  job().state = "PENDING";
  job().restart = 2;
  job().reason = "BeginTime";
  job().delayed = true;
  const auto seen = look(act());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->status, OutcomeStatus::unknown);
  EXPECT_TRUE(seen->retryable) << seen->detail;
  const Duration begun = clock_.monotonic();
  EXPECT_DONE(run(act()));
  EXPECT_LT(clock_.monotonic() - begun, seconds{1}) << "others wait for their acts";
  EXPECT_EQ(slurm_.log, std::vector<std::string>{"scontrol update jobid=7 ReqNodeList="});
  EXPECT_TRUE(job().delayed) << "this begin time is not the act's";

  run_tied();  // and once more, on a node that hangs
  job().state = "COMPLETING";
  job().restart = 3;
  job().completing_looks = 1'000'000;
  EXPECT_TRUE(run(act())->retryable) << "it would wait tied, later";
}

/// n1 was returned since; a sibling that started there and one that waits are none of the act's any
/// more.
TEST_F(SlurmTies, TheArrayOfATaskThatIsUntiedLateIsLeftAlone) {
  run_tied();
  FakeSlurm::Job& task = job();
  task.shown = "6_1";
  task.array = "6";
  task.tasks = "1";
  task.state = "PENDING";
  task.restart = 2;
  slurm_.nodes["n1"].state = "IDLE";
  slurm_.jobs["8"] = {.number = "8",
                      .shown = "6_2",
                      .array = "6",
                      .tasks = "2",
                      .excluded = "n9",
                      .nodes = "n[1-4]"};
  slurm_.jobs["9"] = {.number = "9",
                      .shown = "6_3",
                      .array = "6",
                      .tasks = "3",
                      .state = "PENDING",
                      .excluded = "n9"};
  Action late = act();
  late.subject = Subject::of_job("6_1");
  late.attempt->job = "6_1";
  EXPECT_DONE(run(late));
  EXPECT_EQ(slurm_.log, std::vector<std::string>{"scontrol update jobid=6_1 ReqNodeList="});
}

/// The controller is killed before or after each command, and a node is taken from the tied job.
TEST_F(SlurmTies, AControllerThatIsKilledLeavesNoJobTied) {
  for (const bool taken : {false, true}) {
    for (const bool after_command : {false, true}) {
      for (int at = 1; at <= 100; ++at) {
        SCOPED_TRACE(std::to_string(taken) + " " + std::to_string(after_command) + " " +
                     std::to_string(at));
        reset();
        const auto kill = [&](int number) -> std::optional<Error> {
          if (taken && was_tied()) slurm_.nodes["n3"].state = "ALLOCATED";
          if (number == at) throw Killed();
          return {};
        };
        (after_command ? slurm_.after : slurm_.before) = kill;
        try {
          EXPECT_DONE(run(act()));
        } catch (const Killed&) {
        }
        slurm_.before = slurm_.after = nullptr;
        const auto seen = look(act());
        ASSERT_TRUE(seen.ok());
        if (seen->status != OutcomeStatus::done) {
          EXPECT_TRUE(seen->retryable) << seen->detail;
          EXPECT_DONE(run(act()));
          EXPECT_EQ(job().state, "RUNNING") << job().reason;
          EXPECT_DONE(look(act()));
        }
        EXPECT_FALSE(waits_tied());
      }
    }
  }
}

TEST_F(SlurmTies, AnOutageLeavesNoJobTied) {
  for (int from = 1; from <= 60; ++from) {
    SCOPED_TRACE(from);
    reset();
    slurm_.before = [&](int number) -> std::optional<Error> {
      if (was_tied()) slurm_.nodes["n3"].state = "ALLOCATED";
      if (number < from || number >= from + 3) return {};
      return Error{ErrorCode::unavailable, "Unable to contact slurm controller"};
    };
    auto result = run(act());
    for (int i = 0; i < 5 && !result.ok(); ++i) result = run(act());
    EXPECT_DONE(result);
    EXPECT_EQ(job().state, "RUNNING") << job().reason;
    EXPECT_FALSE(waits_tied());
  }
}

}  // namespace
}  // namespace faultline
