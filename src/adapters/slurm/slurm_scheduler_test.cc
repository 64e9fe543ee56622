#include "adapters/slurm/slurm_scheduler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "adapters/slurm/slurm_tie.h"
#include "base/text.h"

namespace faultline {
namespace {

std::string fixture(const std::string& name) {
  std::ifstream file(std::string(FAULTLINE_SOURCE_DIR "/tests/fixtures/slurm/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Answers by the command line's text; counts.
class SlurmViews : public ::testing::Test {
 protected:
  SlurmViews() {
    answers_["sinfo --version"] = "slurm-wlm 22.05.8\n";
    answers_["sinfo --json"] = fixture("nodes-22.05.json");
    answers_["squeue --json"] = fixture("jobs-22.05.json");
    answers_["scontrol -o show topology"] = "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-3]\n";
    answers_["scontrol -o show reservation"] = "No reservations in the system\n";
    answers_["scontrol -o show node"] =
        "NodeName=n1 State=IDLE Partitions=train BootTime=1795987075\n";
  }
  SlurmScheduler scheduler(SlurmOptions options = {}) {
    return {std::move(options), clock_, counters_,
            [this](const std::vector<std::string>& argv, Duration,
                   const std::vector<std::string>&) -> Result<ProcessResult> {
              std::string line = join(argv, " ");
              if (line.starts_with("squeue --noheader")) line = "squeue text";
              if (line.starts_with("sacct ")) {
                sacct_line_ = std::exchange(line, "sacct");
                if (!answers_.contains("sacct") && ++asked_["sacct"])
                  return ProcessResult{1, "", "Slurm accounting storage is disabled", false, false};
              }
              ++asked_[line];
              if (down_)
                return ProcessResult{1, "", "Unable to contact slurm controller (connect failure)",
                                     false, false};
              return ProcessResult{0, answers_[line], "", false, false};
            }};
  }

  std::map<std::string, std::string> answers_;
  /// Job 1 of the fixture, which runs, leaves the list.
  void forget_job_1() {
    auto jobs = nlohmann::json::parse(answers_["squeue --json"]);
    auto& list = jobs["jobs"];
    for (std::size_t i = list.size(); i-- > 0;) {
      if (list[i]["job_id"] == 1) list.erase(i);
    }
    answers_["squeue --json"] = jobs.dump();
  }
  static std::int64_t seconds_of(Instant at) {
    return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  }

  std::map<std::string, int> asked_;
  std::string sacct_line_;
  bool down_ = false;
  ManualClock clock_{Instant{std::chrono::hours{24 * 365 * 56}}};
  Counters counters_;
};

TEST_F(SlurmViews, PutsNodesJobsAndTopologyTogether) {
  auto slurm = scheduler();
  const auto view = slurm.view();
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->scheduler, "slurm 22.05.8");
  EXPECT_EQ(view->taken_at, clock_.now());
  EXPECT_EQ(view->nodes.size(), 5U);
  EXPECT_EQ(view->node("n2")->network_switch, "s1");
  EXPECT_EQ(view->node("n5")->network_switch, "");
  EXPECT_TRUE(view->node("n5")->spare);
  EXPECT_FALSE(view->node("n1")->spare) << "busy";
  const auto* attempt = view->attempt({"1", 1});
  ASSERT_NE(attempt, nullptr);
  EXPECT_TRUE(attempt->restartable);
  EXPECT_FALSE(view->attempt({"3", 0})->restartable) << "Requeue=0";
  EXPECT_EQ(view->attempt({"3", 0})->exit_code, 3);
  EXPECT_EQ(view->attempt({"2_1", 1})->array_job, "2");
}

TEST_F(SlurmViews, WhatIsNoJobAndNoNodeIsCounted) {
  auto slurm = scheduler();
  ASSERT_TRUE(slurm.view().ok());
  EXPECT_EQ(counters_.get("slurm_records_left_out_total"), 1U);  // a node called $(reboot)
  answers_["sinfo --json"] = answers_["squeue --json"] = "no JSON";
  answers_["scontrol -o show node"] += "NodeName=$(reboot) State=IDLE\n";
  answers_["squeue text"] = "a forged line|with|few|fields\n";
  ASSERT_TRUE(slurm.view().ok());
  EXPECT_EQ(counters_.get("slurm_records_left_out_total"), 3U);
}

TEST_F(SlurmViews, TheBootIdIsWhenSlurmctldWasStarted) {
  auto slurm = scheduler();
  EXPECT_FALSE(slurm.daemon_id().ok()) << "it does not answer";
  answers_["scontrol show config"] =
      "Configuration data as of 1795990000\nAccountingStorageHost   = localhost\n"
      "BOOT_TIME               = 1795987075\nBatchStartTimeout       = 10 sec\n";
  EXPECT_EQ(slurm.daemon_id().value(), "1795987075");
  answers_["scontrol show config"] = "BOOT_TIME               = N/A\n";
  EXPECT_FALSE(slurm.daemon_id().ok());
}

TEST_F(SlurmViews, SparesAreWhatTheSiteSays) {
  SlurmOptions by_feature;
  by_feature.spare_feature = "ib";
  auto slurm = scheduler(by_feature);
  EXPECT_FALSE(slurm.view()->node("n5")->spare) << "idle, but without the feature";
  SlurmOptions by_reservation;
  by_reservation.spare_reservation = "spares";
  answers_["scontrol -o show reservation"] =
      "ReservationName=spares Nodes=n5 Flags=SPEC_NODES State=ACTIVE\n";
  auto other = scheduler(by_reservation);
  EXPECT_TRUE(other.view()->node("n5")->spare);
}

TEST_F(SlurmViews, AReservationThatHasJustBegunCounts) {
  answers_["scontrol -o show reservation"] =
      "ReservationName=mnt Nodes=n[1,5] Flags=MAINT State=ACTIVE\n";
  auto slurm = scheduler();
  const auto view = slurm.view();
  EXPECT_TRUE(view->node("n5")->maintenance);
  EXPECT_FALSE(view->node("n5")->available);
}

TEST_F(SlurmViews, RemembersTheAttemptThatARequeueEnded) {
  auto slurm = scheduler();
  ASSERT_TRUE(slurm.view().ok());
  std::string later = answers_["squeue --json"];
  // Job 1 was requeued: while its nodes complete, 22.05 shows them under the new attempt.
  later.replace(later.find("\"job_state\": \"RUNNING\""), 22, "\"job_state\": \"COMPLETING\"");
  later.replace(later.find("\"restart_cnt\": 1"), 16, "\"restart_cnt\": 2");
  answers_["squeue --json"] = later;
  clock_.advance(std::chrono::seconds{5});
  const auto view = slurm.view();
  ASSERT_NE(view->attempt({"1", 1}), nullptr);
  EXPECT_EQ(view->attempt({"1", 1})->state, AttemptState::requeued);
  EXPECT_EQ(view->attempt({"1", 1})->nodes.size(), 4U);
  EXPECT_EQ(view->attempt({"1", 1})->ended_at, clock_.now());
  EXPECT_EQ(view->attempt({"1", 2})->state, AttemptState::pending);
  EXPECT_TRUE(view->attempt({"1", 2})->nodes.empty());
  clock_.advance(remembered_attempts_age_max + std::chrono::seconds{1});
  EXPECT_EQ(slurm.view()->attempt({"1", 1}), nullptr) << "not for ever";
}

TEST_F(SlurmViews, AccountingTellsTheEndOfAJobThatSlurmctldForgot) {
  auto slurm = scheduler();
  const auto first = slurm.view();
  const auto start = seconds_of(first->attempt({"1", 1})->started_at);
  const auto at = [&](std::int64_t seconds) { return std::to_string(start + seconds); };
  // The attempt before has the same number; the times tell them apart.
  answers_["sacct"] = "1|REQUEUED|3:0|" + at(-60) + "|" + at(-5) + "\n1|NODE_FAIL|0:9|" + at(0) +
                      "|" + at(30) + "\n";
  forget_job_1();
  const auto view = slurm.view();
  const auto* attempt = view->attempt({"1", 1});
  ASSERT_NE(attempt, nullptr);
  EXPECT_EQ(attempt->state, AttemptState::node_fail);
  EXPECT_EQ(attempt->exit_code, 128 + 9);
  EXPECT_EQ(seconds_of(attempt->ended_at), start + 30);
  EXPECT_EQ(attempt->nodes.size(), 4U);
  EXPECT_NE(sacct_line_.find(" --jobs=1 "), std::string::npos) << sacct_line_;
  ASSERT_NE(slurm.view()->attempt({"1", 1}), nullptr) << "and remembers it";
  EXPECT_EQ(asked_["sacct"], 1);
}

TEST_F(SlurmViews, WithoutAccountingAnEndStaysUnknownAndNobodyIsAskedAgainAtOnce) {
  auto slurm = scheduler();
  const std::string jobs = (static_cast<void>(slurm.view()), answers_["squeue --json"]);
  for (int i = 0; i < 3; ++i) {
    forget_job_1();
    EXPECT_EQ(slurm.view()->attempt({"1", 1}), nullptr);
    answers_["squeue --json"] = jobs;
    ASSERT_TRUE(slurm.view());
  }
  EXPECT_EQ(asked_["sacct"], 1);
  EXPECT_EQ(counters_.get("slurm_accounting_errors_total"), 1U);
  clock_.advance(accounting_pause);
  forget_job_1();
  ASSERT_TRUE(slurm.view());
  EXPECT_EQ(asked_["sacct"], 2);
}

TEST_F(SlurmViews, AnAccountingRecordOfAnotherStartIsNotThisAttempts) {
  auto slurm = scheduler();
  const auto start = seconds_of(slurm.view()->attempt({"1", 1})->started_at);
  answers_["sacct"] =
      "1|FAILED|1:0|" + std::to_string(start - 60) + "|" + std::to_string(start - 5) + "\n";
  forget_job_1();
  EXPECT_EQ(slurm.view()->attempt({"1", 1}), nullptr);
}

TEST(SlurmAccounting, ReadsWhatSacctPrints) {
  const auto records = parse_accounting(
      "1|REQUEUED|3:0|1796001698|1796001701\n"
      "2_1|FAILED|0:9|1796001698|1796001698\n"
      "4+1|CANCELLED by 0|0:0|1796001699|1796001700\n"
      "1|PENDING|0:0|Unknown|Unknown\n"  // it never ran
      "1|RUNNING|0:0|1796001822|Unknown\n"
      "7.batch|FAILED|1:0|1796001698|1796001701\n"
      "$(id)|FAILED|1:0|1796001698|1796001701\n"
      "8|FAILED|1:0\n\x01\xff|||||\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].state, AttemptState::requeued);
  EXPECT_EQ(records[0].exit_code, 3);
  EXPECT_EQ(records[1].job, "2_1");
  EXPECT_EQ(records[1].exit_code, 128 + 9);
  EXPECT_EQ(records[2].job, "4+1");
  EXPECT_EQ(records[2].state, AttemptState::cancelled);
}

TEST_F(SlurmViews, AnOutageIsNoReasonToGiveUpJson) {
  auto slurm = scheduler();
  ASSERT_TRUE(slurm.view().ok());
  const std::string jobs = answers_["squeue --json"];
  // What the clients of 22.05 print, with exit code 0, when slurmctld is away.
  answers_["squeue --json"] =
      R"({"errors": [{"error": "Unspecified error", "error_number": -1}], "jobs": []})";
  for (int i = 0; i < 10; ++i) {
    down_ = i > 0;
    static_cast<void>(slurm.view());
  }
  EXPECT_EQ(slurm.view().error().code, ErrorCode::unavailable);
  down_ = false;
  answers_["squeue --json"] = jobs;
  EXPECT_EQ(slurm.view()->attempt({"1", 1})->name, "a;$(touch x)\"q JobState=FAILED");
}

TEST_F(SlurmViews, ASlurmWithoutJsonIsReadAsText) {
  answers_["sinfo --json"] = answers_["squeue --json"] = "unrecognized option '--json'";
  auto slurm = scheduler();
  for (int i = 0; i < 5; ++i) {
    const auto view = slurm.view();
    ASSERT_TRUE(view.ok());
    EXPECT_TRUE(view->node("n1")->idle);
  }
  EXPECT_LE(asked_["sinfo --json"] + asked_["squeue --json"], json_failures_max)
      << "it does not ask for ever";
}

/// Slurm requeued a job by itself that an act had tied to its nodes.
TEST_F(SlurmViews, AWaitingJobThatIsTiedShowsItsActHalfDone) {
  const auto half_done = [&](const std::string& state, const std::string& comment) {
    auto jobs = nlohmann::json::parse(answers_["squeue --json"]);
    auto& job = jobs["jobs"][0];
    job["job_state"] = state;
    job["admin_comment"] = comment;
    job["required_nodes"] = "n[1,3]";
    answers_["squeue --json"] = jobs.dump();
    return scheduler().view()->half_done;
  };
  const auto ours = comment_of("a-1", {"n1", "n3"});
  EXPECT_EQ(half_done("PENDING", ours), std::vector<ActionId>{"a-1"});
  EXPECT_TRUE(half_done("RUNNING", ours).empty()) << "Slurm takes the list from no job that runs";
  EXPECT_TRUE(half_done("PENDING", comment_of("a-1", {"n1"})).empty()) << "its user's list by now";
  EXPECT_TRUE(half_done("PENDING", "").empty());
}

}  // namespace
}  // namespace faultline
