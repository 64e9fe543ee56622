// The verbs as people type them, without a controller; what a controller makes of it is tested in
// src/adapters/local.
#include "apps/local_command.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/local/local_cluster.h"
#include "adapters/local/local_inbox.h"
#include "adapters/local/state_folder.h"
#include "apps/output.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class LocalCommandTest : public testing::Test {
 protected:
  LocalCommandTest() {
    std::string pattern = (fs::temp_directory_path() / "local-command-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    state_ = (root_ / "state").string();
  }
  ~LocalCommandTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  /// faultline local VERB --state ... ARGUMENTS; its output is in out_ and err_.
  int local(const std::string& verb, const std::vector<std::string>& arguments) {
    CLI::App app("faultline");
    app.require_subcommand(1);
    LocalCommandOptions options;
    add_local_command(app, options);
    std::vector<std::string> words{"local", verb};
    if (state_ != not_given) words.insert(words.end(), {"--state", state_});
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = exit_usage;
    try {
      app.parse(words);
      code = local_main(*app.get_subcommands().front(), options);
    } catch (const CLI::ParseError& error) {
      app.exit(error);
    }
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  nlohmann::json json() { return nlohmann::json::parse(out_); }

  static constexpr const char* not_given = "(no --state)";
  fs::path root_;
  std::string state_;
  std::string out_;
  std::string err_;
};

TEST_F(LocalCommandTest, InitMakesNodesAndSpares) {
  ASSERT_EQ(local("init", {"--nodes", "n[1-3]", "--spares", "1"}), exit_ok);
  ASSERT_EQ(local("nodes", {"--json"}), exit_ok);
  const auto nodes = json()["nodes"];
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0]["name"], "n1");
  EXPECT_EQ(nodes[0]["spare"], false);
  EXPECT_EQ(nodes[2]["spare"], true);
  EXPECT_EQ(nodes[2]["drained"], false);
  EXPECT_EQ(local("init", {"--nodes", "n1"}), exit_failed);
  EXPECT_THAT(err_, HasSubstr("already"));
  EXPECT_EQ(fs::status(state_).permissions(), fs::perms::owner_all);
}

TEST_F(LocalCommandTest, InitRefusesBadNodes) {
  EXPECT_EQ(local("init", {"--nodes", "n1,n1"}), exit_usage);
  EXPECT_EQ(local("init", {"--nodes", "n1,../x"}), exit_usage);
  EXPECT_EQ(local("init", {"--nodes", "n1", "--spares", "2"}), exit_usage);
  EXPECT_EQ(local("queue", {}), exit_not_found);
}

TEST_F(LocalCommandTest, ABadListOfNodesIsWrongUsageAndMakesNothing) {
  for (const char* nodes : {"", ",", "n[5-1]", "n[1-1000000]", "n[1-", "n[1-2", "n1, n2", " "}) {
    EXPECT_EQ(local("init", {"--nodes", nodes}), exit_usage) << nodes;
    EXPECT_THAT(err_, HasSubstr("for instance n1,n2 or n[1-6]")) << nodes;
  }
  for (const char* spares : {"-1", "1.5", "65537", "0x1"})
    EXPECT_EQ(local("init", {"--nodes", "n1", "--spares", spares}), exit_usage) << spares;
  EXPECT_FALSE(fs::exists(state_));
}

TEST_F(LocalCommandTest, TheOptionWinsOverTheVariable) {
  ASSERT_EQ(local("init", {"--nodes", "n1"}), exit_ok);
  const std::string other = (root_ / "other").string();
  ASSERT_EQ(::setenv("FAULTLINE_LOCAL_STATE", other.c_str(), 1), 0);
  EXPECT_EQ(local("nodes", {}), exit_ok) << err_;  // the folder of --state
  state_ = "";
  EXPECT_EQ(local("nodes", {}), exit_usage) << "an empty --state is none, and no other";
  state_ = other;
  EXPECT_EQ(local("nodes", {}), exit_not_found);
  ASSERT_EQ(::setenv("FAULTLINE_LOCAL_STATE", (root_ / "state").c_str(), 1), 0);
  state_ = not_given;
  EXPECT_EQ(local("nodes", {}), exit_ok) << err_;
  ASSERT_EQ(::unsetenv("FAULTLINE_LOCAL_STATE"), 0);
  EXPECT_EQ(local("nodes", {}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("FAULTLINE_LOCAL_STATE"));
}

TEST_F(LocalCommandTest, AFileIsNoStateFolder) {
  state_ = (root_ / "file").string();
  ASSERT_TRUE(write_small_file(state_, "", false).ok());
  EXPECT_EQ(local("nodes", {}), exit_usage);
  EXPECT_EQ(local("init", {"--nodes", "n1"}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("is a file; a folder is expected"));
  ASSERT_EQ(::setenv("FAULTLINE_LOCAL_STATE", state_.c_str(), 1), 0);
  state_ = not_given;
  EXPECT_EQ(local("nodes", {}), exit_usage);
  ASSERT_EQ(::unsetenv("FAULTLINE_LOCAL_STATE"), 0);
}

TEST_F(LocalCommandTest, SubmitPrintsTheNumberAndKeepsEveryArgument) {
  ASSERT_EQ(local("init", {"--nodes", "n1,n2"}), exit_ok);
  ASSERT_EQ(
      local("submit", {"--nodes", "2", "--", "run", "[a,b]", "--json", "--", "", "-x", "local"}),
      exit_ok)
      << err_;
  EXPECT_EQ(out_, "1\n");
  ASSERT_EQ(local("submit", {"--array=1-2%1", "--name", "sweep", "--", "true"}), exit_ok);
  EXPECT_EQ(out_, "2\n");
  const auto entries = LocalInbox(StateFolder(state_)).read([](auto&, auto&) { ADD_FAILURE(); });
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_THAT(entries[0].request.argv,
              ElementsAre("run", "[a,b]", "--json", "--", "", "-x", "local"));
  EXPECT_EQ(entries[0].request.directory, fs::current_path());
  // Shown before a controller has taken them.
  ASSERT_EQ(local("queue", {"--json"}), exit_ok);
  const auto jobs = json()["jobs"];
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0]["job"], "1");
  EXPECT_EQ(jobs[0]["state"], "pending");
  EXPECT_EQ(jobs[2]["job"], "2_2");
  EXPECT_EQ(jobs[2]["name"], "sweep");
  EXPECT_TRUE(jobs[2]["exit_code"].is_null());
}

TEST_F(LocalCommandTest, SubmitRefusesWhatCannotRun) {
  ASSERT_EQ(local("init", {"--nodes", "n1,n2"}), exit_ok);
  EXPECT_EQ(local("submit", {"--nodes", "3", "--", "true"}), exit_usage);
  EXPECT_EQ(local("submit", {"--nodes", "0", "--", "true"}), exit_usage);
  EXPECT_EQ(local("submit", {"--array", "3-1", "--", "true"}), exit_usage);
  EXPECT_EQ(local("submit", {}), exit_usage);
  EXPECT_TRUE(LocalInbox(StateFolder(state_)).read([](auto&, auto&) {}).empty());
}

TEST_F(LocalCommandTest, RequestsAreAnsweredByAController) {
  ASSERT_EQ(local("init", {"--nodes", "n1,n2"}), exit_ok);
  const SystemClock clock;
  Counters counters;
  LocalOptions options;
  options.state = state_;
  LocalCluster cluster(options, clock, counters);
  std::atomic<bool> stop = false;
  std::thread controller([&] {
    while (!stop) {
      EXPECT_TRUE(cluster.view());
      clock.sleep(std::chrono::milliseconds{20});
    }
  });
  EXPECT_EQ(local("drain", {"n1", "--reason", "new cable"}), exit_ok) << err_;
  EXPECT_EQ(local("nodes", {"--json"}), exit_ok);
  EXPECT_EQ(json()["nodes"][0]["drain_reason"], "new cable");
  EXPECT_NE(json()["nodes"][0]["drain_owner"], "faultline");
  EXPECT_EQ(local("drain", {"n9", "--reason", "x"}), exit_not_found);
  EXPECT_EQ(local("drain", {"n2", "--reason", "faultline:a-1 mine"}), exit_usage);
  EXPECT_EQ(local("resume", {"n1"}), exit_ok);
  EXPECT_EQ(local("cancel", {"77"}), exit_not_found);
  EXPECT_EQ(local("cancel", {"../77"}), exit_usage);
  stop = true;
  controller.join();
  EXPECT_FALSE(cluster.view()->node("n1")->drained);
}

}  // namespace
}  // namespace faultline
