// A real Slurm cluster, started by tests/e2e/slurm_cluster on ports of its own.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "adapters/process/process.h"
#include "adapters/slurm/slurm_actuator.h"
#include "adapters/slurm/slurm_scheduler.h"
#include "base/text.h"
#include "tests/conformance/cluster_under_test.h"

namespace faultline::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* first_port = "18500";
constexpr const char* script = FAULTLINE_SOURCE_DIR "/tests/e2e/slurm_cluster";

class SlurmUnderTest final : public ClusterUnderTest {
 public:
  explicit SlurmUnderTest(std::string folder) : folder_(std::move(folder)) {
    options_.conf = folder_ + "/etc/slurm.conf";
    options_.test_command = {"sh", "-c", "echo tested $FAULTLINE_NODE; test $FAULTLINE_NODE != n2"};
    scheduler_ = std::make_unique<SlurmScheduler>(options_, clock_, counters_);
    actuator_ = std::make_unique<SlurmActuator>(options_, clock_, counters_);
  }

  static ProcessResult cluster(const std::string& folder,
                               const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{script};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    ProcessOptions options;
    options.deadline = seconds{90};
    options.environment = {"FAULTLINE_SLURM_DIR=" + folder,
                           std::string("FAULTLINE_SLURM_PORT=") + first_port};
    auto result = run_process(argv, options);
    return result ? std::move(result).value()
                  : ProcessResult{127, "", result.error().message, false, false};
  }

  Scheduler& scheduler() override { return *scheduler_; }
  Actuator& actuator() override { return *actuator_; }
  std::unique_ptr<Actuator> fresh_actuator() override {
    return std::make_unique<SlurmActuator>(options_, clock_, counters_);
  }

  std::string submit(const JobSpec& spec) override {
    std::string body = "r=${SLURM_RESTART_COUNT:-0}\n";
    if (spec.fails_at_first) body += "[ $r = 0 ] && exit 3\n";
    if (spec.slow_to_stop) body += "trap '' TERM\n";
    body += "sleep 600 & wait\nsleep 600\n";
    std::vector<std::string> argv{"sbatch",
                                  "--parsable",
                                  "--nodes=" + std::to_string(spec.nodes),
                                  "--exclusive",
                                  "--job-name=" + spec.name,
                                  "--output=/dev/null",
                                  spec.restartable ? "--requeue" : "--no-requeue"};
    if (spec.array_tasks > 0)
      argv.push_back("--array=0-" + std::to_string(spec.array_tasks - 1) + "%1");
    if (!spec.exclude.empty()) argv.push_back("--exclude=" + spec.exclude);
    argv.push_back("--wrap=" + body);
    return std::string(trim(run(argv)));
  }

  void operator_drains(const std::string& node, const std::string& reason) override {
    run({"scontrol", "update", "nodename=" + node, "state=drain", "reason=" + reason});
  }
  void operator_holds(const std::string& job) override { run({"scontrol", "requeuehold", job}); }

  void clean() override {
    run({"scancel", "--user=root", "--signal=KILL", "--full"});
    run({"scancel", "--user=root"});
    for (int i = 0; i < 600 && !trim(run({"squeue", "--noheader"})).empty(); ++i)
      std::this_thread::sleep_for(milliseconds{50});
    const auto view = scheduler_->view();
    for (const auto& [name, node] : view ? view->nodes : ClusterView{}.nodes) {
      if (node.drained) run({"scontrol", "update", "nodename=" + name, "state=resume"});
    }
  }

  std::string run(const std::vector<std::string>& argv) {
    ProcessOptions options;
    options.environment = {"SLURM_CONF=" + options_.conf};
    options.directory = "/tmp";
    const auto result = run_process(argv, options);
    return result ? result->out : "";
  }

 private:
  std::string folder_;
  SlurmOptions options_;
  SystemClock clock_;
  Counters counters_;
  std::unique_ptr<SlurmScheduler> scheduler_;
  std::unique_ptr<SlurmActuator> actuator_;
};

/// Up for the whole program, down at its end.
class SlurmForAll final : public ::testing::Environment {
 public:
  std::string folder;
  std::unique_ptr<SlurmUnderTest> cluster;

  ~SlurmForAll() override = default;
  void TearDown() override {
    if (folder.empty()) return;
    SlurmUnderTest::cluster(folder, {"down"});
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }
};

SlurmForAll* const for_all = static_cast<SlurmForAll*>(
    ::testing::AddGlobalTestEnvironment(new SlurmForAll));  // owned by GoogleTest

}  // namespace

ClusterUnderTest* slurm_cluster(std::string& why_not) {
  if (for_all->cluster) return for_all->cluster.get();
  if (!std::filesystem::exists("/usr/sbin/slurmctld-wlm") || ::geteuid() != 0) {
    why_not = "needs root and the packages slurmctld slurmd slurm-client munge";
    return nullptr;
  }
  std::string folder =
      (std::filesystem::temp_directory_path() / "faultline-conformance-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    why_not = "no temporary folder";
    return nullptr;
  }
  const auto up = SlurmUnderTest::cluster(folder, {"up", "-n", "9", "--topology"});
  if (up.exit_code != 0) {
    why_not = "the cluster did not start: " + up.err;
    return nullptr;
  }
  for_all->folder = folder;
  for_all->cluster = std::make_unique<SlurmUnderTest>(folder);
  return for_all->cluster.get();
}

}  // namespace faultline::conformance
