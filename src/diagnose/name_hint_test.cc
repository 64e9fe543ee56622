#include "diagnose/name_hint.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(NameHint, RankStandsInTheNameOrInTheFolder) {
  EXPECT_EQ(name_hint("run/rank3.stderr.log").rank, 3);
  EXPECT_EQ(name_hint("rank_12.out").rank, 12);
  EXPECT_EQ(name_hint("logs/rank-7/stdout").rank, 7);
  EXPECT_EQ(name_hint("out/none_x/attempt_0/5/stderr.log").rank, 5);
  EXPECT_EQ(name_hint("Rank4.log").rank, 4);
}

TEST(NameHint, WhatOnlyLooksLikeARankIsNone) {
  EXPECT_EQ(name_hint("ranking.log").rank, -1);
  EXPECT_EQ(name_hint("train-3.log").rank, -1);
  EXPECT_EQ(name_hint("2026/11/29/slurm.out").rank, -1);
  EXPECT_EQ(name_hint("rank12345678901.log").rank, -1);
  EXPECT_EQ(name_hint("").rank, -1);
}

TEST(NameHint, JobAndNode) {
  EXPECT_EQ(name_hint("a/slurm-123_4.out").job, "123_4");
  EXPECT_EQ(name_hint("slurm-123+1.out").job, "123+1");
  EXPECT_EQ(name_hint("job_77.log").job, "77");
  EXPECT_EQ(name_hint("slurm-.out").job, "");
  EXPECT_EQ(name_hint("slurm-123_.out").job, "123");
  EXPECT_EQ(name_hint("kern-n3.log").node, "n3");
  EXPECT_EQ(name_hint("gpu-node-007_dmesg.txt").node, "gpu-node-007");
  EXPECT_EQ(name_hint("dmesg.txt").node, "");
  EXPECT_FALSE(name_hint("logs/n3/dmesg.txt").node_by_folder);
  EXPECT_TRUE(name_hint("b04/dmesg.txt").node_by_folder);
  EXPECT_EQ(name_hint("b04_xid109/dmesg.txt").node, "");
  EXPECT_EQ(name_hint("logs/n3/dmesg.txt").node, "n3");
  EXPECT_EQ(name_hint("runner-07/messages").node, "runner-07");
  EXPECT_EQ(name_hint("n3/nvidia-smi.txt").node, "n3");
  EXPECT_EQ(name_hint("h100-2.dmesg.txt").node, "h100-2");
  EXPECT_EQ(name_hint("h100-2.log").node, "");
  for (const std::string_view other : {"batch7-dmesg.txt", "kern-v2.log", "ticket4711/messages",
                                       "incident-17/dmesg.txt", "rank3-dmesg.txt"})
    EXPECT_EQ(name_hint(other).node, "") << other;
  EXPECT_EQ(name_hint("n3/train.log").node, "") << "whose it is, nobody says";
  for (const std::string_view folder : {"run12", "job-77", "attempt_0", "logs2", "2026-11-29", "x"})
    EXPECT_EQ(name_hint(std::string(folder) + "/dmesg.txt").node, "") << folder;
  EXPECT_EQ(name_hint("dmesg-2026.txt").node, "");
}

TEST(NameHint, SlurmWritesTheNodeBehindTheJob) {
  EXPECT_EQ(name_hint("slurm-77-node18.out").node, "node18");
  EXPECT_EQ(name_hint("slurm-123_4-gpu-node-007.out").node, "gpu-node-007");
  EXPECT_FALSE(name_hint("slurm-77-node18.out").written_by_task) << "or by the batch script";
  EXPECT_EQ(name_hint("train_77_gpu18_1.out").node, "gpu18");
  EXPECT_TRUE(name_hint("train_77_gpu18_1.out").written_by_task);
  EXPECT_EQ(name_hint("train_77_gpu18_1.out").rank, -1) << "the task may be a launcher's";
  for (const std::string_view other :
       {"slurm-77-train.out", "slurm-77_4_log.err", "train_77_rank3_1.out", "exp_5_seed3_1.out",
        "slurm-77-batch1.out", "slurm-77-task2.out", "slurm-77-node.out", "slurm-77-n3-1.out",
        "n3_1.out", "train-3.log", "slurm-77-ticket4.out", "slurm-77_.out"})
    EXPECT_EQ(name_hint(other).node, "") << other;
}

TEST(NameHint, SubmititNamesJobAndTask) {
  EXPECT_EQ(name_hint("out/77123_3_log.err").job, "77123");
  EXPECT_EQ(name_hint("out/77123_3_log.err").rank, 3);
  EXPECT_EQ(name_hint("77123_4_0_log.out").job, "77123_4");
  EXPECT_EQ(name_hint("77123_4_0_log.out").rank, 0);
  for (const std::string_view other :
       {"77123_log.err", "run_3_log.err", "77123_3_logs.err", "1_2_3_4_log.out"}) {
    EXPECT_EQ(name_hint(other).job, "") << other;
    EXPECT_EQ(name_hint(other).rank, -1) << other;
  }
}

std::string submitit_line(std::string_view place) {
  return "submitit INFO (2026-11-21 03:11:07,512) - Starting with JobEnvironment(" +
         std::string(place) + ")\n";
}

NameHint told_by(const std::string& text) {
  NameHint hint;
  learn_from_submitit_line(text, hint);
  return hint;
}

constexpr std::string_view place =
    "job_id=88_4, hostname=n7, local_rank=3(8), node=1(4), global_rank=11(32)";

TEST(NameHint, SubmititSaysWhichTaskWritesTheLog) {
  const NameHint hint = told_by("x\n" + submitit_line(place) + "y\n");
  EXPECT_EQ(hint.job, "88_4");
  EXPECT_EQ(hint.node, "n7");
  EXPECT_EQ(hint.rank, 11);
  EXPECT_TRUE(hint.written_by_task);
  EXPECT_EQ(told_by(submitit_line(place) + submitit_line(place)).rank, 11) << "a requeued task";
}

TEST(NameHint, ALogOfSeveralTasksIsOfNone) {
  const std::string other =
      submitit_line("job_id=88_4, hostname=n8, local_rank=0(8), node=2(4), global_rank=16(32)");
  EXPECT_EQ(told_by(submitit_line(place) + other).node, "");
  EXPECT_EQ(told_by(submitit_line(place) + other).rank, -1);
  for (const std::string_view odd :
       {"", "job_id=88", "job_id=88, hostname=n;rm, global_rank=1(2)",
        "job_id=../x, hostname=n7, global_rank=1(2)", "job_id=88, hostname=n7, global_rank=x(2)"})
    EXPECT_EQ(told_by(submitit_line(odd)).node, "") << odd;
  EXPECT_EQ(told_by("with JobEnvironment(" + std::string(place) + ")").node, "") << "only quoted";
}

TEST(NameHint, RankOfADumpIsItsLastNumber) {
  EXPECT_EQ(trailing_rank("fr/rank_2"), 2);
  EXPECT_EQ(trailing_rank("/tmp/nccl_trace_rank_17"), 17);
  EXPECT_EQ(trailing_rank("trace.12.pickle"), 12);
  EXPECT_EQ(trailing_rank("dump3.json"), 3);
  EXPECT_EQ(trailing_rank("rank_5/dump"), 5);
  EXPECT_EQ(trailing_rank("dump"), -1);
}

TEST(NumbersAmongSiblings, AreWhatTellsThemApart) {
  using Numbers = std::map<std::string, std::int32_t>;
  EXPECT_EQ(numbers_among_siblings({"0/nccl_trace", "1/nccl_trace", "12/nccl_trace"}),
            (Numbers{{"0/nccl_trace", 0}, {"1/nccl_trace", 1}, {"12/nccl_trace", 12}}));
  EXPECT_EQ(numbers_among_siblings({"x0q7", "x1q7"}), (Numbers{{"x0q7", 0}, {"x1q7", 1}}));
  EXPECT_EQ(numbers_among_siblings({"tr_0_of_2", "tr_1_of_2"}),
            (Numbers{{"tr_0_of_2", 0}, {"tr_1_of_2", 1}}));
  EXPECT_EQ(numbers_among_siblings({"fr_0_2026-11-12T10-30-00", "fr_1_2026-11-12T10-30-07"}),
            (Numbers{{"fr_0_2026-11-12T10-30-00", 0}, {"fr_1_2026-11-12T10-30-07", 1}}));
}

TEST(NumbersAmongSiblings, WhereNothingTellsThereAreNone) {
  EXPECT_TRUE(numbers_among_siblings({}).empty());
  EXPECT_TRUE(numbers_among_siblings({"0/nccl_trace"}).empty()) << "no sibling";
  EXPECT_TRUE(numbers_among_siblings({"a", "b"}).empty()) << "no numbers";
  EXPECT_TRUE(numbers_among_siblings({"run1/trace", "run2/trace"}).empty()) << "two runs";
  EXPECT_TRUE(numbers_among_siblings({"host-3/trace", "host-7/trace"}).empty()) << "two hosts";
  EXPECT_TRUE(numbers_among_siblings({"v1/t.0", "v1/t.1", "v2/t.0", "v2/t.1"}).empty());
  EXPECT_TRUE(numbers_among_siblings({"0/rank_1", "1/rank_0"}).empty()) << "they name their ranks";
  EXPECT_TRUE(numbers_among_siblings({"t99999999", "t99999998"}).empty()) << "no ranks";
}

}  // namespace
}  // namespace faultline
