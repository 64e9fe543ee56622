#include "adapters/process/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProcessResult run(const std::vector<std::string>& argv, const ProcessOptions& options = {}) {
  auto result = run_process(argv, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : ProcessResult{};
}

ProcessOptions with_deadline(Duration deadline) {
  ProcessOptions options;
  options.deadline = deadline;
  options.kill_grace = milliseconds{200};
  return options;
}

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds{10});
  }
  return false;
}

bool process_runs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  return file >> number >> name >> state && state != "Z";
}

TEST(RunProcess, ReturnsOutputErrorsAndExitCode) {
  const auto result = run({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(RunProcess, PassesHostileArgumentsAsPlainData) {
  const std::string hostile = "a;$(touch /tmp/x)`id`\"'\n*|&>";
  EXPECT_EQ(run({"printf", "%s", hostile}).out, hostile);
}

TEST(RunProcess, RefusesArgumentsThatCannotBePassed) {
  EXPECT_EQ(run_process({}, {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(run_process({"true", std::string("a\0b", 3)}, {}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(run_process({"true", std::string(argument_bytes_max + 1, 'x')}, {}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_TRUE(run_process({"true", std::string(argument_bytes_max, 'x')}, {}).ok());
}

TEST(RunProcess, SaysWhichProgramIsMissing) {
  const auto result = run_process({"/nonexistent/scontrol"}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
  EXPECT_NE(result.error().message.find("/nonexistent/scontrol"), std::string::npos);
  EXPECT_EQ(run_process({"/etc/passwd"}, {}).error().code, ErrorCode::permission_denied);
}

TEST(RunProcess, KillsTheWholeGroupAtTheDeadline) {
  // The grandchild keeps the pipe open and would live for a minute.
  const auto begin = std::chrono::steady_clock::now();
  const auto result =
      run({"sh", "-c", "sleep 60 & echo $!; wait"}, with_deadline(milliseconds{300}));
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{20});
  const pid_t grandchild = std::atoi(result.out.c_str());
  ASSERT_GT(grandchild, 1);
  EXPECT_TRUE(eventually([&] { return !process_runs(grandchild); }));
}

TEST(RunProcess, AskedToStopItEndsAsAtTheDeadline) {
  std::atomic<bool> stop = false;
  ProcessOptions options = with_deadline(std::chrono::hours{1});
  options.stop = &stop;
  EXPECT_FALSE(run({"true"}, options).timed_out);
  stop = true;
  const auto result = run({"sleep", "3600"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_GT(result.exit_code, 128);
}

TEST(RunProcess, KillsWhatIgnoresTheTermSignal) {
  const auto result =
      run({"sh", "-c", "trap '' TERM; sleep 60; sleep 60"}, with_deadline(milliseconds{200}));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
}

TEST(RunProcess, DoesNotWaitForWhatAChildLeavesBehind) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run({"sh", "-c", "sleep 60 & echo $!"}, with_deadline(seconds{50}));
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{30});
  const pid_t left = std::atoi(result.out.c_str());
  ASSERT_GT(left, 1);
  EXPECT_TRUE(eventually([&] { return !process_runs(left); }));
}

TEST(RunProcess, KeepsOutputUpToTheLimitAndStillEnds) {
  ProcessOptions options;
  options.output_bytes_max = 1000;
  const auto over = run({"sh", "-c", "head -c 500000 /dev/zero | tr '\\0' x"}, options);
  EXPECT_EQ(over.out, std::string(1000, 'x'));
  EXPECT_TRUE(over.truncated);
  EXPECT_EQ(over.exit_code, 0);
  const auto exact = run({"sh", "-c", "head -c 1000 /dev/zero | tr '\\0' x"}, options);
  EXPECT_EQ(exact.out.size(), 1000U);
  EXPECT_FALSE(exact.truncated);
}

TEST(RunProcess, ReadsBothStreamsWithoutDeadlock) {
  const auto result = run({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"});
  EXPECT_EQ(result.out.size(), 300000U);
  EXPECT_EQ(result.err.size(), 300000U);
}

TEST(RunProcess, StartsWithACleanEnvironment) {
  ::setenv("FAULTLINE_TEST_SECRET", "s", 1);
  ::setenv("FAULTLINE_TEST_KEPT", "kept", 1);
  ProcessOptions options;
  options.inherit = {"FAULTLINE_TEST_KEPT", "FAULTLINE_TEST_UNSET"};
  options.environment = {"EXTRA=1=2", "LANG=de"};
  const auto result = run({"env"}, options);
  EXPECT_EQ(result.out.find("SECRET"), std::string::npos);
  EXPECT_NE(result.out.find("FAULTLINE_TEST_KEPT=kept\n"), std::string::npos);
  EXPECT_NE(result.out.find("EXTRA=1=2\n"), std::string::npos);
  EXPECT_NE(result.out.find("LANG=de\n"), std::string::npos);
  EXPECT_EQ(result.out.find("LANG=C\n"), std::string::npos);
}

TEST(RunProcess, InheritsNoFileAndNoBlockedSignal) {
  const int open_file =
      ::open("/etc/passwd", O_RDONLY);  // without O_CLOEXEC, as a careless library would
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const auto files = run({"sh", "-c", "ls /proc/$$/fd"});
  // Without a shell: one of them blocks all signals for a moment while it starts a child.
  const auto signals = run({"grep", "SigBlk", "/proc/self/status"});
  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  ::close(open_file);
  EXPECT_EQ(files.out, "0\n1\n2\n");
  EXPECT_EQ(signals.out, "SigBlk:\t0000000000000000\n");
}

TEST(CommandText, QuotesOnlyWhatAShellWouldTouch) {
  EXPECT_EQ(command_text({"scontrol", "update", "nodename=n3", "reason=faultline:a-1 gpu.ecc"}),
            "scontrol update nodename=n3 reason='faultline:a-1 gpu.ecc'");
  EXPECT_EQ(command_text({"echo", "it's", "$(id)", ""}), "echo 'it'\\''s' '$(id)' ''");
}

class ProcessGroup : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "faultline-process-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (started_.pid > 1) signal_group(started_, SIGKILL);
    std::filesystem::remove_all(folder_);
  }
  ProcessId start(const std::vector<std::string>& argv) {
    const auto id = start_process_group(argv, {}, (folder_ / "out").string());
    EXPECT_TRUE(id.ok());
    if (id) started_ = *id;
    return started_;
  }
  std::string output() const {
    std::ifstream file(folder_ / "out");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
  ProcessId started_;
};

TEST_F(ProcessGroup, RunsOnItsOwnAndAppendsItsOutput) {
  start({"sh", "-c", "echo one; sleep 60"});
  EXPECT_TRUE(eventually([&] { return output() == "one\n"; }));
  EXPECT_TRUE(group_alive(started_));
  signal_group(started_, SIGTERM);
  EXPECT_TRUE(eventually([&] { return !group_alive(started_); }));
}

TEST_F(ProcessGroup, IsAliveWhileAnyMemberIs) {
  start({"sh", "-c", "sleep 60 & exit 0"});
  EXPECT_TRUE(eventually([&] { return !process_runs(static_cast<pid_t>(started_.pid)); }));
  EXPECT_TRUE(group_alive(started_));
  signal_group(started_, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !group_alive(started_); }));
}

TEST_F(ProcessGroup, AReusedPidIsNotTakenForIt) {
  start({"sleep", "60"});
  ProcessId other = started_;
  other.start_ticks += 1;
  EXPECT_FALSE(group_alive(other));
  signal_group(other, SIGKILL);
  EXPECT_TRUE(group_alive(started_));
  ProcessId other_boot = started_;
  other_boot.boot_id = "another";
  EXPECT_FALSE(group_alive(other_boot));
}

}  // namespace
}  // namespace faultline
