// What a real Slurm does is tested by tests/conformance; here is what it does too rarely to wait
// for.

#include <gtest/gtest.h>

#include "adapters/slurm/slurm_acts_fixture.h"

namespace faultline {
namespace {

TEST_F(SlurmActs, RequeuesInTheVerifiedOrder) {
  EXPECT_DONE(run(requeue()));
  expect_moved();
  EXPECT_EQ(slurm_.jobs["7"].excluded, "n9,n1") << "the user's own exclusion stays";
  const std::vector<std::string> expected = {
      "scontrol update jobid=7 AdminComment=faultline:a-0000000000000001",
      "scontrol requeuehold 7",
      "scontrol update jobid=7 ExcNodeList=n9,n1 AdminComment=faultline:a-0000000000000001",
      "scontrol release 7",  // while its nodes still complete
      "scontrol update jobid=7 StartTime=now",
  };
  EXPECT_EQ(slurm_.log, expected);
}

TEST_F(SlurmActs, TestsADrainedOrIdleNodeAndTellsAResultFromNone) {
  struct Row {
    const char* name;
    FakeSlurm::Node node;
    Result<ProcessResult> ran;
    OutcomeStatus status;
    bool retryable, begun;
  };
  const ProcessResult passed{0, "fit", "", false, false};
  const std::vector<Row> rows = {
      {"idle", {"IDLE"}, passed, OutcomeStatus::done, false, true},
      {"ours", {"IDLE+DRAIN", "faultline:a-1 x"}, passed, OutcomeStatus::done, false, true},
      {"unfit",
       {"IDLE"},
       ProcessResult{1, "", "bad", false, false},
       OutcomeStatus::failed,
       false,
       true},
      {"too slow",
       {"IDLE"},
       ProcessResult{137, "", "", true, false},
       OutcomeStatus::unknown,
       false,
       true},
      {"cannot start",
       {"IDLE"},
       Error{ErrorCode::not_found, "no such program"},
       OutcomeStatus::unknown,
       false,
       true},
      {"busy", {"ALLOCATED"}, passed, OutcomeStatus::failed, true, false},
      {"partly busy", {"MIXED"}, passed, OutcomeStatus::failed, true, false},
      {"theirs", {"IDLE+DRAIN", "fan broken"}, passed, OutcomeStatus::failed, true, false},
  };
  options_.test_command = {"site-test"};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    slurm_.nodes["n1"] = row.node;
    bool begun = false;
    const CommandRunner slurm = slurm_.runner();
    SlurmActuator actuator(options_, clock_, counters_,
                           [&](const auto& argv, Duration deadline, const auto& environment) {
                             if (argv.front() != "site-test")
                               return slurm(argv, deadline, environment);
                             begun = true;
                             return row.ran;
                           });
    const auto tested = actuator.execute(action(ActionKind::test_node, Subject::of_node("n1")));
    ASSERT_TRUE(tested.ok());
    EXPECT_EQ(tested->status, row.status) << tested->detail;
    EXPECT_EQ(tested->retryable, row.retryable) << tested->detail;
    EXPECT_EQ(begun, row.begun);
  }
  options_.test_command.clear();
  EXPECT_EQ(run(action(ActionKind::test_node, Subject::of_node("n1")))->status,
            OutcomeStatus::unknown);
}

TEST_F(SlurmActs, LetsOldCredentialsExpireBeforeTheStart) {
  for (const int looks : {0, 2}) {  // its nodes are free at once, or complete for a while
    slurm_.jobs["7"] = {.number = "7", .shown = "7", .nodes = "n[1-2]", .completing_looks = looks};
    std::optional<Duration> pending_at;
    slurm_.after = [&](int) -> std::optional<Error> {
      if (!pending_at && slurm_.jobs["7"].state == "PENDING") pending_at = clock_.monotonic();
      return {};
    };
    EXPECT_DONE(run(requeue()));
    EXPECT_GE(clock_.monotonic() - *pending_at, options_.requeue_settle);
  }
}

TEST_F(SlurmActs, ADeadSlurmctldIsUnavailableAndNothingIsChanged) {
  slurm_.before = [](int) {
    return Error{ErrorCode::unavailable, "Unable to contact slurm controller"};
  };
  EXPECT_EQ(run(drain()).error().code, ErrorCode::unavailable);
  EXPECT_EQ(run(requeue()).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(slurm_.log.empty());
}

/// slurmctld is away for three commands, from each command of the sequence on: the job never stays
/// held.
TEST_F(SlurmActs, AnOutageInTheMiddleOfARequeueIsWaitedOut) {
  for (int from = 1; from <= 30; ++from) {
    slurm_ = FakeSlurm{};
    slurm_.jobs["7"] = {.number = "7", .shown = "7", .nodes = "n[1-2]", .completing_looks = 2};
    slurm_.before = [&](int number) -> std::optional<Error> {
      if (number < from || number >= from + 3) return {};
      return Error{ErrorCode::unavailable, "Unable to contact slurm controller"};
    };
    auto result = run(requeue());
    // Nothing was begun yet: the executor tries again.
    for (int i = 0; i < 5 && !result.ok(); ++i) {
      EXPECT_EQ(result.error().code, ErrorCode::unavailable);
      result = run(requeue());
    }
    EXPECT_DONE(result);
    expect_moved();
  }
}

/// The controller is killed before or after each command; the next life asks, and finishes what was
/// begun.
TEST_F(SlurmActs, AKilledRequeueIsFinishedByTheNextLife) {
  for (const bool after_command : {false, true}) {
    for (int at = 1; at <= 30; ++at) {
      slurm_ = FakeSlurm{};
      slurm_.jobs["7"] = {.number = "7", .shown = "7", .nodes = "n[1-2]", .completing_looks = 2};
      const auto kill = [&](int number) -> std::optional<Error> {
        if (number == at) throw Killed();
        return {};
      };
      (after_command ? slurm_.after : slurm_.before) = kill;
      try {
        EXPECT_DONE(run(requeue()));
      } catch (const Killed&) {
      }
      slurm_.before = slurm_.after = nullptr;
      const auto seen = look(requeue());
      ASSERT_TRUE(seen.ok());
      if (seen->status == OutcomeStatus::done) continue;  // pending or running without the node
      EXPECT_TRUE(seen->retryable) << seen->detail;
      EXPECT_DONE(run(requeue()));
      expect_moved();
      EXPECT_DONE(look(requeue()));
    }
  }
}

TEST_F(SlurmActs, ADuplicateDoesNothing) {
  EXPECT_DONE(run(requeue()));
  const auto before = slurm_.log;
  EXPECT_DONE(run(requeue()));
  EXPECT_EQ(slurm_.log, before);
}

TEST_F(SlurmActs, SomebodyElsesHoldIsNotReleased) {
  slurm_.jobs["7"].state = "PENDING";
  slurm_.jobs["7"].reason = "job requeued in held state";
  slurm_.jobs["7"].priority = 0;
  slurm_.jobs["7"].restart = 1;
  slurm_.jobs["7"].nodes = "";
  const auto result = run(requeue());
  EXPECT_DONE(result);
  EXPECT_NE(result->detail.find("stays held"), std::string::npos) << result->detail;
  EXPECT_EQ(slurm_.jobs["7"].priority, 0);
  EXPECT_EQ(slurm_.jobs["7"].excluded, "n9,n1");
}

/// Seen with a slurmctld that was killed and restarted in the middle: released, but put off by two
/// minutes, and still with the reason of the hold.
TEST_F(SlurmActs, AReleasedJobThatIsPutOffIsStartedNow) {
  auto& job = slurm_.jobs["7"];
  job.state = "PENDING";
  job.reason = "job requeued in held state";
  job.excluded = "n9,n1";
  job.nodes = "";
  job.restart = 1;
  job.delayed = true;
  EXPECT_DONE(run(requeue()));
  expect_moved();
  EXPECT_EQ(slurm_.log, std::vector<std::string>{"scontrol update jobid=7 StartTime=now"});
}

TEST_F(SlurmActs, AUsersOwnBeginTimeIsKept) {
  slurm_.jobs.clear();
  slurm_.jobs["6"] = {.number = "6", .shown = "2_1", .array = "2", .tasks = "1", .nodes = "n[1-2]"};
  slurm_.jobs["8"] = {.number = "8",
                      .shown = "2_2",
                      .array = "2",
                      .tasks = "2",
                      .state = "PENDING",
                      .nodes = "",
                      .reason = "BeginTime",
                      .delayed = true};
  EXPECT_DONE(run(requeue("2_1")));
  EXPECT_TRUE(slurm_.jobs["8"].delayed);
  EXPECT_EQ(slurm_.jobs["8"].excluded, "n1");
}

TEST_F(SlurmActs, AForeignAdminCommentIsKept) {
  slurm_.jobs["7"].comment = "billing: project 12";
  EXPECT_DONE(run(requeue()));
  EXPECT_EQ(slurm_.jobs["7"].comment, "billing: project 12");
  expect_moved();
}

TEST_F(SlurmActs, AHungNodeDoesNotKeepTheJobHeld) {
  slurm_.jobs["7"].completing_looks = 1'000'000;
  auto act = requeue();
  act.deadline = seconds{5};
  EXPECT_DONE(run(act));
  EXPECT_EQ(slurm_.jobs["7"].excluded, "n9,n1");
  EXPECT_GT(slurm_.jobs["7"].priority, 0) << "it starts by itself when its nodes have completed";
  EXPECT_EQ(slurm_.jobs["7"].restart, 1);
}

TEST_F(SlurmActs, ArraySiblingsAreKeptAwayFirst) {
  slurm_.jobs.clear();
  slurm_.jobs["6"] = {.number = "6", .shown = "2_1", .array = "2", .tasks = "1", .nodes = "n[1-2]"};
  slurm_.jobs["2"] = {.number = "2",
                      .shown = "2_[2-4%1]",
                      .array = "2",
                      .tasks = "2-4%1",
                      .state = "PENDING",
                      .excluded = "n8",
                      .nodes = "",
                      .reason = "JobArrayTaskLimit"};
  slurm_.jobs["5"] = {.number = "5", .shown = "2_0", .array = "2", .tasks = "0", .nodes = "n[1,3]"};
  EXPECT_DONE(run(requeue("2_1")));
  EXPECT_EQ(slurm_.log.front(), "scontrol update jobid=2_[2-4] ExcNodeList=n8,n1");
  expect_moved("6");
  expect_moved("5");
}

TEST_F(SlurmActs, AHeterogeneousJobIsRequeuedAsAWhole) {
  slurm_.jobs.clear();
  slurm_.jobs["14"] = {.number = "14", .shown = "14+0", .het = "14", .offset = "0", .nodes = "n5"};
  slurm_.jobs["15"] = {.number = "15", .shown = "14+1", .het = "14", .offset = "1", .nodes = "n1"};
  slurm_.next_nodes = "n6";
  EXPECT_DONE(run(requeue("14+1")));
  expect_moved("14");
  expect_moved("15");
  EXPECT_EQ(std::count(slurm_.log.begin(), slurm_.log.end(), "scontrol requeuehold 14"), 1);
}

TEST_F(SlurmActs, AJobThatAsksForTheBadNodeByNameIsLeftToItsUser) {
  slurm_.jobs["7"].required = "n[1-2]";
  slurm_.jobs["8"] = {.number = "8", .shown = "8", .nodes = "n[1-2]", .required = "n2"};
  const auto left = run(requeue());
  EXPECT_REFUSED(left);
  EXPECT_NE(left->detail.find("asks for n1 by name"), std::string::npos) << left->detail;
  EXPECT_TRUE(slurm_.log.empty()) << slurm_.log.front();
  // Its user asked for another node.
  EXPECT_DONE(run(requeue("8")));
  expect_moved("8");
}

TEST_F(SlurmActs, AWaitingSiblingThatAsksForTheBadNodeKeepsItsPlace) {
  slurm_.jobs.clear();
  slurm_.jobs["6"] = {.number = "6", .shown = "2_1", .array = "2", .tasks = "1", .nodes = "n[1-2]"};
  slurm_.jobs["2"] = {.number = "2",
                      .shown = "2_[2-4]",
                      .array = "2",
                      .tasks = "2-4",
                      .state = "PENDING",
                      .nodes = "",
                      .reason = "Resources",
                      .required = "n1"};
  EXPECT_DONE(run(requeue("2_1")));
  expect_moved("6");
  EXPECT_EQ(slurm_.jobs["2"].excluded, "");
}

TEST_F(SlurmActs, SaysWhyAJobCannotBeRequeued) {
  slurm_.jobs["7"].batch = false;
  const auto interactive = run(requeue());
  EXPECT_REFUSED(interactive);
  EXPECT_EQ(interactive->detail, "job 7 is interactive (srun or salloc): Slurm cannot requeue it");
  slurm_.jobs["7"].batch = true;
  slurm_.jobs["7"].requeue = false;
  const auto once = run(requeue());
  EXPECT_REFUSED(once);
  EXPECT_EQ(once->detail, "job 7 was submitted with --no-requeue (Requeue=0)");
  slurm_.jobs["7"].requeue = true;
  slurm_.jobs["7"].state = "COMPLETED";
  EXPECT_REFUSED(run(requeue()));
  slurm_.jobs.clear();
  EXPECT_REFUSED(run(requeue()));
  EXPECT_TRUE(slurm_.log.empty());
}

TEST_F(SlurmActs, AnOperatorsDrainOfTheSameMomentStands) {
  // After our update an operator drains it as well, before we look again.
  slurm_.after = [&](int) -> std::optional<Error> {
    if (!slurm_.log.empty()) slurm_.nodes["n1"].reason = "fan broken";
    return {};
  };
  EXPECT_REFUSED(run(drain()));
  EXPECT_EQ(slurm_.nodes["n1"].reason, "fan broken");
  EXPECT_EQ(slurm_.log.size(), 1U) << "no second try";
}

TEST_F(SlurmActs, ALostAnswerToADrainIsFoundByAsking) {
  slurm_.after = [&](int) -> std::optional<Error> {
    if (slurm_.log.empty()) return {};
    return Error{ErrorCode::deadline_exceeded, "Socket timed out on send/recv operation"};
  };
  EXPECT_EQ(run(drain()).error().code, ErrorCode::deadline_exceeded);
  slurm_.after = nullptr;
  EXPECT_DONE(look(drain()));
}

TEST_F(SlurmActs, MaintenanceIsLeftAlone) {
  slurm_.reservations = "ReservationName=mnt Nodes=n[1-2] Flags=MAINT,SPEC_NODES State=ACTIVE\n";
  EXPECT_REFUSED(run(drain("n1")));
  EXPECT_DONE(run(drain("n3")));
}

TEST_F(SlurmActs, ADownNodeMayBeDrainedUnlessAPersonTookItDown) {
  slurm_.nodes["n1"] = {"DOWN*", "Not responding", "root"};
  EXPECT_DONE(run(drain("n1")));
  slurm_.nodes["n2"] = {"DOWN", "waiting for a part", "alice"};
  EXPECT_REFUSED(run(drain("n2")));
  EXPECT_EQ(slurm_.nodes["n2"].reason, "waiting for a part");
}

TEST_F(SlurmActs, RefusesReasonsThatAreNotItsOwn) {
  auto act = drain();
  act.reason = "gpu.x";
  EXPECT_REFUSED(run(act));
  act.reason = "faultline:a-ffffffffffffffff gpu.x";
  EXPECT_REFUSED(run(act));
  act.reason = "faultline:" + act.id + " gpu\nx";
  EXPECT_REFUSED(run(act));
  EXPECT_EQ(slurm_.commands, 0);
}

}  // namespace
}  // namespace faultline
