// The controller with a real store, the shipped catalog, the real detectors and guards; only the
// scheduler and the actuator are fakes. The fake cluster is a file, so that it outlives a
// controller that is killed. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>  // tidy: allow stream
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "controller/controller.h"

namespace faultline {

/// A cluster of n1..n9 with job 7 on n1..n4. What was done to it is a line each in a file.
class FakeCluster final : public Scheduler, public Actuator {
 public:
  FakeCluster(std::filesystem::path file, const Clock& clock)
      : file_(std::move(file)), clock_(clock) {}

  Result<ClusterView> view() override {
    if (down) return Error{ErrorCode::unavailable, "slurmctld does not answer"};
    ClusterView view;
    view.taken_at = clock_.now();
    view.scheduler = "fake";
    for (int i = 1; i <= nodes; ++i) {
      SchedulerNode node;
      node.name = "n" + std::to_string(i);
      node.drained = times("drain_node node:" + node.name) > times("return_node node:" + node.name);
      node.available = !node.drained;
      node.idle = i > 4;
      if (node.drained) node.drain_reason = reason_of(node.name);
      view.nodes[node.name] = node;
    }
    Attempt job;
    job.id = {"7", 0};
    job.state = AttemptState::running;
    job.started_at = clock_.now() - std::chrono::seconds{60};
    job.nodes = {"n1", "n2", "n3", "n4"};
    job.restartable = true;
    view.attempts = {job};
    const std::lock_guard lock(half_done_mutex_);
    view.half_done = half_done_;
    return view;
  }
  Result<std::string> daemon_id() override { return std::to_string(daemon); }
  /// The daemon is killed and comes back without what it had acknowledged last.
  void lose(const std::string& line) {
    std::vector<std::string> kept;
    {
      std::ifstream in(file_);  // tidy: allow stream
      for (std::string each; std::getline(in, each);)
        if (each != line) kept.push_back(each);
    }
    ++daemon;
    std::ofstream out(file_);  // tidy: allow stream
    for (const auto& each : kept) out << each << "\n";
  }
  Result<Outcome> execute(const Action& action) override {
    if (action.dry_run) {
      ++dry_runs;
      return Outcome{action.id, OutcomeStatus::done, clock_.now(),
                     "dry run", {line_of(action)},   false};
    }
    if (refuse) return Error{ErrorCode::unavailable, "slurmctld does not answer"};
    before_execute(action);
    {
      const std::lock_guard lock(half_done_mutex_);
      std::erase(half_done_, action.id);
    }
    std::ofstream(file_, std::ios::app) << line_of(action) << "\n";  // tidy: allow stream
    if (action.kind == ActionKind::drain_node) drained_as(action.subject.node, action.reason);
    after_execute(action);
    return Outcome{action.id, OutcomeStatus::done, clock_.now(), "done", {}, false};
  }
  Result<Outcome> inspect(const Action& action) override {
    if (refuse) return Error{ErrorCode::unavailable, "slurmctld does not answer"};
    if (std::lock_guard lock(half_done_mutex_); contains(half_done_, action.id))
      return Outcome{action.id, OutcomeStatus::unknown, clock_.now(), "half done", {}, true};
    const auto status = did(line_of(action)) ? OutcomeStatus::done : OutcomeStatus::failed;
    return Outcome{action.id,   status, clock_.now(),
                   "looked at", {},     status == OutcomeStatus::failed};
  }

  /// Until it is carried out again.
  void show_half_done(const ActionId& id) {
    const std::lock_guard lock(half_done_mutex_);
    half_done_.push_back(id);
  }
  [[nodiscard]] int times(const std::string& line) const {
    std::ifstream in(file_);  // tidy: allow stream
    int count = 0;
    for (std::string each; std::getline(in, each);) count += each == line ? 1 : 0;
    return count;
  }
  /// By whomever: the scheduler keeps the last reason.
  void drained_as(const std::string& node, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    reasons_[node] = reason;
  }
  [[nodiscard]] bool did(const std::string& line) const { return times(line) > 0; }

  std::string earlier_reason = "faultline:a-x test";  // of the drains of earlier lives
  std::function<void(const Action&)> before_execute = [](const Action&) {};
  std::function<void(const Action&)> after_execute = [](const Action&) {};
  std::atomic<bool> down{false};    // views fail
  std::atomic<bool> refuse{false};  // acts fail, and cannot be looked at
  std::atomic<int> daemon{1};
  std::atomic<int> dry_runs{0};
  int nodes = 9;

 private:
  static std::string line_of(const Action& action) {
    return std::string(to_text(action.kind)) + " " + action.subject.text();
  }
  std::string reason_of(const std::string& node) {
    const std::lock_guard lock(mutex_);
    const auto reason = reasons_.find(node);
    return reason == reasons_.end() ? earlier_reason : reason->second;
  }
  std::filesystem::path file_;
  const Clock& clock_;
  std::mutex half_done_mutex_;
  std::vector<ActionId> half_done_;
  std::mutex mutex_;
  std::map<std::string, std::string> reasons_;  // of the drains of this life
};

/// Keeps what people were told.
class Told final : public Notifier {
 public:
  Status notify(const Notice& notice) override {
    const std::lock_guard lock(mutex_);
    if (lost) return ok_status();  // it never arrives
    notices_.push_back(notice);
    (slow ? on_its_way_ : delivered_).push_back(notice.incident);
    return ok_status();
  }
  std::vector<Incident> take_delivered() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(delivered_, {});
  }
  bool flush(Duration /*deadline*/) override {
    const std::lock_guard lock(mutex_);
    delivered_.insert(delivered_.end(), on_its_way_.begin(), on_its_way_.end());
    on_its_way_.clear();
    return true;
  }
  [[nodiscard]] std::vector<Notice> all() const {
    const std::lock_guard lock(mutex_);
    return notices_;
  }

  std::atomic<bool> lost{false};
  std::atomic<bool> slow{false};  // it arrives when it is waited for

 private:
  mutable std::mutex mutex_;
  std::vector<Notice> notices_;
  std::vector<Incident> delivered_, on_its_way_;
};

class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("faultline-controller-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    ASSERT_TRUE(catalog.ok()) << catalog.error().message;
    catalog_ = std::move(catalog).value();
    options_.mode = Mode::act;
    options_.limits = catalog_.policy().limits;
    options_.scheduler_poll = std::chrono::milliseconds{50};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Nothing in these tests is about how long something takes: they wait until it is so.
  static bool eventually(const std::function<bool()>& holds) {
    const SystemClock clock;
    for (int i = 0; i < 600; ++i) {
      if (holds()) return true;
      clock.sleep(std::chrono::milliseconds{50});
    }
    return false;
  }

  /// The answer as a person reads it.
  static Result<std::string> ask(Controller& controller, const std::string& who, RequestKind kind,
                                 const std::string& target) {
    const auto answer = controller.operate(who, kind, target);
    if (!answer) return answer.error();
    return to_text(*answer);
  }

  Event fell_off_bus(const std::string& node, int number = 0) {
    Event event;
    event.source = EventSource::kernel_log;
    event.kind = EventKind::log_signature;
    event.reporter = node;
    event.subject = Subject::of_gpu(node, "0000:41:00");
    event.observed_at = clock_.now();
    event.clock = ClockDomain::node_wall;
    event.signature = "xid.79";
    event.fields = {{"bdf", "0000:41:00"}, {"xid", "79"}};
    event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number), "boot",
                 "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."};
    event.id = make_event_id(event);
    return event;
  }

  /// Until the judge has ruled on all that it heard, and looked at what people are to be told: it
  /// answers once in each round.
  static void let_judge_look(Controller& controller) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(eventually(
          [&] { return ask(controller, "ann", RequestKind::silence, "n8 2h new fan").ok(); }));
    }
  }

  /// Runs a controller until `done`; the store and cluster stay.
  void run(const std::function<void(Controller&, FakeCluster&)>& act,
           const std::function<bool(Store&, FakeCluster&)>& done) {
    auto store = Store::open(folder_ / "faultline.db", Access::read_write);
    ASSERT_TRUE(store.ok());
    FakeCluster cluster(folder_ / "cluster", clock_);
    cluster.nodes = nodes_;
    if (!earlier_reason_.empty()) cluster.earlier_reason = earlier_reason_;
    Controller controller(catalog_, **store, cluster, cluster, &told_, clock_, counters_, options_);
    ASSERT_TRUE(controller.start().ok());
    act(controller, cluster);
    EXPECT_TRUE(eventually([&] { return done(**store, cluster); }));
    controller.stop();
  }

  std::filesystem::path folder_;
  SystemClock clock_;
  Counters counters_;
  Told told_;
  Catalog catalog_;
  ControllerOptions options_;
  int nodes_ = 9;
  std::string earlier_reason_;
};

}  // namespace faultline
