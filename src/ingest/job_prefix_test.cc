#include <gtest/gtest.h>

#include <string>

#include "ingest/line_prefix.h"

namespace faultline {
namespace {

struct Label {
  const char* name;
  std::string line;
  std::string body;
  std::int32_t rank = -1;
  std::string host = "";
  TimeForm time_form = TimeForm::none;
  std::string time = "";
};

class JobPrefix : public testing::TestWithParam<Label> {};

TEST_P(JobPrefix, IsTakenOffAndRead) {
  const Label& label = GetParam();
  const LinePrefix prefix = parse_job_prefix(label.line, {});
  EXPECT_EQ(label.line.substr(prefix.body), label.body);
  EXPECT_EQ(prefix.rank, label.rank);
  EXPECT_EQ(prefix.host, label.host);
  EXPECT_EQ(prefix.time_form, label.time_form);
  EXPECT_EQ(prefix.time, label.time);
}

INSTANTIATE_TEST_SUITE_P(
    Labels, JobPrefix,
    testing::Values(
        Label{"none", "RuntimeError: CUDA error", "RuntimeError: CUDA error"},
        Label{"own_tag", "2026-11-29T21:18:32.123456Z n3 rank3 | text", "text", 3, "n3",
              TimeForm::iso, "2026-11-29T21:18:32.123456Z"},
        Label{"own_tag_empty", "2026-11-29T21:18:32.123456Z n3 rank3 |", "", 3, "n3", TimeForm::iso,
              "2026-11-29T21:18:32.123456Z"},
        Label{"own_tag_around_torchrun",
              "2026-11-29T21:18:32.123456Z n3 rank0 | [rank12]:[E818 17:40:34.2 x.cpp:1] y",
              "[E818 17:40:34.2 x.cpp:1] y", 12, "n3", TimeForm::iso,
              "2026-11-29T21:18:32.123456Z"},
        Label{"own_tag_around_srun", "2026-11-29T21:18:32.123456Z n3 rank3 | 7: loss", "7: loss", 3,
              "n3", TimeForm::iso, "2026-11-29T21:18:32.123456Z"},
        Label{"torch", "[rank3]:[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] text",
              "[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] text", 3, "", TimeForm::glog,
              "626 06:24:44.903881913"},
        Label{"torch_traceback", "[rank3]:   File \"a.py\"", "  File \"a.py\"", 3},
        Label{"torch_tee", "[default0]:[rank12]:[E818 17:40:34.227531918 P.cpp:1515] t",
              "[E818 17:40:34.227531918 P.cpp:1515] t", 12, "", TimeForm::glog,
              "818 17:40:34.227531918"},
        Label{"srun", "3: text", "text", 3}, Label{"srun_padded", " 3: text", "text", 3},
        Label{"mpirun", "[1,3]<stdout>: text", "text", 3},
        Label{"mpirun_error", "[1,13]<stderr>:text", "text", 13},
        Label{"slurmstepd_of_a_host", "slurmstepd-n3: error: text", "slurmstepd-n3: error: text",
              -1, "n3"},
        Label{"slurmstepd", "slurmstepd: error: text", "slurmstepd: error: text"},
        Label{"pdsh", "c000001: FileNotFoundError: x", "FileNotFoundError: x", -1, "c000001"},
        Label{"host_rank", "[gpu-node-7:12] text", "text", 12, "gpu-node-7"},
        Label{"mpi_process_number", "[n5:27215] Signal: Segmentation fault (11)",
              "[n5:27215] Signal: Segmentation fault (11)"},
        Label{"mpi_small_process_number", "[worker-0:00081] Signal: Bus error (7)",
              "[worker-0:00081] Signal: Bus error (7)"},
        Label{"horovodrun", "Fri Sep 25 16:52:53 2020[1]<stderr>:text", "text", 1, "",
              TimeForm::ctime, "Fri Sep 25 16:52:53 2020"},
        Label{"horovodrun_no_time", "[1]<stdout>:text", "text", 1},
        Label{"time_with_colon", "2019-06-02T16:13:44.884Z: [1,12]<stdout>:text", "text", 12, "",
              TimeForm::iso, "2019-06-02T16:13:44.884Z"},
        Label{"cri", "2025-05-01T01:02:03.123456789Z stderr F [rank3]: ValueError: x",
              "ValueError: x", 3, "", TimeForm::iso, "2025-05-01T01:02:03.123456789Z"},
        Label{"cri_without_time", "stderr F ValueError: x", "stderr F ValueError: x"},
        Label{"docker", "{\"log\":\"[rank3]: ValueError: x\\n\",\"stream\":\"stderr\"}",
              "ValueError: x\\n\",\"stream\":\"stderr\"}", 3},
        Label{"kubectl", "[pod/llm-worker-1/pytorch] [rank3]: text", "text", 3},
        Label{"ray", "(RayTrainWorker pid=1234, ip=10.0.0.7) ValueError: x", "ValueError: x", -1,
              "10.0.0.7"},
        Label{"ray_own_node", "(pid=40210) ValueError: x", "ValueError: x"},
        Label{"not_ray", "(most recent call last): x", "(most recent call last): x"},
        Label{"clock_then_rank", "18:11:06.680 [rank4]:[E205 18:11:06.375750231 P.cpp:1] x",
              "[E205 18:11:06.375750231 P.cpp:1] x", 4, "", TimeForm::clock, "18:11:06.680"},
        Label{"python_logging", "2023-04-30 06:01:12 ERROR [__main__] main failed",
              "ERROR [__main__] main failed", -1, "", TimeForm::iso, "2023-04-30 06:01:12"},
        Label{"deepspeed", "[2023-07-20 14:05:36,090] [INFO] [launch.py:315:sigkill_handler] x",
              "[INFO] [launch.py:315:sigkill_handler] x", -1, "", TimeForm::iso,
              "2023-07-20 14:05:36,090"},
        Label{"glog_bare", "W1129 19:50:15.346000 1356 torch/distributed/run.py:851] x",
              "W1129 19:50:15.346000 1356 torch/distributed/run.py:851] x", -1, "", TimeForm::glog,
              "1129 19:50:15.346000"},
        Label{"not_a_host_source_file", "[socket.cpp:955] [c10d] x", "[socket.cpp:955] [c10d] x"},
        Label{"not_a_host_epoch", "epoch3: 12%", "epoch3: 12%"},
        Label{"not_a_host_exception", "ValueError: x", "ValueError: x"},
        Label{"not_a_host_srun", "srun: error: n1: task 3: Killed",
              "srun: error: n1: task 3: Killed"},
        Label{"not_a_host_nccl", "worker-0:1984:2357 [4] NCCL INFO x",
              "worker-0:1984:2357 [4] NCCL INFO x"},
        Label{"not_a_rank", "3 of 7 done", "3 of 7 done"},
        Label{"elastic_table", "  rank      : 1 (local_rank: 1)",
              "  rank      : 1 (local_rank: 1)"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(JobPrefix, InALogOfOneRankANumberIsText) {
  const LinePrefix prefix = parse_job_prefix("3: text", {true, {}});
  EXPECT_EQ(prefix.rank, -1);
  EXPECT_EQ(prefix.body, 0U);
}

TEST(JobPrefix, WithKnownNodesOnlyTheseAreHosts) {
  const JobLogHints hints{false, {"login", "c000002"}};
  EXPECT_EQ(parse_job_prefix("login: text", hints).host, "login");
  EXPECT_EQ(parse_job_prefix("c000001: text", hints).host, "");
}

TEST(JobPrefix, LocalRankIsKeptBesideTheRank) {
  const LinePrefix prefix = parse_job_prefix("[default0]:[rank12]: x", {});
  EXPECT_EQ(prefix.local_rank, 0);
  EXPECT_EQ(prefix.rank, 12);
}

TEST(JobPrefix, OnlyAtTheLinesStartATagIsOurs) {
  EXPECT_FALSE(parse_job_prefix("x 2026-11-29T21:18:32.123456Z n3 rank3 | text", {}).own_tag);
  EXPECT_FALSE(
      parse_job_prefix("[rank3]: 2026-11-29T21:18:32.123456Z n9 rank7 | text", {}).own_tag);
  EXPECT_TRUE(parse_job_prefix("2026-11-29T21:18:32.123456Z n3 rank3 | text", {}).own_tag);
}

TEST(JobPrefix, GuessesHosts) {
  for (const auto* name :
       {"c000001", "gpu-node-7", "n3", "node12", "worker-0", "h100-3.cluster1"}) {
    EXPECT_TRUE(looks_like_host(name)) << name;
  }
  for (const auto* name :
       {"", "epoch3", "step_100", "torch", "rank3", "3", "Epoch7", "-n3", "gpu0", "v2"}) {
    EXPECT_FALSE(looks_like_host(name)) << name;
  }
}

}  // namespace
}  // namespace faultline
