#include "diagnose/job_nodes.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using Names = std::vector<std::string>;

TEST(JobNodes, AsTheEnvironmentHasThem) {
  EXPECT_EQ(nodes_printed_by_job("SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[1-2]\n"),
            (Names{"n1", "n2"}));
  EXPECT_EQ(nodes_printed_by_job("declare -x SLURM_NODELIST=\"gpu-17\"\n"), Names{"gpu-17"});
  EXPECT_EQ(nodes_printed_by_job("SLURM_NODELIST=n1\nSLURM_JOB_NODELIST=n1\n"), Names{"n1"});
}

TEST(JobNodes, NothingWhereNobodySays) {
  EXPECT_TRUE(nodes_printed_by_job("").empty());
  EXPECT_TRUE(nodes_printed_by_job("export SLURM_JOB_NODELIST=$nodes\n").empty()) << "a script";
  EXPECT_TRUE(nodes_printed_by_job("MY_SLURM_NODELIST=n1\nSLURM_JOB_NODELIST: n1\n").empty());
  EXPECT_TRUE(nodes_printed_by_job("SLURM_JOB_NODELIST=n1\nSLURM_JOB_NODELIST=n2\n").empty())
      << "of several jobs";
}

}  // namespace
}  // namespace faultline
