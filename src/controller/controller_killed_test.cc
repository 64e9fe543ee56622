// A controller that is killed at every step between a decision and its outcome, and its next life.
#include <sys/wait.h>

#include "controller/controller_fixture.h"
#include "controller/forwarding_store.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

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

class KillingJournalStore final : public ForwardingStore {
 public:
  KillingJournalStore(Store& store, Kill kill) : ForwardingStore(store), kill_(kill) {}
  void at(Kill here) const {
    if (here == kill_) ::_exit(9);
  }
  Status put_decision(const Decision& d) override {
    at(Kill::before_decision);
    auto status = store_.put_decision(d);
    at(Kill::after_decision);
    return status;
  }
  Status record_intent(const Action& a, Instant now) override {
    at(Kill::before_intent);
    auto status = store_.record_intent(a, now);
    at(Kill::after_intent);
    return status;
  }
  Status record_outcome(const Outcome& o) override {
    auto status = store_.record_outcome(o);
    at(Kill::after_outcome);
    return status;
  }

 private:
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
    const auto real = Store::open(folder_ / "faultline.db", Access::read_write);
    KillingJournalStore store(**real, GetParam());
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
