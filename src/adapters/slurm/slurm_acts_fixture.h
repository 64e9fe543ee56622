// Acts on a fake Slurm: a batch job "7" runs on n1 and n2 of six nodes, its user excludes n9.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "adapters/slurm/fake_slurm.h"
#include "adapters/slurm/slurm_actuator.h"

namespace faultline {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

class SlurmActs : public ::testing::Test {
 protected:
  SlurmActs() {
    for (int i = 1; i <= 6; ++i) slurm_.nodes["n" + std::to_string(i)] = {};
    slurm_.jobs["7"] = {
        .number = "7", .shown = "7", .excluded = "n9", .nodes = "n[1-2]", .completing_looks = 2};
  }
  SlurmActuator actuator() { return {options_, clock_, counters_, slurm_.runner()}; }
  Result<Outcome> run(const Action& action) { return actuator().execute(action); }
  Result<Outcome> look(const Action& action) { return actuator().inspect(action); }

  static Action action(ActionKind kind, Subject subject) {
    Action made;
    made.kind = kind;
    made.id = "a-0000000000000001";
    made.subject = std::move(subject);
    made.reason = "faultline:" + made.id + " gpu.x";
    made.dry_run = false;
    return made;
  }
  static Action drain(const std::string& node = "n1") {
    return action(ActionKind::drain_node, Subject::of_node(node));
  }
  static Action requeue(const std::string& job = "7", const std::string& node = "n1") {
    auto made = action(ActionKind::requeue_excluding, Subject::of_job(job));
    made.attempt = AttemptId{job, 0};
    made.nodes = {node};
    return made;
  }
  static Action requeue_keeping(std::vector<std::string> keep, const std::string& job = "7") {
    auto made = requeue(job);
    made.keep = std::move(keep);
    return made;
  }
  void expect_moved(const std::string& number = "7", int restart = 1) {
    const auto& job = slurm_.jobs[number];
    EXPECT_EQ(job.state, "RUNNING") << job.reason;
    EXPECT_EQ(job.nodes, job.required.empty() ? slurm_.next_nodes : job.required);
    EXPECT_EQ(job.restart, restart);
    EXPECT_NE(("," + job.excluded + ",").find(",n1,"), std::string::npos) << job.excluded;
    EXPECT_GT(job.priority, 0) << "held";
  }

  SlurmOptions options_;
  ManualClock clock_{Instant{std::chrono::hours{24 * 365 * 56}}};
  Counters counters_;
  FakeSlurm slurm_;
};

#define EXPECT_DONE(result)                                       \
  do {                                                            \
    const auto done = (result);                                   \
    ASSERT_TRUE(done.ok()) << done.error().message;               \
    EXPECT_EQ(done->status, OutcomeStatus::done) << done->detail; \
  } while (false)
#define EXPECT_REFUSED(result)                                            \
  do {                                                                    \
    const auto refused = (result);                                        \
    ASSERT_TRUE(refused.ok()) << refused.error().message;                 \
    EXPECT_EQ(refused->status, OutcomeStatus::failed) << refused->detail; \
    EXPECT_FALSE(refused->retryable) << refused->detail;                  \
  } while (false)

}  // namespace faultline
