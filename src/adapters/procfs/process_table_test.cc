#include "adapters/procfs/process_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "adapters/procfs/boot_facts.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class ProcfsTest : public testing::Test {
 protected:
  ProcfsTest() {
    std::string pattern = (fs::temp_directory_path() / "proc-XXXXXX").string();
    proc_ = ::mkdtemp(pattern.data());
  }
  ~ProcfsTest() override { fs::remove_all(proc_); }

  std::optional<ProcessOrigin> origin(const std::string& cgroup, const std::string& environment) {
    fs::create_directories(proc_ / "7");
    std::ofstream(proc_ / "7/status") << "Name:\tpython\nUid:\t1001\t0\t0\t0\nGid:\t5\n";
    std::ofstream(proc_ / "7/cgroup") << cgroup;
    std::ofstream(proc_ / "7/environ", std::ios::binary) << environment;
    return ProcfsTable(proc_).origin(7);
  }
  fs::path proc_;
};

const std::string v1 = "12:memory:/slurm/uid_1001/job_55/step_0/task_0\n1:name=systemd:/\n";
const std::string v2 = "0::/system.slice/slurmstepd.scope/job_55/step_0/user/task_0\n";

TEST(JobOfCgroup, KnowsBothVersions) {
  EXPECT_EQ(job_of_cgroup(v1), "55");
  EXPECT_EQ(job_of_cgroup(v2), "55");
  EXPECT_EQ(job_of_cgroup("0::/user.slice/job_55\n"), "") << "not Slurm's";
  EXPECT_EQ(job_of_cgroup("0::/slurm/job_x/job_-1\n"), "");
  EXPECT_EQ(job_of_cgroup("0::/slurm/uid_1/job_55/job_66\n"), "55") << "the user's own come later";
  EXPECT_EQ(job_of_cgroup(""), "");
}

TEST_F(ProcfsTest, EnvironmentThatAgreesWithTheCgroupSaysMore) {
  using namespace std::string_literals;
  const auto found = origin(
      v2,
      "A=1\0SLURM_JOB_ID=55\0SLURM_ARRAY_JOB_ID=50\0SLURM_ARRAY_TASK_ID=5\0SLURM_RESTART_COUNT=2\0SLURM_PROCID=3\0"s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job, "50_5");
  EXPECT_EQ(found->restart, 2U);
  EXPECT_EQ(found->rank, 3);
  EXPECT_EQ(found->uid, 1001U) << "the real user";
}

TEST_F(ProcfsTest, EnvironmentThatContradictsTheCgroupIsNotBelieved) {
  using namespace std::string_literals;
  EXPECT_EQ(origin(v1, "SLURM_JOB_ID=66\0"s)->job, "55");
  EXPECT_EQ(origin(v1, "FAULTLINE_JOB=victim\0"s)->job, "55");
  EXPECT_EQ(origin(v1, "")->job, "55");
}

TEST_F(ProcfsTest, WithoutACgroupTheEnvironmentIsAllThereIs) {
  using namespace std::string_literals;
  EXPECT_EQ(origin("0::/\n", "SLURM_JOB_ID=66\0"s)->job, "66");
  EXPECT_EQ(origin("0::/\n", "FAULTLINE_JOB=mine\0FAULTLINE_RESTART=1\0"s)->job, "mine");
  EXPECT_EQ(origin("0::/\n", "SLURM_JOB_ID=../x\0"s)->job, "");
  EXPECT_EQ(origin("0::/\n", "HOME=/root\0"s)->job, "");
}

TEST_F(ProcfsTest, HugeEnvironmentIsReadUpToItsLimit) {
  using namespace std::string_literals;
  EXPECT_EQ(origin("0::/\n", "X="s + std::string(1 << 20, 'x') + "\0SLURM_JOB_ID=66\0"s)->job, "");
}

TEST_F(ProcfsTest, NoSuchProcess) { EXPECT_FALSE(ProcfsTable(proc_).origin(8)); }

TEST(Procfs, KnowsThisProcessAndThisBoot) {
  const auto me = ProcfsTable().origin(::getpid());
  ASSERT_TRUE(me);
  EXPECT_EQ(me->uid, ::getuid());
  const BootFacts boot = read_boot_facts();
  EXPECT_FALSE(boot.boot_id.empty());
  EXPECT_TRUE(known(boot.boot_time));
}

TEST_F(ProcfsTest, BootFactsOfAnEmptyProcAreUnknown) {
  const BootFacts boot = read_boot_facts(proc_);
  EXPECT_EQ(boot.boot_id, "");
  EXPECT_FALSE(known(boot.boot_time));
}

}  // namespace
}  // namespace faultline
