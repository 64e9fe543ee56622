// Two lives of a controller on one store: what the first one saw of the nodes is where the second
// one goes on from.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "controller/controller.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class FakeCluster final : public Scheduler, public Actuator {
 public:
  FakeCluster(const Clock& clock, std::set<std::string> down)
      : clock_(clock), down_(std::move(down)) {}
  Result<ClusterView> view() override {
    ClusterView view;
    view.taken_at = clock_.now();
    for (const std::string name : {"n1", "n2", "n3"}) {
      SchedulerNode& node = view.nodes[name];
      node.name = name;
      node.down = down_.contains(name);
      node.available = !node.down;
    }
    return view;
  }
  Result<Outcome> execute(const Action& action) override { return inspect(action); }
  Result<Outcome> inspect(const Action&) override {
    return Error{ErrorCode::unavailable, "nothing is done here"};
  }

 private:
  const Clock& clock_;
  std::set<std::string> down_;
};

TEST(ResumeWatch, ALossWhileTheControllerWasAwayIsReportedOnceAndWhatWasDownIsNot) {
  const fs::path path =
      fs::temp_directory_path() / ("faultline-resume-" + std::to_string(::getpid()) + ".db");
  auto store = Store::open(path, Access::read_write);
  ASSERT_TRUE(store.ok());
  const SystemClock clock;
  const Catalog catalog;
  Counters counters;
  const auto live = [&](std::set<std::string> down, const std::function<bool()>& done) {
    FakeCluster cluster(clock, std::move(down));
    ControllerOptions options;
    options.scheduler_poll = milliseconds{20};
    Controller controller(catalog, **store, cluster, cluster, nullptr, clock, counters, options);
    ASSERT_TRUE(controller.start().ok());
    for (int i = 0; i < 600 && !done(); ++i) clock.sleep(milliseconds{50});
    EXPECT_TRUE(done());
    controller.stop();
  };
  const auto seen = [&] { return (*store)->events({1000, {}}).value(); };
  const auto seen_at = [&] {
    return (*store)->value("scheduler.nodes_seen_at").value().value_or("");
  };

  live({"n2"}, [&] { return !seen_at().empty(); });
  EXPECT_TRUE(seen().empty()) << "n2 was down at first sight";
  const std::string last_view = seen_at();
  live({"n1", "n2"}, [&] { return !seen().empty(); });
  live({"n1", "n2"}, [&, before = seen_at()] { return seen_at() != before; });
  ASSERT_EQ(seen().size(), 1U);
  EXPECT_EQ(seen()[0].subject, Subject::of_node("n1"));
  EXPECT_EQ(to_text(seen()[0].observed_at), last_view);
  fs::remove(path);
}

}  // namespace
}  // namespace faultline
