// Real processes: jobs, their keepers, controllers that come and go. The test program is its own
// keeper (see main below).
#include "adapters/local/local_cluster.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "adapters/local/attempt_files.h"
#include "adapters/local/local_inbox.h"
#include "adapters/local/local_keeper.h"
#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Duration wait_max = std::chrono::seconds{60};  // the machine may be busy

class LocalClusterTest : public testing::Test {
 protected:
  LocalClusterTest() {
    std::string pattern = (fs::temp_directory_path() / "local-cluster-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    folder_.emplace(root_ / "state");
    std::vector<LocalNode> nodes;
    for (int i = 1; i <= 4; ++i) nodes.push_back({"n" + std::to_string(i), i == 4, false, "", ""});
    EXPECT_TRUE(folder_->create(nodes));
    serve();
  }
  ~LocalClusterTest() override {
    // No job of a failed test goes on.
    cluster_.reset();
    for (const auto& entry : fs::directory_iterator(folder_->jobs())) {
      if (entry.path().extension() != ".run") continue;
      const auto run = parse_run_file(read(entry.path()));
      if (run && run->command) signal_group(*run->command, SIGKILL);
    }
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  /// A new controller on the folder; the old one is gone.
  void serve() {
    cluster_.reset();
    LocalOptions options;
    options.state = folder_->root().string();
    options.grace = std::chrono::milliseconds{500};
    options.test_command = {"/bin/sh", "-c",
                            "echo node $FAULTLINE_NODE; test $FAULTLINE_NODE = n1"};
    cluster_.emplace(options, clock_, counters_);
  }

  std::string submit(const std::string& script, std::uint32_t nodes = 2, ArraySpec array = {}) {
    LocalRequest request;
    request.job = std::to_string(folder_->next_job(0).value());
    request.by = "ann";
    request.node_count = nodes;
    request.array = std::move(array);
    request.argv = {"/bin/sh", "-c", script};
    request.environment = {"OWN=mine", "WORK=" + root_.string()};
    request.directory = root_.string();
    EXPECT_TRUE(leave_request(*folder_, request, clock_.now()));
    return request.job;
  }
  void cancel(const std::string& job) {
    LocalRequest request;
    request.kind = LocalRequestKind::cancel;
    request.by = "ann";
    request.job = job;
    EXPECT_TRUE(leave_request(*folder_, request, clock_.now()));
  }

  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Attempt attempt(const std::string& job, std::uint32_t restart = 0) {
    const auto view = cluster_->view();
    if (!view) {
      ADD_FAILURE() << view.error().message;
      return {};
    }
    const auto* found = view->attempt({job, restart});
    return found != nullptr ? *found : Attempt{};
  }
  AttemptState state_of(const std::string& job, std::uint32_t restart = 0) {
    return attempt(job, restart).state;
  }

  testing::AssertionResult wait_for(const std::function<bool()>& condition) {
    const Duration until = clock_.monotonic() + wait_max;
    while (!condition()) {
      if (clock_.monotonic() > until) return testing::AssertionFailure() << "it never came";
      clock_.sleep(std::chrono::milliseconds{20});
    }
    return testing::AssertionSuccess();
  }
  testing::AssertionResult wait_for_state(const std::string& job, AttemptState state,
                                          std::uint32_t restart = 0) {
    auto seen = wait_for([&] { return state_of(job, restart) == state; });
    if (seen) return seen;
    seen << "; the state: " << read(folder_->state_file());
    for (const auto* suffix : {"out", "run", "exit"}) {
      seen << suffix << ": " << read(folder_->attempt_file(job, restart, suffix)) << "\n";
    }
    return seen;
  }
  bool exists(const std::string& name) const { return fs::exists(root_ / name); }

  RunFile run_file(const std::string& job) {
    RunFile run;
    EXPECT_TRUE(wait_for([&] {
      const auto parsed = parse_run_file(read(folder_->attempt_file(job, 0, "run")));
      if (!parsed || !parsed->command) return false;
      run = *parsed;
      return true;
    }));
    return run;
  }

  static Action act(ActionKind kind, const std::string& node,
                    const std::string& id = "a-0000000000000001") {
    Action action;
    action.id = id;
    action.kind = kind;
    action.subject = Subject::of_node(node);
    action.reason = "faultline:" + id + " gpu.ecc_uncorrectable";
    action.dry_run = false;
    return action;
  }
  static Action requeue(const std::string& job, std::uint32_t restart,
                        std::vector<std::string> nodes) {
    Action action = act(ActionKind::requeue_excluding, "n1", "a-0000000000000002");
    action.subject = Subject::of_job(job);
    action.attempt = AttemptId{job, restart};
    action.nodes = std::move(nodes);
    return action;
  }

  SystemClock clock_;
  Counters counters_;
  fs::path root_;
  std::optional<StateFolder> folder_;
  std::optional<LocalCluster> cluster_;
};

TEST_F(LocalClusterTest, AJobRunsInItsFolderWithItsNames) {
  const auto job = submit(
      "echo $FAULTLINE_JOB/$FAULTLINE_RESTART/$FAULTLINE_NODES/$OWN; pwd; echo wrong >&2; exit 3");
  ASSERT_TRUE(wait_for_state(job, AttemptState::failed));
  const auto ended = attempt(job);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_GE(ended.ended_at, ended.started_at);
  EXPECT_EQ(read(folder_->attempt_file(job, 0, "out")),
            job + "/0/n1,n2/mine\n" + root_.string() + "\nwrong\n");
  const auto good = submit("true");
  ASSERT_TRUE(wait_for_state(good, AttemptState::completed));
  EXPECT_EQ(attempt(good).exit_code, 0);
}

TEST_F(LocalClusterTest, AJobThatCannotStartSaysWhy) {
  LocalRequest request;
  request.job = "50";
  request.argv = {"/no/such/program"};
  request.directory = "/";
  ASSERT_TRUE(leave_request(*folder_, request, clock_.now()));
  ASSERT_TRUE(wait_for_state("50", AttemptState::failed));
  EXPECT_EQ(attempt("50").exit_code, 127);
  EXPECT_THAT(read(folder_->attempt_file("50", 0, "out")), HasSubstr("/no/such/program"));
}

TEST_F(LocalClusterTest, AProgramIsLookedUpInTheJobsOwnPath) {
  fs::create_directory(root_ / "tools");
  fs::copy_file("/bin/true", root_ / "tools/only-here");
  LocalRequest request;
  request.job = "51";
  request.argv = {"only-here"};
  request.directory = "/";
  request.environment = {"PATH=" + (root_ / "tools").string()};
  ASSERT_TRUE(leave_request(*folder_, request, clock_.now()));
  request.job = "52";
  request.environment = {};
  ASSERT_TRUE(leave_request(*folder_, request, clock_.now()));
  ASSERT_TRUE(wait_for_state("51", AttemptState::completed));
  ASSERT_TRUE(wait_for_state("52", AttemptState::failed));
  EXPECT_EQ(attempt("52").exit_code, 127);
}

TEST_F(LocalClusterTest, ARequeueStopsTheJobAndKeepsThePlaces) {
  // It ignores SIGTERM, and so does its child in a process group of its own: both must be gone
  // nevertheless.
  const auto job = submit(
      "trap '' TERM; [ $FAULTLINE_RESTART = 1 ] && exit 0; setsid sleep 1000 & touch up; "
      "while :; do sleep 0.1; done",
      3);
  ASSERT_TRUE(wait_for([&] { return state_of(job) == AttemptState::running && exists("up"); }));
  EXPECT_THAT(attempt(job).nodes, ElementsAre("n1", "n2", "n3"));
  const auto run = run_file(job);
  ASSERT_TRUE(cluster_->execute(act(ActionKind::drain_node, "n2")));
  const auto outcome = cluster_->execute(requeue(job, 0, {"n2"}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, OutcomeStatus::done) << outcome->detail;
  EXPECT_THAT(outcome->commands,
              ElementsAre("local: exclude " + job + " nodes=n2", "local: requeue " + job));
  EXPECT_FALSE(group_alive(*run.command));
  EXPECT_EQ(state_of(job), AttemptState::requeued);
  EXPECT_EQ(attempt(job).exit_code, 137);
  ASSERT_TRUE(wait_for_state(job, AttemptState::completed, 1));
  EXPECT_THAT(attempt(job, 1).nodes, ElementsAre("n1", "n4", "n3"));
  EXPECT_THAT(attempt(job, 1).excluded_nodes, ElementsAre("n2"));
  EXPECT_EQ(cluster_->inspect(requeue(job, 0, {"n2"}))->status, OutcomeStatus::done);
  // The same action again changes nothing.
  const auto again = cluster_->execute(requeue(job, 0, {"n2"}));
  EXPECT_EQ(again->status, OutcomeStatus::done);
  EXPECT_THAT(again->commands, testing::IsEmpty());
  EXPECT_EQ(state_of(job, 2), AttemptState::unknown);
}

TEST_F(LocalClusterTest, AnotherControllerFindsTheJobAndItsEnd) {
  const auto job = submit("touch up; while ! [ -e go ]; do sleep 0.05; done; exit 7");
  ASSERT_TRUE(wait_for([&] { return state_of(job) == AttemptState::running && exists("up"); }));
  serve();
  EXPECT_EQ(state_of(job), AttemptState::running);
  cluster_.reset();
  std::ofstream(root_ / "go") << "";
  ASSERT_TRUE(wait_for([&] { return fs::exists(folder_->attempt_file(job, 0, "exit")); }));
  serve();
  EXPECT_EQ(state_of(job), AttemptState::failed);
  EXPECT_EQ(attempt(job).exit_code, 7);
  EXPECT_EQ(counters_.get("local_attempts_started_total"), 1U);
}

TEST_F(LocalClusterTest, AKilledJobHasASignalsExitCode) {
  const auto job = submit("kill -KILL $$");
  ASSERT_TRUE(wait_for_state(job, AttemptState::failed));
  EXPECT_EQ(attempt(job).exit_code, 137);
}

TEST_F(LocalClusterTest, AKilledKeeperTakesTheJobWithIt) {
  const auto job = submit("exec sleep 1000");
  ASSERT_TRUE(wait_for_state(job, AttemptState::running));
  const auto run = run_file(job);
  ::kill(static_cast<pid_t>(run.keeper.pid), SIGKILL);
  ASSERT_TRUE(wait_for_state(job, AttemptState::failed));
  EXPECT_EQ(attempt(job).exit_code, std::nullopt);
  EXPECT_TRUE(wait_for([&] { return !group_alive(*run.command); }));
  EXPECT_EQ(counters_.get("local_exit_codes_lost_total"), 1U);
}

/// The state says running, and no keeper was started: what a crash between the two leaves.
TEST_F(LocalClusterTest, ACrashBeforeTheStartStartsItOnce) {
  const auto job = submit("echo once >>begun; while ! [ -e go ]; do sleep 0.05; done");
  ASSERT_TRUE(wait_for([&] { return state_of(job) == AttemptState::running && exists("begun"); }));
  cluster_.reset();
  // First: the keeper runs, but was not written down. Its claim tells.
  auto state = folder_->load().value();
  state.task(job)->latest().keeper.reset();
  ASSERT_TRUE(folder_->save(state_text(state)));
  serve();
  EXPECT_EQ(state_of(job), AttemptState::running);
  EXPECT_EQ(counters_.get("local_attempts_adopted_total"), 1U);
  std::ofstream(root_ / "go") << "";
  ASSERT_TRUE(wait_for_state(job, AttemptState::completed));
  EXPECT_EQ(read(root_ / "begun"), "once\n");
  // Second: nothing runs.
  cluster_.reset();
  state = folder_->load().value();
  state.task(job)->latest().state = AttemptState::running;
  state.task(job)->latest().keeper.reset();
  ASSERT_TRUE(folder_->save(state_text(state)));
  for (const auto* suffix : {"run", "exit"}) fs::remove(folder_->attempt_file(job, 0, suffix));
  serve();
  ASSERT_TRUE(wait_for_state(job, AttemptState::completed));
  EXPECT_EQ(read(root_ / "begun"), "once\nonce\n");
}

TEST_F(LocalClusterTest, ACancelledJobIsEnded) {
  const auto job = submit("exec sleep 1000", 4);
  const auto next = submit("true", 4);
  ASSERT_TRUE(wait_for_state(job, AttemptState::running));
  EXPECT_EQ(state_of(next), AttemptState::pending);
  cancel(job);
  ASSERT_TRUE(wait_for_state(job, AttemptState::cancelled));
  ASSERT_TRUE(wait_for_state(next, AttemptState::completed));
}

TEST_F(LocalClusterTest, TasksOfAnArrayRunOneAfterAnother) {
  const auto job = submit(
      "mkdir alone && echo $FAULTLINE_JOB $FAULTLINE_ARRAY_TASK >>order && sleep 0.1 && rmdir "
      "alone",
      1, {{1, 2, 3}, 1});
  ASSERT_TRUE(wait_for_state(job + "_3", AttemptState::completed));
  EXPECT_EQ(read(root_ / "order"), job + "_1 1\n" + job + "_2 2\n" + job + "_3 3\n");
  EXPECT_EQ(state_of(job + "_1"), AttemptState::completed);
}

TEST_F(LocalClusterTest, DrainsAndReturnsItsOwnAlone) {
  EXPECT_EQ(cluster_->inspect(act(ActionKind::drain_node, "n2"))->retryable, true);
  ASSERT_TRUE(cluster_->execute(act(ActionKind::drain_node, "n2")));
  EXPECT_EQ(cluster_->inspect(act(ActionKind::drain_node, "n2"))->status, OutcomeStatus::done);
  const auto view = cluster_->view();
  EXPECT_TRUE(view->node("n2")->drained);
  EXPECT_FALSE(view->node("n2")->available);
  EXPECT_EQ(view->node("n2")->drain_owner, "faultline");
  EXPECT_EQ(view->node("n2")->drain_reason, "faultline:a-0000000000000001 gpu.ecc_uncorrectable");
  // Another action's return does not undo it.
  EXPECT_EQ(
      cluster_->execute(act(ActionKind::return_node, "n2", "a-0000000000000009")).error().code,
      ErrorCode::conflict);
  EXPECT_EQ(cluster_->execute(act(ActionKind::return_node, "n2"))->status, OutcomeStatus::done);
  EXPECT_FALSE(cluster_->view()->node("n2")->drained);
  EXPECT_EQ(cluster_->execute(act(ActionKind::drain_node, "n9")).error().code,
            ErrorCode::not_found);
  auto untagged = act(ActionKind::drain_node, "n2");
  untagged.reason = "because";
  EXPECT_EQ(cluster_->execute(untagged).error().code, ErrorCode::invalid_argument);
}

TEST_F(LocalClusterTest, LeavesAPersonsDrainAlone) {
  LocalRequest drain;
  drain.kind = LocalRequestKind::drain;
  drain.by = "ann";
  drain.node = "n2";
  drain.reason = "new cable";
  ASSERT_TRUE(leave_request(*folder_, drain, clock_.now()));
  ASSERT_TRUE(cluster_->view());
  const auto refused = cluster_->execute(act(ActionKind::drain_node, "n2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("ann"));
  EXPECT_EQ(cluster_->inspect(act(ActionKind::drain_node, "n2"))->retryable, false);
  EXPECT_EQ(cluster_->execute(act(ActionKind::return_node, "n2")).error().code,
            ErrorCode::conflict);
  EXPECT_EQ(cluster_->view()->node("n2")->drain_reason, "new cable");
}

TEST_F(LocalClusterTest, TestsWhatItDrainedOrWhatIsIdle) {
  const auto test = [&](const char* node) {
    return cluster_->execute(act(ActionKind::test_node, node)).value();
  };
  EXPECT_EQ(test("n1").status, OutcomeStatus::done) << "idle";
  for (const char* node : {"n1", "n2"})
    ASSERT_TRUE(cluster_->execute(act(ActionKind::drain_node, node)));
  EXPECT_EQ(test("n1").status, OutcomeStatus::done);
  EXPECT_THAT(test("n1").detail, HasSubstr("node n1"));
  EXPECT_EQ(test("n2").status, OutcomeStatus::failed);
  EXPECT_FALSE(test("n2").retryable);
  const auto job = submit("while ! [ -e go ]; do sleep 0.05; done", 1);
  ASSERT_TRUE(wait_for_state(job, AttemptState::running));
  EXPECT_TRUE(test("n3").retryable) << "a job runs on it";
  std::ofstream(root_ / "go") << "";
}

TEST_F(LocalClusterTest, AHeldJobWaits) {
  const auto blocker = submit("while ! [ -e go ]; do sleep 0.05; done", 4);
  const auto job = submit("true");
  ASSERT_TRUE(wait_for_state(blocker, AttemptState::running));
  auto hold = requeue(job, 0, {"n1"});
  hold.kind = ActionKind::hold_job;
  EXPECT_TRUE(cluster_->inspect(hold)->retryable);
  EXPECT_EQ(cluster_->execute(hold)->status, OutcomeStatus::done);
  std::ofstream(root_ / "go") << "";
  ASSERT_TRUE(wait_for_state(blocker, AttemptState::completed));
  EXPECT_EQ(state_of(job), AttemptState::pending);
  LocalRequest release;
  release.kind = LocalRequestKind::release;
  release.job = job;
  ASSERT_TRUE(leave_request(*folder_, release, clock_.now()));
  EXPECT_TRUE(wait_for_state(job, AttemptState::completed));
}

TEST_F(LocalClusterTest, ADryRunChangesNothing) {
  const std::string before = read(folder_->state_file());
  auto action = act(ActionKind::drain_node, "n2");
  action.dry_run = true;
  const auto outcome = cluster_->execute(action);
  EXPECT_THAT(
      outcome->commands,
      ElementsAre("local: drain n2 reason='faultline:a-0000000000000001 gpu.ecc_uncorrectable'"));
  EXPECT_EQ(read(folder_->state_file()), before);
}

TEST_F(LocalClusterTest, JunkInTheInboxIsPutAside) {
  std::ofstream(folder_->inbox() / "junk") << "\x01{";
  std::ofstream(folder_->inbox() / "1-evil") << R"({"kind":"submit","by":"x","job":"../../x"})";
  fs::create_directory(folder_->inbox() / "dir");
  fs::create_symlink("/etc/passwd", folder_->inbox() / "link");
  ASSERT_EQ(::mkfifo((folder_->inbox() / "fifo").c_str(), 0600), 0);
  std::ofstream(folder_->inbox() / "large") << std::string(request_bytes_max + 1, ' ');
  const auto job = submit("true");
  ASSERT_TRUE(wait_for_state(job, AttemptState::completed));
  EXPECT_EQ(counters_.get("local_requests_refused_total"), 6U);
  EXPECT_EQ(counters_.get("local_requests_taken_total"), 1U);
  EXPECT_TRUE(fs::exists(folder_->refused() / "junk"));
  EXPECT_THAT(read(folder_->refused() / "1-evil.why"), HasSubstr("'name'"));
  const auto left =
      std::distance(fs::directory_iterator(folder_->inbox()), fs::directory_iterator());
  EXPECT_EQ(left, 1);  // refused/ alone
}

TEST_F(LocalClusterTest, ARequestTakenTwiceIsOneJob) {
  const auto job = submit("true");
  const auto name = std::string("1-") + std::string(20 - job.size(), '0') + job;
  const auto text = read(folder_->inbox() / name);
  ASSERT_TRUE(wait_for_state(job, AttemptState::completed));
  std::ofstream(folder_->inbox() / name) << text;  // as after a crash before it was removed
  std::ofstream(folder_->inbox() / "other") << text.substr(0, text.size() - 1) << " \n";
  ASSERT_TRUE(cluster_->view());
  EXPECT_EQ(counters_.get("local_requests_taken_total"), 2U);
  EXPECT_EQ(counters_.get("local_requests_refused_total"), 1U);
  EXPECT_EQ(state_of(job), AttemptState::completed);
}

TEST_F(LocalClusterTest, OneFolderOneController) {
  ASSERT_TRUE(cluster_->open());
  LocalOptions options;
  options.state = folder_->root().string();
  LocalCluster second(options, clock_, counters_);
  EXPECT_EQ(second.open().error().code, ErrorCode::conflict);
  EXPECT_EQ(second.view().error().code, ErrorCode::conflict);
  cluster_.reset();
  EXPECT_TRUE(second.open());
}

TEST_F(LocalClusterTest, ADamagedStateIsAnErrorThatSaysWhatToDo) {
  std::ofstream(folder_->state_file()) << "{\"format\":1,";
  const auto view = cluster_->view();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::corrupt);
  EXPECT_THAT(view.error().message, HasSubstr("local init"));
  EXPECT_FALSE(cluster_->execute(act(ActionKind::drain_node, "n1")));
  fs::remove(folder_->state_file());
  EXPECT_EQ(cluster_->view().error().code, ErrorCode::not_found);
}

TEST_F(LocalClusterTest, JobNumbersAreNeverGivenTwice) {
  EXPECT_EQ(folder_->next_job(0).value(), 1U);
  EXPECT_EQ(folder_->next_job(0).value(), 2U);
  EXPECT_EQ(folder_->next_job(9).value(), 10U);
  std::ofstream(folder_->root() / "job_counter") << "junk";
  EXPECT_EQ(folder_->next_job(0).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace faultline

/// The keeper that LocalCluster starts is this program again.
int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "local-keeper") {
    const faultline::SystemClock clock;
    const faultline::StateFolder folder(argv[2]);
    return faultline::keep_job(folder, argv[3],
                               faultline::parse_number<std::uint32_t>(argv[4]).value_or(0), clock);
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
