// The controller with a real store, the shipped catalog, the real detectors and guards; only the
// scheduler and the actuator are fakes. The fake cluster is a file, so that it outlives a
// controller that is killed.
#include "controller/controller.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A cluster of n1..n9 with job 7 on n1..n4. What was done to it is a line each in a file.
class FakeCluster final : public Scheduler, public Actuator {
 public:
  FakeCluster(fs::path file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

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
      if (node.drained) node.drain_reason = "faultline:a-x test";
      view.nodes[node.name] = node;
    }
    Attempt job;
    job.id = {"7", 0};
    job.state = AttemptState::running;
    job.started_at = clock_.now() - seconds{60};
    job.nodes = {"n1", "n2", "n3", "n4"};
    job.restartable = true;
    view.attempts = {job};
    return view;
  }
  Result<Outcome> execute(const Action& action) override {
    if (refuse) return Error{ErrorCode::unavailable, "slurmctld does not answer"};
    before_execute(action);
    std::ofstream(file_, std::ios::app) << line_of(action) << "\n";
    after_execute(action);
    return Outcome{action.id, OutcomeStatus::done, clock_.now(), "done", {}, false};
  }
  Result<Outcome> inspect(const Action& action) override {
    if (refuse) return Error{ErrorCode::unavailable, "slurmctld does not answer"};
    const auto status = did(line_of(action)) ? OutcomeStatus::done : OutcomeStatus::failed;
    return Outcome{action.id,   status, clock_.now(),
                   "looked at", {},     status == OutcomeStatus::failed};
  }

  [[nodiscard]] int times(const std::string& line) const {
    std::ifstream in(file_);
    int count = 0;
    for (std::string each; std::getline(in, each);) count += each == line ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool did(const std::string& line) const { return times(line) > 0; }

  std::function<void(const Action&)> before_execute = [](const Action&) {};
  std::function<void(const Action&)> after_execute = [](const Action&) {};
  std::atomic<bool> down{false};    // views fail
  std::atomic<bool> refuse{false};  // acts fail, and cannot be looked at
  int nodes = 9;

 private:
  static std::string line_of(const Action& action) {
    return std::string(to_text(action.kind)) + " " + action.subject.text();
  }
  fs::path file_;
  const Clock& clock_;
};

class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("faultline-controller-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    ASSERT_TRUE(catalog.ok()) << catalog.error().message;
    catalog_ = std::move(catalog).value();
    options_.mode = Mode::act;
    options_.limits = catalog_.policy().limits;
    options_.scheduler_poll = milliseconds{50};
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Nothing in these tests is about how long something takes: they wait until it is so.
  static bool eventually(const std::function<bool()>& holds) {
    const SystemClock clock;
    for (int i = 0; i < 600; ++i) {
      if (holds()) return true;
      clock.sleep(milliseconds{50});
    }
    return false;
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

  /// Runs a controller until `done`; the store and cluster stay.
  void run(const std::function<void(Controller&, FakeCluster&)>& act,
           const std::function<bool(Store&, FakeCluster&)>& done) {
    auto store = Store::open(folder_ / "faultline.db", Access::read_write);
    ASSERT_TRUE(store.ok());
    FakeCluster cluster(folder_ / "cluster", clock_);
    cluster.nodes = nodes_;
    Controller controller(catalog_, **store, cluster, cluster, nullptr, clock_, counters_,
                          options_);
    ASSERT_TRUE(controller.start().ok());
    act(controller, cluster);
    EXPECT_TRUE(eventually([&] { return done(**store, cluster); }));
    controller.stop();
  }

  fs::path folder_;
  SystemClock clock_;
  Counters counters_;
  Catalog catalog_;
  ControllerOptions options_;
  int nodes_ = 9;
};

TEST_F(ControllerTest, AKernelFaultDrainsItsNodeAndRequeuesItsJob) {
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [](Store& store, FakeCluster& cluster) {
        const auto states = store.node_states();
        return cluster.did("drain_node node:n3") && cluster.did("requeue_excluding job:7") &&
               store.open_intents()->empty() && states && !states->empty() &&
               states->front().phase == NodePhase::drained;
      });
}

TEST_F(ControllerTest, ASilencedNodeIsLeftAloneUntilAPersonEndsIt) {
  options_.limits.drained_share_max = 0.5;  // of nine nodes, two are drained in the end
  std::string silenced;
  run(
      [&](Controller& controller, FakeCluster&) {
        const auto answer = controller.operate("ann", "silence", "node:n3 2h new cable");
        ASSERT_TRUE(answer.ok());
        EXPECT_TRUE(answer->starts_with("silenced node:n3 until ")) << *answer;
        silenced = answer->substr(answer->rfind("s-"));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(controller.take_events("n2", {fell_off_bus("n2")}).ok());
      },
      [](Store& store, FakeCluster& cluster) {
        const auto decisions = store.decisions({});
        return cluster.did("drain_node node:n2") && decisions &&
               std::any_of(decisions->begin(), decisions->end(),
                           [](const Decision& d) { return d.reason == Reason::silenced; });
      });
  EXPECT_FALSE(FakeCluster(folder_ / "cluster", clock_).did("drain_node node:n3"));
  // A controller that starts anew knows of it, and the end of it is seen at once.
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        clock_.sleep(seconds{1});
        EXPECT_FALSE(cluster.did("drain_node node:n3"));
        EXPECT_EQ(*controller.operate("ann", "unsilence", silenced),
                  "ended " + silenced + " on node:n3");
        EXPECT_TRUE(
            controller.operate("ann", "unsilence", silenced)->starts_with("not found: no silence"));
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, WhatIsAskedOfSomethingUnknownIsNotFound) {
  run(
      [&](Controller& controller, FakeCluster&) {
        for (const auto& [request, target] :
             std::map<std::string, std::string>{{"approve", "d-0000000000000000"},
                                                {"deny", "d-0000000000000000"},
                                                {"return", "n33"},
                                                {"silence", "n33 2h x"},
                                                {"unsilence", "s-99"}}) {
          const auto answer = controller.operate("ann", request, target);
          ASSERT_TRUE(answer.ok());
          EXPECT_TRUE(answer->starts_with("not found: ")) << request << ": " << *answer;
          EXPECT_NE(answer->find("`faultline "), std::string::npos) << "what to do: " << *answer;
        }
        EXPECT_TRUE(controller.operate("ann", "silence", "n3 9d x")->starts_with("refused: "));
      },
      [](Store& store, FakeCluster&) { return store.open_requests()->empty(); });
}

TEST_F(ControllerTest, AReplacedStoreStopsActsAndIsReported) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        fs::rename(folder_ / "faultline.db", folder_ / "away.db");
        EXPECT_FALSE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] { return !controller.health().store_writable; }));
        EXPECT_NE(controller.health().store_error.find("restart"), std::string::npos);
        fs::rename(folder_ / "away.db", folder_ / "faultline.db");
        EXPECT_FALSE(cluster.did("drain_node node:n3"));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, TheSameLineSentTwiceIsOneAct) {
  const Event event = fell_off_bus("n3");
  run(
      [&](Controller& controller, FakeCluster&) {
        EXPECT_TRUE(controller.take_events("n3", {event}).ok());
        EXPECT_TRUE(controller.take_events("n3", {event}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("requeue_excluding job:7"); });
  EXPECT_EQ(counters_.get("controller_duplicate_events_total"), 1u);
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_EQ(cluster.times("drain_node node:n3"), 1);
}

TEST_F(ControllerTest, AnAgentThatSpeaksForAnotherNodeIsNotHeard) {
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n5", {fell_off_bus("n3")}).ok()); },
      [&](Store&, FakeCluster&) { return counters_.get("controller_foreign_events_total") == 1; });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

TEST_F(ControllerTest, ObserveDoesNothingAndSaysWhatItWouldDo) {
  options_.mode = Mode::observe;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [](Store& store, FakeCluster&) {
        const auto decisions = store.decisions({});
        return decisions &&
               std::any_of(decisions->begin(), decisions->end(), [](const Decision& decision) {
                 return decision.action.kind == ActionKind::drain_node &&
                        decision.reason == Reason::mode_observe;
               });
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

TEST_F(ControllerTest, FiftyNodesThatSayTheSameInAMinuteAreNotDrained) {
  nodes_ = 60;
  run(
      [&](Controller& controller, FakeCluster&) {
        for (int i = 1; i <= 50; ++i) {
          const std::string node = "n" + std::to_string(i);
          EXPECT_TRUE(controller.take_events(node, {fell_off_bus(node, i)}).ok());
        }
      },
      [](Store& store, FakeCluster&) {
        const auto verdicts = store.verdicts({});
        return verdicts && verdicts->size() >= 50;
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  int drained = 0;
  for (int i = 1; i <= 50; ++i) drained += cluster.times("drain_node node:n" + std::to_string(i));
  EXPECT_LE(drained, options_.limits.drained_at_once_max);
}

TEST_F(ControllerTest, ASchedulerThatIsDownIsWaitedForAndThenActedOn) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.down = true;
        EXPECT_TRUE(eventually([&] { return !controller.health().scheduler_answers; }));
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        cluster.down = false;
      },
      [](Store&, FakeCluster& cluster) { return cluster.did("drain_node node:n3"); });
}

TEST_F(ControllerTest, ADrainOutlivesASchedulerThatRefusesForAWhile) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        cluster.refuse = true;
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok());
        EXPECT_TRUE(eventually([&] {
          return counters_.get("controller_actions_failed_total") > 0;
        }));  // it gave up once
        cluster.refuse = false;
      },
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("drain_node node:n3") && store.open_intents()->empty();
      });
}

TEST_F(ControllerTest, AReturnedNodeIsDrainedAgainWhenItFailsAgain) {
  run(
      [&](Controller& controller, FakeCluster& cluster) {
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3", 1)}).ok());
        EXPECT_TRUE(eventually([&] { return cluster.did("drain_node node:n3"); }));
        // The answer depends on when the view shows the drain; a person asks again.
        EXPECT_TRUE(eventually([&] {
          const auto answer = controller.operate("ann", "return", "n3");
          return answer && answer->starts_with("act");
        }));
        EXPECT_TRUE(eventually([&] { return cluster.did("return_node node:n3"); }));
        clock_.sleep(milliseconds{300});  // the second fault comes after the return, not with it
        EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3", 2)}).ok());
      },
      [](Store&, FakeCluster& cluster) { return cluster.times("drain_node node:n3") == 2; });
}

TEST_F(ControllerTest, APersonsDenialHolds) {
  options_.limits.approval_needed = {ActionKind::drain_node};
  const auto asked = [&](Store& store) -> std::string {
    const auto decisions = store.decisions({});
    for (const auto& decision : *decisions) {
      if (decision.action.kind == ActionKind::drain_node && decision.ruling == Ruling::ask)
        return decision.id;
    }
    return {};
  };
  std::string id;
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.take_events("n3", {fell_off_bus("n3")}).ok()); },
      [&](Store& store, FakeCluster&) { return !(id = asked(store)).empty(); });
  run([&](Controller& controller,
          FakeCluster&) { EXPECT_TRUE(controller.operate("ann", "deny", id).ok()); },
      [&](Store& store, FakeCluster&) {
        return store.decision(id).value()->reason == Reason::denied_by_person;
      });
  options_.limits.approval_needed.clear();
  run([&](Controller&, FakeCluster&) { clock_.sleep(seconds{2}); },
      [](Store&, FakeCluster&) { return true; });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_FALSE(cluster.did("drain_node node:n3"));
}

/// A store that kills its process in front of, or right after, one of its writes.
enum class Kill {
  before_decision,
  after_decision,
  before_intent,
  after_intent,
  before_act,
  after_act,
  after_outcome
};

class KillingJournalStore final : public Store {
 public:
  KillingJournalStore(std::unique_ptr<Store> store, Kill kill)
      : store_(std::move(store)), kill_(kill) {}
  void at(Kill here) const {
    if (here == kill_) ::_exit(9);
  }
  Status put_decision(const Decision& d) override {
    at(Kill::before_decision);
    auto status = store_->put_decision(d);
    at(Kill::after_decision);
    return status;
  }
  Status record_intent(const Action& a, Instant now) override {
    at(Kill::before_intent);
    auto status = store_->record_intent(a, now);
    at(Kill::after_intent);
    return status;
  }
  Status record_outcome(const Outcome& o) override {
    auto status = store_->record_outcome(o);
    at(Kill::after_outcome);
    return status;
  }
  Result<std::vector<Event>> append_events(const std::vector<Event>& e) override {
    return store_->append_events(e);
  }
  Result<std::optional<Event>> event(const EventId& i) override { return store_->event(i); }
  Result<std::vector<Event>> events(const Page& p) override { return store_->events(p); }
  Result<std::vector<Event>> events_of_attempt(const AttemptId& a, const Page& p) override {
    return store_->events_of_attempt(a, p);
  }
  Status put_verdict(const Verdict& v) override { return store_->put_verdict(v); }
  Result<std::optional<Verdict>> verdict(const VerdictId& i) override { return store_->verdict(i); }
  Result<std::vector<Verdict>> verdicts(const Page& p) override { return store_->verdicts(p); }
  Result<std::vector<Verdict>> verdict_history(const VerdictId& i) override {
    return store_->verdict_history(i);
  }
  Result<std::optional<Decision>> decision(const DecisionId& i) override {
    return store_->decision(i);
  }
  Result<std::vector<Decision>> decisions(const Page& p) override { return store_->decisions(p); }
  Result<std::vector<Decision>> decisions_of_verdict(const VerdictId& v) override {
    return store_->decisions_of_verdict(v);
  }
  Result<std::vector<Action>> open_intents() override { return store_->open_intents(); }
  Result<std::optional<ActionRecord>> action(const ActionId& i) override {
    return store_->action(i);
  }
  Result<std::vector<ActionRecord>> actions(const Page& p) override { return store_->actions(p); }
  Status put_attempt(const Attempt& a) override { return store_->put_attempt(a); }
  Result<std::vector<Attempt>> attempts(const Page& p) override { return store_->attempts(p); }
  Status put_node_state(const NodeState& s) override { return store_->put_node_state(s); }
  Result<std::vector<NodeState>> node_states() override { return store_->node_states(); }
  Result<std::vector<NodeState>> node_history(const std::string& n) override {
    return store_->node_history(n);
  }
  Status put_incident(const Incident& i) override { return store_->put_incident(i); }
  Result<std::vector<Incident>> incidents(const Page& p) override { return store_->incidents(p); }
  Result<std::int64_t> put_request(const PersonRequest& r) override {
    return store_->put_request(r);
  }
  Result<std::vector<PersonRequest>> open_requests() override { return store_->open_requests(); }
  Result<std::vector<PersonRequest>> requests(const Page& p) override {
    return store_->requests(p);
  }
  Status answer_request(std::int64_t n, const std::string& a) override {
    return store_->answer_request(n, a);
  }
  Result<std::optional<PersonRequest>> request(std::int64_t n) override {
    return store_->request(n);
  }
  Status put_value(const std::string& n, const std::string& v) override {
    return store_->put_value(n, v);
  }
  Result<std::optional<std::string>> value(const std::string& n) override {
    return store_->value(n);
  }
  Result<std::uint64_t> retain(Instant n, Duration k) override { return store_->retain(n, k); }
  Status backup(const fs::path& t) override { return store_->backup(t); }

 private:
  std::unique_ptr<Store> store_;
  Kill kill_;
};

class KilledController : public ControllerTest, public ::testing::WithParamInterface<Kill> {
 protected:
  void SetUp() override {
    ControllerTest::SetUp();
    folder_ += "-killed";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  /// Lives in a child process until it is killed.
  [[noreturn]] void life_that_is_cut_short() {
    KillingJournalStore store(Store::open(folder_ / "faultline.db", Access::read_write).value(),
                              GetParam());
    FakeCluster cluster(folder_ / "cluster", clock_);
    cluster.before_execute = [&](const Action&) { store.at(Kill::before_act); };
    cluster.after_execute = [&](const Action&) { store.at(Kill::after_act); };
    Controller controller(catalog_, store, cluster, cluster, nullptr, clock_, counters_, options_);
    if (!controller.start().ok() || !controller.take_events("n3", {fell_off_bus("n3")}).ok())
      ::_exit(1);
    clock_.sleep(seconds{30});
    ::_exit(2);
  }
};

TEST_P(KilledController, NeitherLosesNorRepeatsAnAct) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) life_that_is_cut_short();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 9) << "the controller was not killed where it should have been";
  run([](Controller&, FakeCluster&) {},
      [](Store& store, FakeCluster& cluster) {
        return cluster.did("drain_node node:n3") && cluster.did("requeue_excluding job:7") &&
               store.open_intents()->empty();
      });
  FakeCluster cluster(folder_ / "cluster", clock_);
  EXPECT_EQ(cluster.times("drain_node node:n3"), 1);
  EXPECT_EQ(cluster.times("requeue_excluding job:7"), 1);
}

TEST_P(KilledController, AndARestartInObserveDoesNothingMore) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) life_that_is_cut_short();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const auto acts = [&] {
    std::ifstream in(folder_ / "cluster");
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  const std::string before = acts();
  options_.mode = Mode::observe;
  run([&](Controller&, FakeCluster&) { clock_.sleep(seconds{1}); },
      [](Store&, FakeCluster&) { return true; });
  EXPECT_EQ(acts(), before);
}

INSTANTIATE_TEST_SUITE_P(EveryStep, KilledController,
                         ::testing::Values(Kill::before_decision, Kill::after_decision,
                                           Kill::before_intent, Kill::after_intent,
                                           Kill::before_act, Kill::after_act, Kill::after_outcome));

}  // namespace
}  // namespace faultline
