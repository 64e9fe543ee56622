#include "apps/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <thread>

#include "adapters/agent_socket/unix_door.h"
#include "apps/run_gather.h"
#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::string out;
  std::string err;
  int code = -1;
};

class RunTest : public testing::Test {
 protected:
  RunTest() {
    std::string pattern = (fs::temp_directory_path() / "run-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    options_.log_dir = (folder_ / "logs").string();
    options_.socket = (folder_ / "agent.sock").string();
    options_.node = "n3";
    options_.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    options_.ruling_wait_s = 0.3;
    for (const char* name :
         {"SLURM_JOB_ID", "RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "FAULTLINE_NODE"})
      ::unsetenv(name);
    ::setenv("FAULTLINE_JOB", "77", 1);
  }
  ~RunTest() override { fs::remove_all(folder_); }

  /// Runs `faultline run` in a process of its own. `meanwhile` is called with its pid until it
  /// ends.
  Outcome run(std::vector<std::string> command, const std::function<void(pid_t)>& meanwhile = {}) {
    options_.command = std::move(command);
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    EXPECT_EQ(::pipe(out.data()), 0);
    EXPECT_EQ(::pipe(err.data()), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      for (const int end : {out[0], out[1], err[0], err[1]}) ::close(end);
      if (before_) before_();
      ::_exit(run_main(options_));
    }
    ::close(out[1]);
    ::close(err[1]);
    Outcome outcome;
    std::array<pollfd, 2> waits{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
    while (waits[0].fd >= 0 || waits[1].fd >= 0) {
      ::poll(waits.data(), waits.size(), 20);
      take(waits[0], outcome.out);
      take(waits[1], outcome.err);
      if (meanwhile) meanwhile(pid);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    return outcome;
  }
  Outcome shell(const std::string& script, const std::function<void(pid_t)>& meanwhile = {}) {
    return run({"/bin/sh", "-c", script}, meanwhile);
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "logs/77-n3-0.log", std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder_;
  RunOptions options_;
  std::function<void()> before_;  // in the process that will be `faultline run`

 private:
  static void take(pollfd& wait, std::string& into) {
    if (wait.fd < 0 || wait.revents == 0) return;
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(wait.fd, buffer.data(), buffer.size());
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
    } else {
      ::close(std::exchange(wait.fd, -1));
    }
  }
};

TEST_F(RunTest, PassesOutputThroughAndTagsTheLog) {
  const Outcome outcome = shell("echo hello; echo oops >&2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(outcome.err, "oops\n");
  const std::string stamp = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z n3 rank0 \| )";
  EXPECT_TRUE(std::regex_search(log(), std::regex("(^|\n)" + stamp + "hello\n"))) << log();
  EXPECT_TRUE(std::regex_search(log(), std::regex("(^|\n)" + stamp + "oops\n"))) << log();
  EXPECT_EQ(fs::status(folder_ / "logs/77-n3-0.log").permissions() & fs::perms::others_all,
            fs::perms::none);
}

TEST_F(RunTest, ExitCodesAreTheCommands) {
  for (const int code : {0, 1, 42, 255})
    EXPECT_EQ(shell("exit " + std::to_string(code)).code, code);
  EXPECT_EQ(shell("kill -9 $$").code, 137);
  EXPECT_EQ(shell("kill -11 $$").code, 139);
}

TEST_F(RunTest, MissingCommandIs127AndSaysWhich) {
  const Outcome outcome = run({"no-such-program-here", "--x"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_NE(outcome.err.find("faultline: cannot run no-such-program-here: No such file"),
            std::string::npos)
      << outcome.err;
}

TEST_F(RunTest, WhatMayNotBeExecutedIs126) {
  std::ofstream(folder_ / "data") << "x";
  EXPECT_EQ(run({(folder_ / "data").string()}).code, 126);
}

TEST_F(RunTest, GoesOnWhenNobodyReadsItsOutput) {
  before_ = [] {
    std::array<int, 2> gone{};
    (void)!::pipe(gone.data());
    ::dup2(gone[1], 1);
    for (const int end : gone) ::close(end);
  };
  const Outcome outcome = shell("echo one; sleep 0.1; echo two; echo oops >&2; exit 7");
  EXPECT_EQ(outcome.code, 7);
  EXPECT_NE(log().find("| two\n"), std::string::npos) << log();
  const std::string said = "faultline: nobody reads our standard output";
  EXPECT_NE(log().find(said), std::string::npos) << log();
  EXPECT_EQ(log().find(said), log().rfind(said)) << log();
  EXPECT_EQ(outcome.err.find(said), 0U) << outcome.err;
  EXPECT_NE(outcome.err.find("oops\n"), std::string::npos);
  EXPECT_EQ(outcome.err.find("missing"), std::string::npos) << "whoever left wanted no more";
}

TEST_F(RunTest, GoesOnWhenItsOutputIsClosed) {
  before_ = [] { ::close(1); };
  const Outcome outcome = shell("echo one; exit 7");
  EXPECT_EQ(outcome.code, 7);
  EXPECT_NE(log().find("| one\n"), std::string::npos) << log();
  EXPECT_NE(log().find("faultline: nobody reads our standard output"), std::string::npos) << log();
}

TEST_F(RunTest, WithoutALogTheCommandLearnsThatNobodyReads) {
  options_.log_dir = "";
  before_ = [] {
    std::array<int, 2> gone{};
    (void)!::pipe(gone.data());
    ::dup2(gone[1], 1);
    for (const int end : gone) ::close(end);
  };
  EXPECT_EQ(run({"yes"}).code, 128 + SIGPIPE);
}

void write_to_a_full_disk() { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), 1); }

TEST_F(RunTest, OutputThatCannotBeWrittenIsSaidOnceAndCounted) {
  options_.log_dir = "";
  before_ = write_to_a_full_disk;
  const Outcome outcome = shell("echo one; sleep 0.2; echo two");
  EXPECT_EQ(outcome.code, 0) << "the command's own";
  EXPECT_EQ(outcome.err,
            "faultline: cannot write our standard output: No space left on device; the command "
            "goes on\n"
            "faultline: 8 bytes of output are missing in our standard output\n");
}

TEST_F(RunTest, OutputThatCannotBeWrittenIsInTheLog) {
  options_.tag = true;
  before_ = write_to_a_full_disk;
  const Outcome outcome = shell("echo oops >&2; printf x");
  EXPECT_NE(log().find("| x\n"), std::string::npos) << log();
  EXPECT_NE(log().find("| faultline: cannot write our standard output"), std::string::npos)
      << log();
  const std::string lost = "faultline: 13 bytes of output are missing";
  EXPECT_NE(outcome.err.find(lost), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("[n3 rank0] oops\n"), std::string::npos) << outcome.err;
}

TEST_F(RunTest, RestartsAppend) {
  shell("echo first");
  shell("echo second");
  EXPECT_LT(log().find("first"), log().find("second"));
}

TEST_F(RunTest, LogFolderThatCannotBeWrittenDoesNotStopTheJob) {
  std::ofstream(folder_ / "logs") << "a file is in the way";
  const Outcome outcome = shell("echo hello");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_NE(outcome.err.find("running without a log"), std::string::npos);
}

TEST_F(RunTest, FullDiskDoesNotStopTheJob) {
  fs::create_directory(folder_ / "logs");
  fs::create_symlink("/dev/full", folder_ / "logs/77-n3-0.log");
  const Outcome linked = shell("echo hello");
  EXPECT_EQ(linked.out, "hello\n");
  EXPECT_EQ(linked.code, 0) << "a link is not followed, and that is no reason to fail either";
}

TEST_F(RunTest, BinaryAndHugeLinesComeThroughUnchanged) {
  const Outcome outcome = shell(
      "head -c 3000000 /dev/zero; printf '\\377\\001\\n'; head -c 100000000 /dev/zero | tr '\\0' "
      "'x'");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.size(), 103'000'003U);
  EXPECT_EQ(outcome.out.substr(3'000'000, 3), std::string("\377\001\n"));
  EXPECT_GT(fs::file_size(folder_ / "logs/77-n3-0.log"), 103'000'000U);
}

TEST_F(RunTest, TagMarksEveryLine) {
  options_.tag = true;
  EXPECT_EQ(shell("printf 'a\\nb'").out, "[n3 rank0] a\n[n3 rank0] b\n");
}

TEST_F(RunTest, ChildKnowsItsPlaceAndGetsItsInput) {
  EXPECT_EQ(shell("echo $FAULTLINE_NODE $FAULTLINE_RANK; cat < /dev/null").out, "n3 0\n");
}

TEST_F(RunTest, SignalsArePassedOn) {
  int sent = 0;
  const Outcome outcome = shell(
      "trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.05; done", [&](pid_t pid) {
        if (++sent == 20) ::kill(pid, SIGUSR1);
      });
  EXPECT_EQ(outcome.out, "ready\ngot\n");
  EXPECT_EQ(outcome.code, 7);
}

TEST_F(RunTest, AfterATeardownNothingIsExplained) {
  int sent = 0;
  const Outcome outcome = shell("echo ready; sleep 100", [&](pid_t pid) {
    if (++sent == 20) ::kill(pid, SIGTERM);
  });
  EXPECT_EQ(outcome.code, 143);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(RunTest, GrandchildThatKeepsThePipeDoesNotHoldUpTheEnd) {
  const Outcome outcome = shell("sleep 3 & echo done; exit 4");
  EXPECT_EQ(outcome.code, 4);
}

TEST_F(RunTest, OrphanThatPrintsDoesNotHoldUpTheEndForLong) {
  const SystemClock clock;
  const Duration give_up = clock.monotonic() + std::chrono::seconds{10};
  options_.log_dir = "";  // it prints a lot
  before_ = [] { ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), 1); };
  const Outcome outcome = shell("yes & exit 0", [&](pid_t pid) {
    if (clock.monotonic() > give_up) ::kill(pid, SIGKILL);
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(RunTest, SignalsDoNotCutTheOutputThatIsLeft) {
  // The orphan waits until the command was reaped, and prints after many signals.
  const Outcome outcome = shell(
      "run=$PPID; (while kill -0 $$; do :; done; n=0; while [ $n -lt 3000 ]; do kill -USR1 $run; "
      "n=$((n + 1)); done; echo rest) 2>/dev/null & exit 0");
  EXPECT_EQ(outcome.out, "rest\n");
}

TEST_F(RunTest, WithoutAgentTheOwnLogIsAskedAndSaysSo) {
  const Outcome outcome = shell("echo 'just a failure'; exit 1");
  EXPECT_NE(outcome.err.find("faultline: "), std::string::npos);
  EXPECT_EQ(shell("exit 0").err, "");
}

// --- output that gathers (run_gather.h)

/// Prints `count` lines, each when the one before is in the log: as fast as it is read.
std::string echo_as_it_is_read(const fs::path& log, int count) {
  return fmt::format(
      "n=0; while [ $n -lt {0} ]; do n=$((n + 1)); echo line $n; "
      "until grep -q \"line $n$\" {1}; do sleep 0.001; done; done",
      count, log.string());
}

/// When the lines of a log were read; those that were read at once count once.
std::vector<Instant> reads_in(const std::string& log) {
  std::vector<Instant> times;
  for (const std::string_view line : split(log, '\n')) {
    const auto at = parse_instant(line.substr(0, line.find(' ')));
    if (at && (times.empty() || times.back() != *at)) times.push_back(*at);
  }
  return times;
}

TEST_F(RunTest, LinesOfAJobThatPrintsSteadilyAreReadTogether) {
  const Outcome outcome = shell(
      "for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do echo $i$j; sleep 0.004; done; "
      "done");
  const auto reads = reads_in(log());
  ASSERT_GE(reads.size(), 2U) << log();
  // The first two lines and the last one are not waited for, however slow this machine is.
  EXPECT_LE(std::ssize(reads), (reads.back() - reads.front()) / OutputGather::gather_time_max + 3)
      << log();
  EXPECT_EQ(outcome.out.substr(0, 6), "11\n12\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 81);
}

TEST_F(RunTest, WhereSomebodyWatchesEachLineIsReadAsItComes) {
  before_ = [] {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    ::grantpt(terminal);
    ::unlockpt(terminal);
    ::dup2(::open(::ptsname(terminal), O_RDWR | O_NOCTTY), 1);
  };
  shell(echo_as_it_is_read(folder_ / "logs/77-n3-0.log", 20));
  const auto reads = reads_in(log());
  ASSERT_EQ(reads.size(), 20U) << log();
  Duration least = Duration::max();
  for (std::size_t i = 3; i < reads.size(); ++i) least = std::min(least, reads[i] - reads[i - 1]);
  EXPECT_LT(least, OutputGather::gather_time_max);
}

TEST_F(RunTest, BothOutputsAreLoggedInTheOrderOfTheirWriting) {
  const std::string log_path = (folder_ / "logs/77-n3-0.log").string();
  shell(
      "for i in 1 2 3; do for j in a b c d e; do echo $i$j; sleep 0.01; done; echo oops$i >&2; "
      "until grep -q oops$i " +
      log_path + "; do sleep 0.001; done; done");
  const std::string text = log();
  std::string order;
  for (const std::string_view line : split(text, '\n'))
    order.append(line.substr(std::min(line.rfind(' '), line.size())));
  EXPECT_EQ(order, " 1a 1b 1c 1d 1e oops1 2a 2b 2c 2d 2e oops2 3a 3b 3c 3d 3e oops3");
}

TEST_F(RunTest, TheLastLinesOfAChildThatEndsAtOnceAreWhole) {
  // More than one read takes, and written while the lines before gather.
  const Outcome outcome =
      shell("for i in 1 2 3; do echo $i; sleep 0.02; done; seq 4 99999; exit 5");
  EXPECT_EQ(outcome.code, 5);
  std::string expected;
  for (int i = 1; i <= 99999; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(outcome.out == expected) << outcome.out.size() << " bytes of " << expected.size();
  EXPECT_NE(log().find("| 99999\n"), std::string::npos);
}

/// An agent in a thread of the test: answers await_ruling as told, keeps what it heard.
class FakeAgent {
 public:
  FakeAgent(const std::string& path, std::string ruling) : ruling_(std::move(ruling)) {
    auto door = UnixDoor::listen(path, clock_, counters_);
    EXPECT_TRUE(door.ok());
    door_ = std::move(door).value();
  }
  void turn() {
    for (auto& arrival : door_->poll()) {
      ASSERT_TRUE(arrival.message.ok()) << arrival.message.error().message;
      const LauncherMessage& message = arrival.message.value();
      heard.push_back(message);
      if (message.verb != LauncherVerb::await_ruling || ruling_.empty()) continue;
      door_->reply(arrival.peer.connection,
                   {LauncherReply::Kind::ruling, message.attempt, true, ruling_});
    }
  }
  std::vector<LauncherMessage> heard;

 private:
  SystemClock clock_;
  Counters counters_;
  std::string ruling_;
  std::unique_ptr<UnixDoor> door_;
};

TEST_F(RunTest, TellsTheAgentAndPrintsItsRuling) {
  options_.ruling_wait_s = 30;
  FakeAgent agent(options_.socket, "n5: Uncorrectable ECC error\nn5 drained");
  const Outcome outcome = shell("echo step 120; kill -9 $$", [&](pid_t) { agent.turn(); });
  EXPECT_EQ(outcome.code, 137);
  EXPECT_EQ(outcome.err, "faultline: n5: Uncorrectable ECC error\nfaultline: n5 drained\n");
  ASSERT_EQ(agent.heard.size(), 3U);
  EXPECT_EQ(agent.heard[0].verb, LauncherVerb::rank_started);
  EXPECT_EQ(agent.heard[0].attempt, (AttemptId{"77", 0}));
  EXPECT_EQ(agent.heard[0].log, (folder_ / "logs/77-n3-0.log").string());
  EXPECT_EQ(agent.heard[1].verb, LauncherVerb::rank_exited);
  EXPECT_EQ(agent.heard[1].signal, 9);
  EXPECT_EQ(agent.heard[1].step, 120U);
  EXPECT_EQ(agent.heard[1].last_line, "step 120");
  EXPECT_EQ(agent.heard[2].verb, LauncherVerb::await_ruling);
}

TEST_F(RunTest, SuccessAsksForNoRuling) {
  FakeAgent agent(options_.socket, "x");
  EXPECT_EQ(shell("exit 0", [&](pid_t) { agent.turn(); }).err, "");
  agent.turn();
  ASSERT_EQ(agent.heard.size(), 2U);
  EXPECT_EQ(agent.heard[1].exit_code, 0);
  EXPECT_EQ(agent.heard[1].step, std::nullopt);
  EXPECT_EQ(agent.heard[1].last_line, std::nullopt) << "nothing is to be explained";
}

TEST_F(RunTest, TheLastLineOfAFailedRankIsThatOfItsErrorsIfItHasAny) {
  FakeAgent agent(options_.socket, "x");
  shell("echo ValueError >&2; echo bye; exit 1", [&](pid_t) { agent.turn(); });
  agent.turn();
  ASSERT_GE(agent.heard.size(), 2U);
  EXPECT_EQ(agent.heard[1].last_line, "ValueError");
}

TEST_F(RunTest, TheEndIsToldBeforeAnOrphanIsHeardOut) {
  FakeAgent agent(options_.socket, "");
  // The orphan prints without a pause until the end was told, and once more.
  const std::string told = (folder_ / "told").string();
  shell("(n=0; while [ $n -lt 3000000 ] && [ ! -e " + told +
            " ]; do echo tick; n=$((n + 1)); done; echo tock) & echo why >&2; exit 1",
        [&](pid_t) {
          agent.turn();
          if (agent.heard.size() >= 2) std::ofstream(told) << "x";
        });
  ASSERT_GE(agent.heard.size(), 2U);
  EXPECT_EQ(agent.heard[1].verb, LauncherVerb::rank_exited);
  EXPECT_EQ(agent.heard[1].last_line, "why");
  const auto reads = reads_in(log());
  ASSERT_FALSE(reads.empty());
  EXPECT_LT(agent.heard[1].at, reads.back());
}

TEST_F(RunTest, TheLastLineIsToldEvenIfItHasNoEndAndMuchIsBeforeIt) {
  FakeAgent agent(options_.socket, "x");
  // More than one read takes; the second may be written while the first is passed on.
  shell("seq 100000; printf 'the end'; exit 1", [&](pid_t) { agent.turn(); });
  agent.turn();
  ASSERT_GE(agent.heard.size(), 2U);
  EXPECT_EQ(agent.heard[1].last_line, "the end");
  EXPECT_NE(log().find("| the end\n"), std::string::npos);
}

TEST_F(RunTest, SilentAgentIsNotWaitedForForEver) {
  FakeAgent agent(options_.socket, "");
  const Outcome outcome = shell("exit 3", [&](pid_t) { agent.turn(); });
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, "faultline: no ruling within 0.3 s; exiting\n");
}

TEST(RunArguments, EverythingAfterTheDashesIsTheCommands) {
  CLI::App app;
  RunOptions options;
  add_run_command(app, options);
  app.parse("run --tag --ruling-wait 3 -- python train.py --tag --lr 3 -- x", false);
  EXPECT_TRUE(options.tag);
  EXPECT_EQ(options.ruling_wait_s, 3);
  EXPECT_EQ(options.command,
            (std::vector<std::string>{"python", "train.py", "--tag", "--lr", "3", "--", "x"}));
}

}  // namespace
}  // namespace faultline
