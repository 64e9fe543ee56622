// The local scheduler, with jobs that are real processes. This program is its own keeper.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "adapters/local/local_cluster.h"
#include "adapters/local/local_keeper.h"
#include "adapters/local/local_request.h"
#include "base/text.h"
#include "tests/conformance/cluster_under_test.h"

namespace faultline::conformance {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int node_count = 9;

class LocalUnderTest final : public ClusterUnderTest {
 public:
  explicit LocalUnderTest(fs::path root) : root_(std::move(root)), folder_(root_ / "state") {
    std::vector<LocalNode> nodes;
    for (int i = 1; i <= node_count; ++i) {
      LocalNode node;
      node.name = "n" + std::to_string(i);
      node.spare = i == node_count;
      nodes.push_back(node);
    }
    EXPECT_TRUE(folder_.create(nodes).ok());
    serve();
  }
  ~LocalUnderTest() override {
    clean();
    cluster_.reset();
    std::error_code error;
    fs::remove_all(root_, error);
  }

  Scheduler& scheduler() override { return *cluster_; }
  Actuator& actuator() override { return *cluster_; }
  /// One controller holds the folder, so the old one goes.
  std::unique_ptr<Actuator> fresh_actuator() override {
    serve();
    class Forward final : public Actuator {
     public:
      explicit Forward(LocalCluster& to) : to_(to) {}
      Result<Outcome> execute(const Action& action) override { return to_.execute(action); }
      Result<Outcome> inspect(const Action& action) override { return to_.inspect(action); }

     private:
      LocalCluster& to_;
    };
    return std::make_unique<Forward>(*cluster_);
  }

  std::string submit(const JobSpec& spec) override {
    std::string body = "r=$FAULTLINE_RESTART\n";
    if (spec.fails_at_first) body += "[ $r = 0 ] && exit 3\n";
    if (!spec.ends_with.empty()) {
      body += "if [ \"$FAULTLINE_ARRAY_TASK\" = 0 ]; then until [ -e '" + spec.ends_with +
              "' ]; do sleep 0.1; done; exit 0; fi\n";
    }
    if (spec.slow_to_stop) body += "trap '' TERM\n";
    body += "sleep 600 & wait\nsleep 600\n";
    LocalRequest request = of(LocalRequestKind::submit);
    request.job = std::to_string(folder_.next_job(0).value());
    request.name = spec.name;
    request.node_count = static_cast<std::uint32_t>(spec.nodes);
    for (int i = 0; i < spec.array_tasks; ++i)
      request.array.tasks.push_back(static_cast<std::uint32_t>(i));
    if (spec.array_tasks > 0) request.array.limit = 1;
    request.argv = {"/bin/sh", "-c", body};
    request.environment = {"PATH=/usr/bin:/bin"};
    request.directory = root_.string();
    leave(request);
    return request.job;
  }
  void operator_drains(const std::string& node, const std::string& reason) override {
    LocalRequest request = of(LocalRequestKind::drain);
    request.node = node;
    request.reason = reason;
    leave(request);
    EXPECT_TRUE(cluster_->view().ok());
  }
  void clean() override {
    for (int i = 0; i < 600; ++i) {
      const auto view = cluster_->view();
      if (!view) return;
      bool busy = false;
      for (const auto& attempt : view->attempts) {
        if (ended(attempt.state)) continue;
        busy = true;
        if (i % 50 != 0) continue;
        LocalRequest request = of(LocalRequestKind::cancel);
        request.job = attempt.id.job;
        leave(request);
      }
      for (const auto& [name, node] : view->nodes) {
        if (!node.drained) continue;
        busy = true;
        LocalRequest request = of(LocalRequestKind::resume);
        request.node = name;
        leave(request);
      }
      if (!busy) return;
      std::this_thread::sleep_for(milliseconds{50});
    }
    ADD_FAILURE() << "jobs of the local cluster do not end";
  }
  bool knows_user_exclusions() const override { return false; }
  bool knows_jobs_that_run_once() const override { return false; }

 private:
  void serve() {
    cluster_.reset();
    LocalOptions options;
    options.state = folder_.root().string();
    options.grace = milliseconds{500};
    options.test_command = {"/bin/sh", "-c",
                            "echo tested $FAULTLINE_NODE; test $FAULTLINE_NODE != n2"};
    cluster_.emplace(options, clock_, counters_);
    const auto opened = cluster_->open();
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  }
  static LocalRequest of(LocalRequestKind kind) {
    LocalRequest request;
    request.kind = kind;
    request.by = "ann";
    return request;
  }
  void leave(const LocalRequest& request) {
    const auto left = leave_request(folder_, request, clock_.now());
    EXPECT_TRUE(left.ok()) << (left.ok() ? "" : left.error().message);
  }

  fs::path root_;
  StateFolder folder_;
  SystemClock clock_;
  Counters counters_;
  std::optional<LocalCluster> cluster_;
};

std::unique_ptr<LocalUnderTest>& the_cluster() {
  static std::unique_ptr<LocalUnderTest> cluster;
  return cluster;
}

}  // namespace

ClusterUnderTest* local_cluster(std::string& why_not) {
  auto& cluster = the_cluster();
  if (cluster) return cluster.get();
  std::string root = (fs::temp_directory_path() / "faultline-conformance-XXXXXX").string();
  if (::mkdtemp(root.data()) == nullptr) {
    why_not = "no temporary folder";
    return nullptr;
  }
  cluster = std::make_unique<LocalUnderTest>(root);
  return cluster.get();
}

void stop_local_cluster() { the_cluster().reset(); }

}  // namespace faultline::conformance

int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "local-keeper") {
    const faultline::SystemClock clock;
    const faultline::StateFolder folder(argv[2]);
    return faultline::keep_job(folder, argv[3],
                               faultline::parse_number<std::uint32_t>(argv[4]).value_or(0), clock);
  }
  testing::InitGoogleMock(&argc, argv);
  const int result = RUN_ALL_TESTS();
  faultline::conformance::stop_local_cluster();
  return result;
}
