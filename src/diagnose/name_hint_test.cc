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

TEST(NameHint, RankOfADumpIsItsLastNumber) {
  EXPECT_EQ(trailing_rank("fr/rank_2"), 2);
  EXPECT_EQ(trailing_rank("/tmp/nccl_trace_rank_17"), 17);
  EXPECT_EQ(trailing_rank("trace.12.pickle"), 12);
  EXPECT_EQ(trailing_rank("dump3.json"), 3);
  EXPECT_EQ(trailing_rank("rank_5/dump"), 5);
  EXPECT_EQ(trailing_rank("dump"), -1);
}

}  // namespace
}  // namespace faultline
