// What the conformance suite needs of a scheduler: its two ports, and a way to play the user and
// the operator.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "act/actuator.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/ports.h"

namespace faultline::conformance {

struct JobSpec {
  int nodes = 4;
  int array_tasks = 0;          // 0: a single job; else tasks 0 to N-1, one at a time
  bool fails_at_first = false;  // the first run ends with 3, later ones go on
  bool restartable = true;
  bool slow_to_stop = false;  // it ignores SIGTERM
  std::string name = "train";
  std::string exclude = "";    // the user's own exclusion
  std::string ends_with = "";  // task 0 of the array completes once this file is there
};

/// A cluster of at least six nodes n1, n2, ..., all free, no job.
class ClusterUnderTest {
 public:
  virtual ~ClusterUnderTest() = default;
  virtual Scheduler& scheduler() = 0;
  virtual Actuator& actuator() = 0;
  /// A second one, as after a restart of the controller.
  virtual std::unique_ptr<Actuator> fresh_actuator() = 0;
  /// Returns the job's id; tasks are ID_0, ID_1, ...
  virtual std::string submit(const JobSpec& spec) = 0;
  virtual void operator_drains(const std::string& node, const std::string& reason) = 0;
  /// What a scheduler may lack.
  [[nodiscard]] virtual bool knows_user_exclusions() const { return true; }
  [[nodiscard]] virtual bool knows_jobs_that_run_once() const { return true; }
  /// Cancels all jobs, waits until they are gone, returns all nodes.
  virtual void clean() = 0;
};

/// nullptr, with `why_not` set, where it cannot run. Lives as long as the test program.
using MakeCluster = std::function<ClusterUnderTest*(std::string& why_not)>;

ClusterUnderTest* slurm_cluster(std::string& why_not);
ClusterUnderTest* local_cluster(std::string& why_not);

}  // namespace faultline::conformance
