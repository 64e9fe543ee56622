#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "apps/agent_command.h"
#include "apps/run_identity.h"
#include "apps/run_log.h"
#include "apps/run_rhythm.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RunIdentity who(const std::map<std::string, std::string, std::less<>>& variables) {
  return identify_run(
      [&](std::string_view name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      },
      "host.example.org", 4711);
}

TEST(RunIdentity, Alone) {
  const RunIdentity me = who({});
  EXPECT_EQ(me.attempt, (AttemptId{"local-4711", 0}));
  EXPECT_EQ(me.rank, 0);
  EXPECT_EQ(me.world, 1);
  EXPECT_EQ(me.node, "host");
}

TEST(RunIdentity, Slurm) {
  std::map<std::string, std::string, std::less<>> env = {
      {"SLURM_JOB_ID", "123"},          {"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},           {"SLURM_NTASKS", "8"},
      {"SLURMD_NODENAME", "n3"},        {"SLURM_RESTART_COUNT", "2"},
      {"CUDA_VISIBLE_DEVICES", "0, 1,"}};
  const RunIdentity me = who(env);
  EXPECT_EQ(me.attempt, (AttemptId{"123", 2}));
  EXPECT_EQ(me.rank, 5);
  EXPECT_EQ(me.local_rank, 1);
  EXPECT_EQ(me.world, 8);
  EXPECT_EQ(me.node, "n3");
  EXPECT_EQ(me.gpus, (std::vector<std::string>{"0", "1"}));
  env["SLURM_ARRAY_JOB_ID"] = "120";
  env["SLURM_ARRAY_TASK_ID"] = "4";
  EXPECT_EQ(who(env).attempt.job, "120_4");
}

TEST(RunIdentity, SlurmHeterogeneous) {
  EXPECT_EQ(who({{"SLURM_JOB_ID", "124"},
                 {"SLURM_HET_SIZE", "2"},
                 {"SLURM_JOB_ID_HET_GROUP_0", "123"},
                 {"SLURM_JOB_ID_HET_GROUP_1", "124"}})
                .attempt.job,
            "123+1");
}

TEST(RunIdentity, JobFromSlurmRankFromMpi) {
  const RunIdentity me = who({{"SLURM_JOB_ID", "123"},
                              {"SLURM_PROCID", "0"},
                              {"OMPI_COMM_WORLD_RANK", "6"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                              {"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_EQ(me.attempt.job, "123");
  EXPECT_EQ(me.rank, 6);
  EXPECT_EQ(me.local_rank, 2);
  EXPECT_EQ(me.world, 8);
}

TEST(RunIdentity, TorchrunInsideSrun) {
  const RunIdentity me = who({{"SLURM_JOB_ID", "123"},
                              {"SLURM_PROCID", "1"},
                              {"TORCHELASTIC_RUN_ID", "none"},
                              {"RANK", "9"},
                              {"LOCAL_RANK", "1"},
                              {"WORLD_SIZE", "16"}});
  EXPECT_EQ(me.rank, 9);
  EXPECT_EQ(me.attempt.job, "123");
  EXPECT_EQ(
      who({{"TORCHELASTIC_RUN_ID", "run7"}, {"TORCHELASTIC_RESTART_COUNT", "1"}, {"RANK", "0"}})
          .attempt,
      (AttemptId{"run7", 1}));
}

TEST(RunIdentity, LocalAdapter) {
  const RunIdentity me = who({{"FAULTLINE_JOB", "demo"},
                              {"FAULTLINE_RESTART", "1"},
                              {"FAULTLINE_NODES", "n1,n2,n3"},
                              {"PMI_RANK", "2"},
                              {"PMI_SIZE", "3"}});
  EXPECT_EQ(me.attempt, (AttemptId{"demo", 1}));
  EXPECT_EQ(me.node, "n3");
  EXPECT_EQ(who({{"FAULTLINE_NODES", "n1,n2"}, {"FAULTLINE_NODE", "x"}}).node, "x");
  EXPECT_EQ(who({{"FAULTLINE_NODES", "n1"}, {"RANK", "5"}}).node, "host") << "too short a list";
}

TEST(RunIdentity, RanksOfMpirunAloneAreOneJob) {
  EXPECT_EQ(who({{"PMIX_NAMESPACE", "3735158785"}, {"OMPI_COMM_WORLD_RANK", "1"}}).attempt.job,
            "mpi-3735158785");
}

TEST(RunIdentity, NonsenseFallsBack) {
  const RunIdentity me = who({{"SLURM_JOB_ID", "../../etc"},
                              {"RANK", "-3"},
                              {"SLURMD_NODENAME", "a;b"},
                              {"SLURM_RESTART_COUNT", "many"}});
  EXPECT_EQ(me.attempt, (AttemptId{"local-4711", 0}));
  EXPECT_EQ(me.rank, 0);
  EXPECT_EQ(me.node, "host");
}

// --- rhythm

class RhythmTest : public testing::Test {
 protected:
  /// Output every `pause`, so often.
  void beat(Duration pause, int times) {
    for (int i = 0; i < times; ++i) {
      now_ += pause;
      rhythm_.output(now_);
    }
  }
  OutputRhythm rhythm_{{}};
  Duration now_{0};
};

TEST_F(RhythmTest, SuspectsOnceAfterFourTimesTheLongestPause) {
  beat(seconds{20}, 12);
  EXPECT_FALSE(rhythm_.check(now_ + seconds{80}));
  const auto stall = rhythm_.check(now_ + seconds{80} + milliseconds{1});
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->usual, seconds{20});
  EXPECT_FALSE(rhythm_.check(now_ + seconds{900})) << "once per stall";
  EXPECT_FALSE(rhythm_.next_check());
}

TEST_F(RhythmTest, FloorHoldsForFastPrinters) {
  beat(seconds{1}, 100);
  EXPECT_FALSE(rhythm_.check(now_ + seconds{60}));
  EXPECT_TRUE(rhythm_.check(now_ + seconds{61}));
}

TEST_F(RhythmTest, NothingIsSaidBeforeTheRhythmIsKnown) {
  EXPECT_FALSE(rhythm_.check(std::chrono::hours{5})) << "no output at all";
  beat(seconds{1}, 8);
  EXPECT_FALSE(rhythm_.check(now_ + std::chrono::hours{1}))
      << "eight outputs are seven pauses, four of them start-up";
  beat(seconds{1}, 1);
  EXPECT_TRUE(rhythm_.check(now_ + std::chrono::hours{1}));
}

TEST_F(RhythmTest, StartUpDoesNotStretchTheYardstickButALaterPauseDoes) {
  beat(seconds{300}, 5);
  beat(seconds{1}, 20);
  EXPECT_TRUE(rhythm_.check(now_ + seconds{61}));
  const auto ended = rhythm_.output(now_ + seconds{200});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->silent, seconds{200});
  now_ += seconds{200};
  EXPECT_FALSE(rhythm_.check(now_ + seconds{799})) << "a checkpoint of 200 s has proved harmless";
  EXPECT_TRUE(rhythm_.check(now_ + seconds{801}));
}

TEST_F(RhythmTest, BurstsAreOneBeat) {
  beat(seconds{20}, 10);
  for (int i = 0; i < 50; ++i) beat(milliseconds{1}, 1);
  EXPECT_FALSE(rhythm_.check(now_ + seconds{79}));
}

TEST_F(RhythmTest, WhatGatheredIsTheBurstBefore) {
  beat(seconds{20}, 10);
  for (int i = 0; i < 50; ++i) {
    now_ += milliseconds{101};
    rhythm_.output(now_, true);
  }
  EXPECT_FALSE(rhythm_.check(now_ + seconds{80})) << "it is output, nevertheless";
  const auto stall = rhythm_.check(now_ + seconds{80} + milliseconds{1});
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->usual, seconds{20});
}

TEST_F(RhythmTest, SteadyOutputIsARhythmToo) {
  beat(milliseconds{50}, 8 * 20);
  EXPECT_FALSE(rhythm_.check(now_ + std::chrono::hours{1})) << "the eighth second is not full";
  beat(milliseconds{50}, 1);
  EXPECT_FALSE(rhythm_.check(now_ + seconds{60}));
  const auto stall = rhythm_.check(now_ + seconds{60} + milliseconds{1});
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->usual, milliseconds{100});
}

TEST_F(RhythmTest, SteadyOutputThatGathersIsARhythmToo) {
  for (int i = 0; i < 100; ++i) {
    now_ += milliseconds{101};
    rhythm_.output(now_, true);
  }
  EXPECT_TRUE(rhythm_.check(now_ + seconds{61}));
}

TEST_F(RhythmTest, ShortBurstsAreNoSteadyOutput) {
  for (int burst = 0; burst < 7; ++burst) {
    beat(seconds{2}, 1);
    beat(milliseconds{50}, 19);
  }
  EXPECT_FALSE(rhythm_.check(now_ + std::chrono::hours{1})) << "six pauses are too few";
}

// --- log

TEST(LineTagger, SameLinesHoweverTheBytesAreCut) {
  const std::string text = "one\n\ntwo\r\nlonger than the limit of ten\nexactly10!\nlast";
  const auto tag = [&](std::size_t piece) {
    LineTagger tagger(10);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece)
      tagger.feed(text.substr(at, piece), "> ", out);
    tagger.finish("> ", out);
    return out;
  };
  EXPECT_EQ(tag(1000),
            "> one\n> \n> two\r\n> longer tha\n> n the limi\n> t of ten\n> exactly10!\n> last\n");
  for (std::size_t piece = 1; piece < text.size(); ++piece)
    EXPECT_EQ(tag(piece), tag(1000)) << piece;
}

TEST(LineTagger, BinaryPassesUnchanged) {
  LineTagger tagger;
  std::string out;
  const std::string bytes("\0\xff\x1b\n", 4);
  tagger.feed(bytes, "", out);
  EXPECT_EQ(out, bytes);
}

// --- agent options

TEST(AgentOptions, SayWhatIsWrong) {
  AgentOptions good;
  good.node = "n3";
  good.plain = true;
  EXPECT_TRUE(check_agent_options(good).ok());
  const auto refused = [&](auto change) {
    AgentOptions options = good;
    change(options);
    return !check_agent_options(options).ok();
  };
  EXPECT_TRUE(refused([](AgentOptions& o) { o.controller = "head:9176"; }))
      << "plain to another machine";
  EXPECT_TRUE(refused([](AgentOptions& o) { o.controller = "127.0.0.1.evil.org:1"; }))
      << "only looks local";
  EXPECT_TRUE(refused([](AgentOptions& o) { o.plain = false; })) << "no certificate";
  EXPECT_TRUE(refused([](AgentOptions& o) { o.tls_cert = "x"; })) << "both";
  EXPECT_TRUE(refused([](AgentOptions& o) { o.node = "a b"; }));
  EXPECT_TRUE(refused([](AgentOptions& o) { o.controller = ""; }));
  EXPECT_TRUE(refused([](AgentOptions& o) { o.state = ""; }));
  EXPECT_TRUE(refused([](AgentOptions& o) { o.kernel_logs = {"relative.log"}; }));
  EXPECT_FALSE(refused([](AgentOptions& o) { o.controller = "[::1]:9176"; }));
}

TEST(AgentOptions, AControllerIsNamedByHostAndPort) {
  const auto said = [](const std::string& controller) -> std::string {
    CLI::App app("", "faultline");
    AgentOptions options;
    add_agent_command(app, options);
    try {
      app.parse({"--controller=" + controller, "agent"});  // the last word first, as CLI11 wants it
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("head:9176"), "");
  EXPECT_EQ(said("[::1]:9176"), "");
  for (const std::string bad : {"127.0.0.1", "head:0", "::1:9176"})
    EXPECT_NE(said(bad).find("'" + bad + "' is not HOST:PORT"), std::string::npos) << said(bad);
}

}  // namespace
}  // namespace faultline
