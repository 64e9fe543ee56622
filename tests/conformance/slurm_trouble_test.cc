// What only Slurm has: heterogeneous jobs, interactive ones, maintenance reservations, and a
// slurmctld that dies or hangs.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "act/executor.h"
#include "adapters/process/process.h"
#include "base/text.h"
#include "tests/conformance/cluster_under_test.h"
#include "tests/conformance/slurm_under_test.h"

namespace faultline::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Remembers one act, as the store would.
class OneIntent final : public Journal {
 public:
  Status record_intent(const Action& action) override {
    if (intent_) return Error{ErrorCode::conflict, "journalled already"};
    intent_ = action;
    return ok_status();
  }
  Status record_outcome(const Outcome&) override { return ok_status(); }
  Result<std::vector<Action>> open_intents() override { return std::vector<Action>{}; }

 private:
  std::optional<Action> intent_;
};

// The prefix "Slurm" puts it under the same filter as the suite.
class SlurmTrouble : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    cluster_ = slurm_under_test(why_not);
    ASSERT_NE(cluster_, nullptr) << why_not;
    cluster_->clean();
  }
  void TearDown() override {
    if (cluster_ == nullptr) return;
    cluster_->script({"cont-ctld"});
    cluster_->script({"start-ctld"});
    cluster_->run({"scontrol", "delete", "reservationname=mnt"});
    cluster_->clean();
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    for (int i = 0; i < 600; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds{100});
    }
    return false;
  }
  Action requeue(const AttemptId& attempt, const std::string& node) {
    Action made;
    made.kind = ActionKind::requeue_excluding;
    made.subject = Subject::of_job(attempt.job);
    made.id = "a-" + std::to_string(++count_);
    made.reason = "faultline:" + made.id + " gpu.x";
    made.attempt = attempt;
    made.nodes = {node};
    made.deadline = seconds{60};
    made.dry_run = false;
    return made;
  }
  Action drain(const std::string& node) {
    Action made;
    made.kind = ActionKind::drain_node;
    made.subject = Subject::of_node(node);
    made.id = "a-" + std::to_string(++count_);
    made.reason = "faultline:" + made.id + " gpu.x";
    made.dry_run = false;
    return made;
  }
  Attempt running(const std::string& job, std::uint32_t restart = 0) {
    Attempt result;
    EXPECT_TRUE(eventually([&] {
      const auto view = cluster_->scheduler().view();
      const auto* attempt = view ? view->attempt({job, restart}) : nullptr;
      if (attempt == nullptr || attempt->state != AttemptState::running) return false;
      result = *attempt;
      return true;
    })) << job;
    return result;
  }

  SlurmUnderTest* cluster_ = nullptr;
  int count_ = 0;
};

TEST_F(SlurmTrouble, AHeterogeneousJobMovesAsAWhole) {
  const auto job = std::string(trim(
      cluster_->run({"sbatch", "--parsable", "--requeue", "--nodes=1", "--exclusive",
                     "--output=/dev/null", "--wrap=sleep 600", ":", "--nodes=2", "--exclusive"})));
  running(job + "+0");
  const auto second = running(job + "+1");
  ASSERT_EQ(second.nodes.size(), 2U);
  const auto outcome = cluster_->actuator().execute(requeue(second.id, second.nodes[0]));
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->status, OutcomeStatus::done) << outcome->detail;
  for (const auto* part : {"+0", "+1"}) {
    const auto after = running(job + part, 1);
    EXPECT_EQ(std::count(after.nodes.begin(), after.nodes.end(), second.nodes[0]), 0)
        << join(after.nodes, ",");
  }
}

TEST_F(SlurmTrouble, AMaintenanceReservationIsLeftAlone) {
  cluster_->run({"scontrol", "create", "reservation", "reservationname=mnt", "starttime=now",
                 "duration=60", "nodes=n7", "flags=maint,ignore_jobs", "users=root"});
  const auto outcome = cluster_->actuator().execute(drain("n7"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, OutcomeStatus::failed) << outcome->detail;
  EXPECT_FALSE(outcome->retryable);
  const auto view = cluster_->scheduler().view();
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->node("n7")->maintenance);
  EXPECT_FALSE(view->node("n7")->available);
  EXPECT_FALSE(view->node("n7")->drained);
}

TEST_F(SlurmTrouble, TheTopologyIsKnown) {
  const auto view = cluster_->scheduler().view();
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->node("n1")->network_switch, view->node("n3")->network_switch);
  EXPECT_NE(view->node("n1")->network_switch, view->node("n4")->network_switch);
  EXPECT_FALSE(view->node("n1")->network_switch.empty());
  EXPECT_TRUE(view->scheduler.starts_with("slurm ")) << view->scheduler;
}

TEST_F(SlurmTrouble, ADeadSlurmctldIsUnavailable) {
  ASSERT_EQ(cluster_->script({"kill-ctld"}).exit_code, 0);
  const auto outcome = cluster_->actuator().execute(drain("n1"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable) << outcome.error().message;
  EXPECT_EQ(cluster_->scheduler().view().error().code, ErrorCode::unavailable);
  ASSERT_EQ(cluster_->script({"start-ctld"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return cluster_->scheduler().view().ok(); }));
}

/// slurmctld hangs between the look and the drain, and answers nobody until it goes on.
TEST_F(SlurmTrouble, AHungSlurmctldMayHaveDoneIt) {
  int updates = 0;
  SlurmOptions options = cluster_->options();
  options.command_deadline = seconds{2};
  const CommandRunner real = process_runner(options);
  const SystemClock clock;
  Counters counters;
  SlurmActuator actuator(options, clock, counters,
                         [&](const auto& argv, Duration deadline, const auto& environment) {
                           const bool update = argv.size() > 1 && argv[1] == "update";
                           if (update && ++updates == 1) {
                             EXPECT_EQ(cluster_->script({"stop-ctld"}).exit_code, 0);
                           }
                           return real(argv, deadline, environment);
                         });
  OneIntent journal;
  Executor executor(journal, actuator, clock, counters);
  const auto act = drain("n1");
  const auto outcome = executor.run(act);
  EXPECT_EQ(outcome.status, OutcomeStatus::unknown) << outcome.detail;
  EXPECT_EQ(updates, 1) << "what may have been done is not done again";
  const auto view = cluster_->scheduler().view();
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::deadline_exceeded) << view.error().message;

  ASSERT_EQ(cluster_->script({"cont-ctld"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return cluster_->scheduler().view().ok(); }));
  // The message of the client that gave up was already there: it is carried out now.
  EXPECT_TRUE(eventually([&] {
    const auto after = cluster_->scheduler().view();
    return after.ok() && after->node("n1")->drained;
  }));
  const auto settled = executor.run(act);
  EXPECT_EQ(settled.status, OutcomeStatus::done) << settled.detail;
  EXPECT_EQ(updates, 1) << "settled by asking";
  const auto after = cluster_->scheduler().view();
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->node("n1")->drain_reason, act.reason);
}

/// slurmctld dies while the job is held half way and comes back: the job runs again without the
/// node.
TEST_F(SlurmTrouble, ARequeueSurvivesARestartOfSlurmctld) {
  const auto job = cluster_->submit({.nodes = 2});
  const auto before = running(job);
  // slurmctld writes its state every few seconds; a job that it forgot would prove nothing here.
  std::this_thread::sleep_for(seconds{7});
  std::thread trouble([&] {
    std::this_thread::sleep_for(milliseconds{600});
    cluster_->script({"kill-ctld"});
    std::this_thread::sleep_for(milliseconds{500});
    cluster_->script({"start-ctld"});
  });
  auto outcome = cluster_->actuator().execute(requeue(before.id, before.nodes[0]));
  trouble.join();
  if (!outcome.ok()) {  // it was away before anything was begun
    EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
    outcome = cluster_->actuator().execute(requeue(before.id, before.nodes[0]));
  }
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->status, OutcomeStatus::done) << outcome->detail;
  Attempt after;
  EXPECT_TRUE(eventually([&] {
    const auto view = cluster_->scheduler().view();
    if (!view) return false;
    for (const auto& attempt : view->attempts) {
      if (attempt.id.job != job || attempt.state != AttemptState::running ||
          attempt.id.restart == 0)
        continue;
      after = attempt;
      return true;
    }
    return false;
  })) << outcome->detail
      << "\n"
      << cluster_->run({"scontrol", "show", "job", job});
  EXPECT_EQ(std::count(after.nodes.begin(), after.nodes.end(), before.nodes[0]), 0)
      << join(after.nodes, ",");
}

}  // namespace
}  // namespace faultline::conformance
