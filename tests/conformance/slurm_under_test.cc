#include "tests/conformance/slurm_under_test.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>

#include "base/text.h"

namespace faultline::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* first_port = "18500";

/// Up for the whole program, down at its end.
class SlurmForAll final : public ::testing::Environment {
 public:
  std::string folder;
  std::unique_ptr<SlurmUnderTest> cluster;

  ~SlurmForAll() override = default;
  void TearDown() override {
    cluster.reset();
    if (folder.empty()) return;
    SlurmUnderTest::script_in(folder, {"down"});
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }
};

/// Owned by GoogleTest.
SlurmForAll* const for_all = [] {
  auto* environment = new SlurmForAll;
  ::testing::AddGlobalTestEnvironment(environment);
  return environment;
}();

}  // namespace

SlurmUnderTest::SlurmUnderTest(std::string folder) : folder_(std::move(folder)) {
  options_.conf = folder_ + "/etc/slurm.conf";
  options_.test_command = {"sh", "-c", "echo tested $FAULTLINE_NODE; test $FAULTLINE_NODE != n2"};
  scheduler_ = std::make_unique<SlurmScheduler>(options_, clock_, counters_);
  actuator_ = std::make_unique<SlurmActuator>(options_, clock_, counters_);
}

std::unique_ptr<Actuator> SlurmUnderTest::fresh_actuator() {
  return std::make_unique<SlurmActuator>(options_, clock_, counters_);
}

ProcessResult SlurmUnderTest::script_in(const std::string& folder,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{FAULTLINE_SOURCE_DIR "/tests/e2e/slurm_cluster"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  ProcessOptions options;
  options.deadline = seconds{120};
  options.environment = {"FAULTLINE_SLURM_DIR=" + folder,
                         std::string("FAULTLINE_SLURM_PORT=") + first_port};
  auto result = run_process(argv, options);
  return result ? std::move(result).value()
                : ProcessResult{127, "", result.error().message, false, false};
}

std::string SlurmUnderTest::submit(const JobSpec& spec) {
  std::string body = "r=${SLURM_RESTART_COUNT:-0}\n";
  if (spec.fails_at_first) body += "[ $r = 0 ] && exit 3\n";
  if (!spec.ends_with.empty()) {
    body += "if [ \"$SLURM_ARRAY_TASK_ID\" = 0 ]; then until [ -e '" + spec.ends_with +
            "' ]; do sleep 0.1; done; exit 0; fi\n";
  }
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

void SlurmUnderTest::operator_drains(const std::string& node, const std::string& reason) {
  run({"scontrol", "update", "nodename=" + node, "state=drain", "reason=" + reason});
}

void SlurmUnderTest::clean() {
  run({"scancel", "--user=root", "--signal=KILL", "--full"});
  run({"scancel", "--user=root"});
  for (int i = 0; i < 600 && !trim(run({"squeue", "--noheader"})).empty(); ++i) {
    std::this_thread::sleep_for(milliseconds{50});
  }
  const auto view = scheduler_->view();
  if (!view) return;
  for (const auto& [name, node] : view->nodes) {
    if (node.drained) run({"scontrol", "update", "nodename=" + name, "state=resume"});
  }
}

std::string SlurmUnderTest::run(const std::vector<std::string>& argv) {
  ProcessOptions options;
  options.environment = {"SLURM_CONF=" + options_.conf};
  options.directory = "/tmp";
  const auto result = run_process(argv, options);
  return result ? result->out : "";
}

SlurmUnderTest* slurm_under_test(std::string& why_not) {
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
  for_all->folder = folder;
  const auto up = SlurmUnderTest::script_in(folder, {"up", "-n", "9", "--topology"});
  if (up.exit_code != 0) {
    why_not = "the cluster did not start: " + up.err;
    return nullptr;
  }
  for_all->cluster = std::make_unique<SlurmUnderTest>(folder);
  return for_all->cluster.get();
}

ClusterUnderTest* slurm_cluster(std::string& why_not) { return slurm_under_test(why_not); }

}  // namespace faultline::conformance
