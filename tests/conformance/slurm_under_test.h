// A real Slurm cluster, started by tests/e2e/slurm_cluster on ports of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/process/process.h"
#include "adapters/slurm/slurm_actuator.h"
#include "adapters/slurm/slurm_scheduler.h"
#include "tests/conformance/cluster_under_test.h"

namespace faultline::conformance {

class SlurmUnderTest final : public ClusterUnderTest {
 public:
  explicit SlurmUnderTest(std::string folder);

  Scheduler& scheduler() override { return *scheduler_; }
  Actuator& actuator() override { return *actuator_; }
  std::unique_ptr<Actuator> fresh_actuator() override;
  std::string submit(const JobSpec& spec) override;
  void operator_drains(const std::string& node, const std::string& reason) override;
  void clean() override;

  [[nodiscard]] const SlurmOptions& options() const { return options_; }
  /// A client of the cluster; returns its output.
  std::string run(const std::vector<std::string>& argv);
  /// tests/e2e/slurm_cluster.
  ProcessResult script(const std::vector<std::string>& arguments) {
    return script_in(folder_, arguments);
  }
  static ProcessResult script_in(const std::string& folder,
                                 const std::vector<std::string>& arguments);

 private:
  std::string folder_;
  SlurmOptions options_;
  SystemClock clock_;
  Counters counters_;
  std::unique_ptr<SlurmScheduler> scheduler_;
  std::unique_ptr<SlurmActuator> actuator_;
};

/// The one cluster of this program; nullptr, with `why_not` set, where none can be started.
SlurmUnderTest* slurm_under_test(std::string& why_not);

}  // namespace faultline::conformance
