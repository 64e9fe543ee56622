// The site's own node test, through a whole controller: what a job says of its node, what follows a
// drain, and a test that takes its time. Scheduler and actuator are a fake in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "controller/controller.h"
#include "controller/forwarding_store.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// n1 to n9, with job 7 on n1 to n4 until it fails.
class FakeSite final : public Scheduler, public Actuator {
 public:
  explicit FakeSite(const Clock& clock) : clock_(clock), started_at_(clock.now()) {}

  Result<ClusterView> view() override {
    const std::lock_guard lock(mutex_);
    ClusterView view;
    view.taken_at = clock_.now();
    for (int i = 1; i <= 9; ++i) {
      SchedulerNode node;
      node.name = "n" + std::to_string(i);
      const auto drained = drained_.find(node.name);
      node.drained = drained != drained_.end();
      if (node.drained) node.drain_reason = drained->second;
      node.available = !node.drained;
      node.idle = node.available && !busy && (job_failed || i > 4);
      view.nodes[node.name] = node;
    }
    Attempt job;
    job.id = {"7", 0};
    job.state = job_failed ? AttemptState::failed : AttemptState::running;
    job.started_at = started_at_;
    if (job_failed) job.exit_code = 1;
    job.nodes = {"n1", "n2", "n3", "n4"};
    job.restartable = true;
    view.attempts = {job};
    return view;
  }

  Result<Outcome> execute(const Action& action) override {
    Outcome outcome{action.id, OutcomeStatus::done, clock_.now(), "done", {}, false};
    if (action.kind == ActionKind::test_node) outcome.status = on_test(action);
    outcome.at = clock_.now();
    const std::lock_guard lock(mutex_);
    const std::string node = action.subject.node;
    if (action.kind == ActionKind::drain_node) drained_.emplace(node, action.reason);
    if (action.kind == ActionKind::return_node) drained_.erase(node);
    done_.push_back(std::string(to_text(action.kind)) + " " + action.subject.text());
    return outcome;
  }

  Result<Outcome> inspect(const Action& action) override {
    return Outcome{action.id, OutcomeStatus::failed, clock_.now(), "no trace", {}, true};
  }

  [[nodiscard]] int times(const std::string& act) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count(done_.begin(), done_.end(), act));
  }
  [[nodiscard]] bool did(const std::string& act) const { return times(act) > 0; }
  void drain(const std::string& node, const std::string& reason) { drained_[node] = reason; }

  std::atomic<bool> job_failed{false};
  std::atomic<bool> busy{false};  // somebody else's job is on every node
  std::function<OutcomeStatus(const Action&)> on_test = [](const Action&) {
    return OutcomeStatus::done;
  };

 private:
  const Clock& clock_;
  Instant started_at_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> drained_;
  std::vector<std::string> done_;
};

class SiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("faultline-site-test-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.mode = Mode::act;
    options_.limits = catalog().policy().limits;
    options_.scheduler_poll = milliseconds{50};
    options_.tests.configured = true;
    store_ = Store::open(folder_ / "faultline.db", Access::read_write).value();
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(folder_);
  }

  static const Catalog& catalog() {
    static const Catalog loaded = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value();
    return loaded;
  }

  static bool eventually(const std::function<bool()>& holds) {
    const SystemClock clock;
    for (int i = 0; i < 1200; ++i) {
      if (holds()) return true;
      clock.sleep(milliseconds{50});
    }
    return false;
  }

  std::unique_ptr<Controller> controller() {
    return std::make_unique<Controller>(catalog(), *store_, site_, site_, nullptr, clock_,
                                        counters_, options_);
  }

  Event event_of(EventSource source, EventKind kind, const std::string& node) {
    Event event;
    event.source = source;
    event.kind = kind;
    event.reporter = node;
    event.observed_at = clock_.now();
    event.clock = ClockDomain::node_wall;
    return event;
  }

  Event fell_off_bus(const std::string& node) {
    Event event = event_of(EventSource::kernel_log, EventKind::log_signature, node);
    event.subject = Subject::of_gpu(node, "0000:41:00");
    event.signature = "xid.79";
    event.fields = {{"bdf", "0000:41:00"}, {"xid", "79"}};
    event.raw = {"/dev/kmsg", 0, "boot",
                 "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."};
    event.id = make_event_id(event);
    return event;
  }

  /// The rank of job 7 on n3 says that its GPU has an ECC error, and the job fails.
  void job_fails_with_an_ecc_error(Controller& controller) {
    Event line = event_of(EventSource::job_log, EventKind::log_signature, "n3");
    line.subject = Subject::of_rank({"7", 0}, 2, "n3");
    line.attempt = AttemptId{"7", 0};
    line.signature = "cuda.ecc";
    line.raw = {"job.log", 0, "", "RuntimeError: CUDA error: uncorrectable ECC error encountered"};
    line.id = make_event_id(line);
    EXPECT_TRUE(eventually([&] { return controller.health().scheduler_answers; }));
    EXPECT_TRUE(controller.take_events("n3", {line}).ok());
    site_.job_failed = true;
  }

  NodePhase phase_of(const std::string& node) {
    const auto states = store_->node_states();
    for (const auto& state : states.value()) {
      if (state.node == node) return state.phase;
    }
    return NodePhase::in_service;
  }

  bool decided(ActionKind kind, Reason reason) {
    const auto decisions = store_->decisions({});
    return std::any_of(decisions->begin(), decisions->end(), [&](const Decision& decision) {
      return decision.action.kind == kind && decision.reason == reason;
    });
  }

  /// What an earlier life of the controller left: n3 is drained and its test has begun.
  Action begin_test_in_an_earlier_life() {
    Verdict verdict;
    verdict.id = "v-1";
    verdict.cause = "gpu.fell_off_bus";
    verdict.subject = Subject::of_node("n3");
    verdict.status = VerdictStatus::confirmed;
    verdict.since = verdict.updated_at = clock_.now() - seconds{60};
    verdict.evidence = {"e-1"};
    verdict.witnesses = {EventSource::kernel_log};
    Decision decision;
    decision.verdict = verdict.id;
    decision.ruling = Ruling::act;
    decision.reason = Reason::all_guards_passed;
    decision.decided_at = clock_.now() - seconds{30};
    auto& action = decision.action;
    action.kind = ActionKind::test_node;
    action.subject = Subject::of_node("n3");
    action.dry_run = false;
    decision.id = action.decision = make_decision_id("a-drain", action.kind, action.subject);
    action.id = make_action_id(decision.id);
    EXPECT_TRUE(store_->put_verdict(verdict).ok());
    EXPECT_TRUE(store_->put_decision(decision).ok());
    NodeState state;
    state.node = "n3";
    state.phase = NodePhase::testing;
    state.since = clock_.now() - seconds{30};
    state.action = "a-drain";
    EXPECT_TRUE(store_->put_node_state(state).ok());
    site_.drain("n3", "faultline:a-drain gpu.fell_off_bus");
    return action;
  }

  fs::path folder_;
  SystemClock clock_;
  Counters counters_;
  ControllerOptions options_;
  std::unique_ptr<Store> store_;
  FakeSite site_{clock_};
};

/// Writes that a node is drained only when the next state of it is on its way, or a while after the
/// test that follows was decided.
class SlowStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status put_decision(const Decision& decision) override {
    const auto status = store_.put_decision(decision);
    if (decision.action.kind == ActionKind::test_node && decision.ruling == Ruling::act)
      test_decided_ = true;
    return status;
  }
  Status put_node_state(const NodeState& state) override {
    const SystemClock clock;
    if (state.phase == NodePhase::drained && !std::exchange(drained_, true)) {
      for (int i = 0; i < 200 && !test_decided_; ++i) clock.sleep(milliseconds{50});
      for (int i = 0; i < 10 && !overtaken_; ++i) clock.sleep(milliseconds{50});
    }
    const auto status = store_.put_node_state(state);
    if (state.phase == NodePhase::testing) overtaken_ = true;
    return status;
  }

 private:
  std::atomic<bool> test_decided_{false};
  std::atomic<bool> overtaken_{false};
  bool drained_ = false;  // on the thread that drains alone, until it is past
};

TEST_F(SiteTest, TheStoreKeepsTheOrderOfANodesStatesWhoeverWritesThem) {
  SlowStore slow(*store_);
  options_.tests.after_drain = true;
  Controller life(catalog(), slow, site_, site_, nullptr, clock_, counters_, options_);
  ASSERT_TRUE(life.start().ok());
  ASSERT_TRUE(eventually([&] { return life.health().scheduler_answers; }));
  ASSERT_TRUE(life.take_events("n3", {fell_off_bus("n3")}).ok());
  EXPECT_TRUE(eventually([&] { return site_.did("test_node node:n3"); }));
  EXPECT_TRUE(eventually([&] { return store_->node_history("n3")->size() >= 4; }));
  life.stop();
  std::vector<NodePhase> phases;
  const auto history = store_->node_history("n3");
  for (const auto& state : *history) phases.push_back(state.phase);
  EXPECT_EQ(phases, (std::vector{NodePhase::suspected, NodePhase::drained, NodePhase::testing,
                                 NodePhase::drained}));
}

TEST_F(SiteTest, ANodeThatAJobAccusesAndThatFailsItsTestIsDrained) {
  site_.on_test = [](const Action&) { return OutcomeStatus::failed; };
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  job_fails_with_an_ecc_error(*life);
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::drained; }));
  EXPECT_TRUE(site_.did("requeue_excluding job:7"));
  EXPECT_EQ(site_.times("test_node node:n3"), 1);
  EXPECT_EQ(site_.times("drain_node node:n3"), 1);
  const auto verdicts = store_->verdicts({});
  const auto verdict = std::find_if(verdicts->begin(), verdicts->end(), [](const Verdict& each) {
    return each.cause == "gpu.ecc_uncorrectable";
  });
  ASSERT_NE(verdict, verdicts->end());
  const auto test = store_->event(verdict->evidence.back());
  EXPECT_EQ(test.value()->kind, EventKind::test_finished) << "the chain goes down to the test";
}

TEST_F(SiteTest, ANodeThatAJobAccusesAndThatPassesItsTestStaysInService) {
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  job_fails_with_an_ecc_error(*life);
  EXPECT_TRUE(eventually([&] { return site_.did("requeue_excluding job:7"); }));
  const auto cleared = [&] {
    const auto verdicts = store_->verdicts({});
    return std::any_of(verdicts->begin(), verdicts->end(), [](const Verdict& verdict) {
      return verdict.cause == "gpu.ecc_uncorrectable" && verdict.status == VerdictStatus::cleared;
    });
  };
  EXPECT_TRUE(eventually(cleared));
  EXPECT_EQ(phase_of("n3"), NodePhase::in_service);
  EXPECT_FALSE(site_.did("drain_node node:n3"));
}

TEST_F(SiteTest, ATestThatCouldNotBeRunLeavesTheNodeSuspected) {
  site_.on_test = [](const Action&) { return OutcomeStatus::unknown; };
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  job_fails_with_an_ecc_error(*life);
  EXPECT_TRUE(eventually([&] { return counters_.get("controller_actions_unknown_total") == 1; }));
  EXPECT_TRUE(eventually([&] { return site_.did("requeue_excluding job:7"); }));
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::suspected; }));
  EXPECT_TRUE(store_->open_intents()->empty());
  EXPECT_FALSE(site_.did("drain_node node:n3"));
}

TEST_F(SiteTest, ATestWaitsUntilTheNodeIsIdle) {
  site_.busy = true;
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  job_fails_with_an_ecc_error(*life);
  EXPECT_TRUE(eventually([&] { return decided(ActionKind::test_node, Reason::node_busy); }));
  EXPECT_FALSE(site_.did("test_node node:n3"));
  site_.busy = false;
  EXPECT_TRUE(eventually([&] { return site_.did("test_node node:n3"); }));
}

TEST_F(SiteTest, ALongTestDoesNotKeepADrainWaiting) {
  options_.tests = {true, true, true};
  options_.limits.drained_share_max = 1;
  site_.on_test = [&](const Action& action) {
    if (action.subject.node != "n3") return OutcomeStatus::unknown;
    const bool drained = eventually([&] { return site_.did("drain_node node:n5"); });
    return drained ? OutcomeStatus::done : OutcomeStatus::failed;
  };
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  EXPECT_TRUE(life->take_events("n3", {fell_off_bus("n3")}).ok());
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::testing; }));
  EXPECT_TRUE(life->take_events("n5", {fell_off_bus("n5")}).ok());
  EXPECT_TRUE(eventually([&] { return site_.did("return_node node:n3"); }));
  EXPECT_EQ(site_.times("test_node node:n3"), 1);
  EXPECT_TRUE(eventually([&] { return site_.did("test_node node:n5"); }));
  EXPECT_TRUE(eventually([&] { return phase_of("n5") == NodePhase::drained; }));
  EXPECT_FALSE(site_.did("return_node node:n5")) << "its test has no result";
}

TEST_F(SiteTest, ADrainedNodeThatFailsItsTestGoesToRepair) {
  options_.tests = {true, true, true};
  site_.on_test = [](const Action&) { return OutcomeStatus::failed; };
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  EXPECT_TRUE(life->take_events("n3", {fell_off_bus("n3")}).ok());
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::in_repair; }));
  EXPECT_FALSE(site_.did("return_node node:n3"));
}

TEST_F(SiteTest, ATestThatAnEarlierLifeBeganIsRunAgain) {
  const Action test = begin_test_in_an_earlier_life();
  ASSERT_TRUE(store_->record_intent(test, clock_.now() - seconds{20}).ok());
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::drained; }));
  EXPECT_EQ(site_.times("test_node node:n3"), 1);
  EXPECT_TRUE(store_->open_intents()->empty());
}

TEST_F(SiteTest, ATestThatAnEarlierLifeBeganTooLongAgoHasNoResult) {
  const Action test = begin_test_in_an_earlier_life();
  ASSERT_TRUE(store_->record_intent(test, clock_.now() - std::chrono::hours{1}).ok());
  site_.on_test = [](const Action&) { return OutcomeStatus::failed; };
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  EXPECT_TRUE(eventually([&] { return phase_of("n3") == NodePhase::drained; }))
      << "not in repair: nobody knows";
  EXPECT_FALSE(site_.did("test_node node:n3"));
  EXPECT_TRUE(store_->open_intents()->empty());
}

TEST_F(SiteTest, ATestThatWasDecidedAndNotBegunIsRun) {
  begin_test_in_an_earlier_life();
  const auto life = controller();
  ASSERT_TRUE(life->start().ok());
  EXPECT_TRUE(eventually([&] { return site_.did("test_node node:n3"); }));
}

TEST_F(SiteTest, AResultThatAnEarlierLifeDidNotFollowIsFollowed) {
  const Action test = begin_test_in_an_earlier_life();
  ASSERT_TRUE(store_->record_intent(test, clock_.now() - seconds{20}).ok());
  ASSERT_TRUE(
      store_
          ->record_outcome(
              {test.id, OutcomeStatus::failed, clock_.now() - seconds{1}, "exit code 1", {}, false})
          .ok());
  const auto results = [&] {
    const auto events = store_->events({});
    return std::count_if(events->begin(), events->end(),
                         [](const Event& event) { return event.kind == EventKind::test_finished; });
  };
  for (int i = 0; i < 2; ++i) {
    const auto life = controller();
    ASSERT_TRUE(life->start().ok());
    EXPECT_EQ(phase_of("n3"), NodePhase::in_repair);
    EXPECT_EQ(results(), 1) << "however often it starts";
    life->stop();
  }
  EXPECT_FALSE(site_.did("test_node node:n3"));
}

}  // namespace
}  // namespace faultline
