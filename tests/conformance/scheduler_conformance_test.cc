// The suite that every scheduler's adapter passes: what an act does, that a second one does
// nothing, and that what belongs to somebody else is left alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "tests/conformance/cluster_under_test.h"

namespace faultline::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Kind {
  const char* name;
  MakeCluster make;
};

class SchedulerConformance : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    std::string why_not;
    cluster_ = GetParam().make(why_not);
    ASSERT_NE(cluster_, nullptr) << why_not;
    cluster_->clean();
  }
  void TearDown() override {
    if (cluster_ != nullptr) cluster_->clean();
  }

  ClusterView view() {
    auto result = cluster_->scheduler().view();
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? std::move(result).value() : ClusterView{};
  }
  /// Generous: a machine under load is slow, not wrong.
  template <class Condition>
  bool eventually(Condition condition) {
    for (const auto end = std::chrono::steady_clock::now() + seconds{60};
         std::chrono::steady_clock::now() < end;) {
      if (condition(view())) return true;
      std::this_thread::sleep_for(milliseconds{50});
    }
    return false;
  }
  static const Attempt* latest(const ClusterView& view, const std::string& job) {
    const Attempt* found = nullptr;
    for (const auto& attempt : view.attempts) {
      if (attempt.id.job == job && (found == nullptr || attempt.id.restart > found->id.restart))
        found = &attempt;
    }
    return found;
  }
  Attempt wait_for(const std::string& job, AttemptState state, std::uint32_t restart = 0) {
    Attempt result;
    EXPECT_TRUE(eventually([&](const ClusterView& seen) {
      const auto* attempt = latest(seen, job);
      if (attempt == nullptr || attempt->state != state || attempt->id.restart < restart)
        return false;
      result = *attempt;
      return true;
    })) << job
        << " did not become " << to_text(state);
    return result;
  }

  Action action(ActionKind kind, Subject subject) {
    Action made;
    made.kind = kind;
    made.subject = std::move(subject);
    made.decision = make_decision_id("v-" + std::to_string(++count_), kind, made.subject);
    made.id = make_action_id(made.decision);
    made.reason = "faultline:" + made.id + " gpu.ecc_uncorrectable";
    made.deadline = seconds{60};
    made.dry_run = false;
    return made;
  }
  Action drain(const std::string& node) {
    return action(ActionKind::drain_node, Subject::of_node(node));
  }
  Action requeue(const AttemptId& attempt, const std::string& node) {
    auto made = action(ActionKind::requeue_excluding, Subject::of_job(attempt.job));
    made.attempt = attempt;
    made.nodes = {node};
    return made;
  }
  /// A refusal may come as an outcome or as an error; the executor takes both alike.
  static Outcome settle(const Result<Outcome>& result) {
    if (result.ok()) return *result;
    const auto code = result.error().code;
    const bool refusal = code == ErrorCode::not_found || code == ErrorCode::invalid_argument ||
                         code == ErrorCode::conflict || code == ErrorCode::permission_denied;
    EXPECT_TRUE(refusal) << result.error().message;
    return {"", OutcomeStatus::failed, {}, result.error().message, {}, false};
  }
  Outcome execute(const Action& act) { return settle(cluster_->actuator().execute(act)); }
  Outcome inspect(const Action& act) { return settle(cluster_->fresh_actuator()->inspect(act)); }
  static bool uses(const Attempt& attempt, const std::string& node) {
    return std::find(attempt.nodes.begin(), attempt.nodes.end(), node) != attempt.nodes.end();
  }
  static bool excludes(const Attempt& attempt, const std::string& node) {
    const auto& excluded = attempt.excluded_nodes;
    return std::find(excluded.begin(), excluded.end(), node) != excluded.end();
  }

  ClusterUnderTest* cluster_ = nullptr;
  int count_ = 0;
};

#define EXPECT_DONE(outcome) EXPECT_EQ((outcome).status, OutcomeStatus::done) << (outcome).detail
#define EXPECT_REFUSED(outcome)                                         \
  do {                                                                  \
    const Outcome refused = (outcome);                                  \
    EXPECT_EQ(refused.status, OutcomeStatus::failed) << refused.detail; \
    EXPECT_FALSE(refused.retryable) << refused.detail;                  \
  } while (false)

TEST_P(SchedulerConformance, ViewShowsNodesAndJobs) {
  const auto job = cluster_->submit({.nodes = 2, .name = "a;$(touch /tmp/x)'\"|x NodeList=n9"});
  const auto attempt = wait_for(job, AttemptState::running);
  EXPECT_EQ(attempt.nodes.size(), 2U);
  EXPECT_EQ(attempt.name, "a;$(touch /tmp/x)'\"|x NodeList=n9");
  EXPECT_TRUE(attempt.restartable);
  const auto seen = view();
  EXPECT_GE(seen.nodes.size(), 6U);
  EXPECT_TRUE(seen.node("n6")->available);
  EXPECT_TRUE(seen.node("n6")->idle);
  EXPECT_TRUE(std::any_of(seen.nodes.begin(), seen.nodes.end(),
                          [](const auto& node) { return node.second.spare; }));
  EXPECT_FALSE(seen.node(attempt.nodes[0])->idle);
  EXPECT_TRUE(seen.node(attempt.nodes[0])->available);
}

TEST_P(SchedulerConformance, DrainTakesANodeOutAndLeavesItsJobAlone) {
  const auto job = cluster_->submit({.nodes = 2});
  const auto before = wait_for(job, AttemptState::running);
  const auto act = drain(before.nodes[0]);
  EXPECT_EQ(inspect(act).status, OutcomeStatus::failed);
  EXPECT_TRUE(inspect(act).retryable);
  EXPECT_DONE(execute(act));
  EXPECT_DONE(inspect(act));
  const auto seen = view();
  const auto* node = seen.node(before.nodes[0]);
  EXPECT_TRUE(node->drained);
  EXPECT_FALSE(node->available);
  EXPECT_EQ(node->drain_reason, act.reason);
  EXPECT_EQ(latest(seen, job)->state, AttemptState::running);
}

TEST_P(SchedulerConformance, DrainingTwiceChangesNothing) {
  const auto act = drain("n1");
  EXPECT_DONE(execute(act));
  EXPECT_DONE(execute(act));
  const auto other = drain("n1");
  EXPECT_DONE(execute(other));
  EXPECT_EQ(view().node("n1")->drain_reason, act.reason) << "the first drain keeps its name";
}

TEST_P(SchedulerConformance, RefusesNodesThatDoNotExist) {
  for (const std::string name : {"n99", "ALL", "all", "n[1-3]", "n1,n2", "$(reboot)", "-h", ""}) {
    EXPECT_REFUSED(execute(drain(name)));
  }
  for (const auto& [name, node] : view().nodes) EXPECT_FALSE(node.drained) << name;
}

TEST_P(SchedulerConformance, LeavesSomebodyElsesDrainAlone) {
  cluster_->operator_drains("n2", "fan broken, ticket 4711");
  const auto act = drain("n2");
  EXPECT_REFUSED(execute(act));
  EXPECT_REFUSED(inspect(act));
  auto give_back = action(ActionKind::return_node, Subject::of_node("n2"));
  EXPECT_REFUSED(execute(give_back));
  EXPECT_EQ(view().node("n2")->drain_reason, "fan broken, ticket 4711");
  EXPECT_TRUE(view().node("n2")->drained);
}

TEST_P(SchedulerConformance, ReturnsOnlyTheDrainItUndoes) {
  const auto act = drain("n3");
  EXPECT_DONE(execute(act));
  auto other = action(ActionKind::return_node, Subject::of_node("n3"));
  EXPECT_REFUSED(execute(other));
  EXPECT_TRUE(view().node("n3")->drained);
  auto own = action(ActionKind::return_node, Subject::of_node("n3"));
  own.reason = act.reason;
  EXPECT_TRUE(inspect(own).retryable);
  EXPECT_DONE(execute(own));
  EXPECT_DONE(inspect(own));
  EXPECT_FALSE(view().node("n3")->drained);
  EXPECT_DONE(execute(own));
}

TEST_P(SchedulerConformance, RequeuesARunningJobElsewhere) {
  const std::string own = cluster_->knows_user_exclusions() ? "n6" : "";
  const auto job = cluster_->submit({.nodes = 4, .exclude = own});
  const auto before = wait_for(job, AttemptState::running);
  const auto bad = before.nodes[1];
  const auto act = requeue(before.id, bad);
  EXPECT_TRUE(inspect(act).retryable);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_DONE(execute(act));
  const auto after = wait_for(job, AttemptState::running, before.id.restart + 1);
  RecordProperty("running_to_running_ms",
                 static_cast<int>((std::chrono::steady_clock::now() - begin) / milliseconds{1}));
  EXPECT_EQ(after.id.restart, before.id.restart + 1);
  EXPECT_FALSE(uses(after, bad)) << join(after.nodes, ",");
  EXPECT_TRUE(excludes(after, bad));
  EXPECT_TRUE(own.empty() || excludes(after, own)) << "the user's own exclusion stays";
  EXPECT_DONE(inspect(act));
  EXPECT_DONE(execute(act));
  EXPECT_EQ(wait_for(job, AttemptState::running).id.restart, before.id.restart + 1)
      << "twice is once";
  // The attempt that ended is still told, with its nodes.
  const auto seen = view();
  const auto* ended_attempt = seen.attempt(before.id);
  ASSERT_NE(ended_attempt, nullptr);
  EXPECT_EQ(ended_attempt->state, AttemptState::requeued);
  EXPECT_EQ(ended_attempt->nodes, before.nodes);
}

TEST_P(SchedulerConformance, RequeuesTheSameJobAgainForAnotherNode) {
  const auto job = cluster_->submit({.nodes = 2});
  const auto first = wait_for(job, AttemptState::running);
  EXPECT_DONE(execute(requeue(first.id, first.nodes[0])));
  const auto second = wait_for(job, AttemptState::running, 1);
  EXPECT_TRUE(second.restartable);
  EXPECT_DONE(execute(requeue(second.id, second.nodes[0])));
  const auto third = wait_for(job, AttemptState::running, 2);
  EXPECT_FALSE(uses(third, first.nodes[0]) || uses(third, second.nodes[0]))
      << join(third.nodes, ",");
}

TEST_P(SchedulerConformance, RequeuesAFailedJob) {
  const auto job = cluster_->submit({.nodes = 2, .fails_at_first = true});
  const auto before = wait_for(job, AttemptState::failed);
  EXPECT_EQ(before.exit_code, 3);
  const auto act = requeue(before.id, before.nodes[0]);
  EXPECT_DONE(execute(act));
  const auto after = wait_for(job, AttemptState::running, 1);
  EXPECT_FALSE(uses(after, before.nodes[0]));
}

TEST_P(SchedulerConformance, RequeuesAJobThatIgnoresTheTermSignal) {
  const auto job = cluster_->submit({.nodes = 2, .slow_to_stop = true});
  const auto before = wait_for(job, AttemptState::running);
  std::this_thread::sleep_for(
      milliseconds{500});  // its trap is set by then; if not, the test proves less, not more
  EXPECT_DONE(execute(requeue(before.id, before.nodes[0])));
  EXPECT_FALSE(uses(wait_for(job, AttemptState::running, 1), before.nodes[0]));
}

TEST_P(SchedulerConformance, FinishesARequeueThatWasCutShort) {
  const auto job = cluster_->submit({.nodes = 2, .slow_to_stop = true});
  const auto before = wait_for(job, AttemptState::running);
  auto act = requeue(before.id, before.nodes[0]);
  act.deadline = milliseconds{1};
  const auto cut = execute(act);
  EXPECT_EQ(cut.status, OutcomeStatus::unknown) << cut.detail;
  act.deadline = seconds{60};
  auto later = cluster_->fresh_actuator();
  const auto outcome = later->execute(act);
  ASSERT_TRUE(outcome.ok());
  EXPECT_DONE(*outcome);
  const auto after = wait_for(job, AttemptState::running, 1);
  EXPECT_FALSE(uses(after, before.nodes[0]));
  EXPECT_EQ(after.id.restart, before.id.restart + 1);
}

TEST_P(SchedulerConformance, LeavesAJobAloneThatDoesNotRunThere) {
  const auto job = cluster_->submit({.nodes = 2});
  const auto before = wait_for(job, AttemptState::running);
  const std::string elsewhere = uses(before, "n5") ? "n4" : "n5";
  ASSERT_FALSE(uses(before, elsewhere));
  EXPECT_REFUSED(execute(requeue(before.id, elsewhere)));
  EXPECT_EQ(wait_for(job, AttemptState::running).id.restart, 0U);
}

TEST_P(SchedulerConformance, RefusesJobsThatAreNot) {
  EXPECT_REFUSED(execute(requeue({"999999", 0}, "n1")));
  EXPECT_REFUSED(execute(requeue({"1;reboot", 0}, "n1")));
  EXPECT_REFUSED(execute(requeue({"../1", 0}, "n1")));
}

TEST_P(SchedulerConformance, RefusesWhatCannotBeRequeued) {
  if (!cluster_->knows_jobs_that_run_once()) GTEST_SKIP() << "every job may be requeued";
  const auto job = cluster_->submit({.nodes = 2, .restartable = false});
  const auto before = wait_for(job, AttemptState::running);
  EXPECT_FALSE(before.restartable);
  const auto outcome = execute(requeue(before.id, before.nodes[0]));
  EXPECT_REFUSED(outcome);
  EXPECT_NE(outcome.detail.find("requeue"), std::string::npos) << outcome.detail;
  EXPECT_EQ(wait_for(job, AttemptState::running).id.restart, 0U);
}

TEST_P(SchedulerConformance, SiblingsOfAnArrayGetTheExclusion) {
  const auto array = cluster_->submit({.nodes = 2, .array_tasks = 3});
  const auto before = wait_for(array + "_0", AttemptState::running);
  const auto bad = before.nodes[0];
  EXPECT_DONE(execute(requeue(before.id, bad)));
  // Whatever runs or waits of the array now does so without the node.
  EXPECT_TRUE(eventually([&](const ClusterView& seen) {
    int running = 0;
    for (const auto& attempt : seen.attempts) {
      if (attempt.array_job != array ||
          (attempt.state != AttemptState::running && attempt.state != AttemptState::pending))
        continue;
      if (!excludes(attempt, bad) || uses(attempt, bad)) return false;
      running += attempt.state == AttemptState::running ? 1 : 0;
    }
    return running == 1;
  }));
}

/// The task itself is over or may not run again; the next one must not be put on its node.
TEST_P(SchedulerConformance, WhatFollowsATaskThatCannotBeRequeuedIsKeptAway) {
  const auto end = std::filesystem::temp_directory_path() /
                   ("faultline-conformance-end-" + std::to_string(::getpid()));
  std::filesystem::remove(end);
  const auto array = cluster_->submit(
      {.nodes = 2, .array_tasks = 3, .restartable = false, .ends_with = end.string()});
  const auto first = wait_for(array + "_0", AttemptState::running);
  const auto bad = first.nodes[0];
  if (cluster_->knows_jobs_that_run_once()) {  // before its end: it is left alone
    const auto act = requeue(first.id, bad);
    EXPECT_TRUE(inspect(act).retryable);
    const auto outcome = execute(act);
    EXPECT_DONE(outcome);
    EXPECT_NE(outcome.detail.find("requeue"), std::string::npos) << outcome.detail;
    EXPECT_DONE(inspect(act));
  }
  std::ofstream(end).put('x');
  wait_for(array + "_0", AttemptState::completed);
  std::filesystem::remove(end);
  const auto act = requeue(first.id, bad);
  EXPECT_DONE(execute(act));
  EXPECT_DONE(inspect(act));
  EXPECT_DONE(execute(act));
  const auto second = wait_for(array + "_1", AttemptState::running);
  EXPECT_TRUE(excludes(second, bad));
  EXPECT_TRUE(eventually([&](const ClusterView& seen) {
    const auto* now = latest(seen, array + "_1");
    return now->state == AttemptState::running && !uses(*now, bad);
  }));
  EXPECT_EQ(wait_for(array + "_0", AttemptState::completed).id.restart, 0U);
}

TEST_P(SchedulerConformance, HoldsAJobWithoutStoppingIt) {
  const auto job = cluster_->submit({.nodes = 2});
  const auto before = wait_for(job, AttemptState::running);
  auto act = action(ActionKind::hold_job, Subject::of_job(job));
  act.attempt = before.id;
  EXPECT_TRUE(inspect(act).retryable);
  EXPECT_DONE(execute(act));
  EXPECT_DONE(inspect(act));
  EXPECT_DONE(execute(act));
  EXPECT_EQ(latest(view(), job)->state, AttemptState::running);
}

TEST_P(SchedulerConformance, TestsADrainedOrIdleNodeOnly) {
  const auto job = cluster_->submit({.nodes = 2});
  const std::string busy = wait_for(job, AttemptState::running).nodes.front();
  const auto not_now = execute(action(ActionKind::test_node, Subject::of_node(busy)));
  EXPECT_EQ(not_now.status, OutcomeStatus::failed) << not_now.detail;
  EXPECT_TRUE(not_now.retryable) << not_now.detail;
  EXPECT_DONE(execute(action(ActionKind::test_node, Subject::of_node("n5"))));
  auto test = action(ActionKind::test_node, Subject::of_node("n1"));
  EXPECT_DONE(execute(drain("n1")));
  const auto passed = execute(test);
  EXPECT_DONE(passed);
  EXPECT_NE(passed.detail.find("tested n1"), std::string::npos) << passed.detail;
  EXPECT_DONE(execute(drain("n2")));
  EXPECT_REFUSED(execute(action(ActionKind::test_node, Subject::of_node("n2"))));
}

TEST_P(SchedulerConformance, ADryRunNamesItsCommandsAndDoesNothing) {
  auto act = drain("n1");
  act.dry_run = true;
  EXPECT_FALSE(execute(act).commands.empty());
  EXPECT_FALSE(view().node("n1")->drained);
}

INSTANTIATE_TEST_SUITE_P(Slurm, SchedulerConformance,
                         ::testing::Values(Kind{"Slurm", slurm_cluster}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

INSTANTIATE_TEST_SUITE_P(Local, SchedulerConformance,
                         ::testing::Values(Kind{"Local", local_cluster}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace faultline::conformance
