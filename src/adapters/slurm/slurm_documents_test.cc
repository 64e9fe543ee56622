#include "adapters/slurm/slurm_documents.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "adapters/slurm/slurm_command.h"

namespace faultline {
namespace {

std::string fixture(const std::string& name) {
  std::ifstream file(std::string(FAULTLINE_SOURCE_DIR "/tests/fixtures/slurm/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::vector<SlurmJob> jobs_of(const std::string& name) {
  auto jobs = parse_jobs_json(fixture(name));
  EXPECT_TRUE(jobs.ok());
  return jobs ? std::move(jobs).value() : std::vector<SlurmJob>{};
}

using Names = std::vector<std::string>;

class JobShapes : public ::testing::TestWithParam<const char*> {};

/// The same cluster, told by four generations of Slurm.
TEST_P(JobShapes, SayTheSame) {
  const auto jobs = jobs_of(GetParam());
  ASSERT_EQ(jobs.size(), 6U);

  const auto& running = jobs[0];
  EXPECT_EQ(running.id, "1");
  EXPECT_EQ(running.name, "a;$(touch x)\"q JobState=FAILED");
  EXPECT_EQ(running.state, AttemptState::running);
  EXPECT_EQ(running.nodes, (Names{"n1", "n2", "n3", "n7"}));
  EXPECT_EQ(running.excluded, (Names{"n2", "n9"}));
  EXPECT_EQ(running.restart, 1U);
  EXPECT_TRUE(running.batch && running.requeue && !running.held);
  EXPECT_EQ(running.start, Instant{std::chrono::seconds{1795988076}});

  const auto& held = jobs[1];
  EXPECT_EQ(held.id, "2_1");
  EXPECT_EQ(held.array_job, "2");
  EXPECT_TRUE(held.held);
  EXPECT_TRUE(held_by_requeue(held));
  EXPECT_EQ(held.admin_comment, "faultline:a-1");
  EXPECT_EQ(update_target(held), "2_1");

  const auto& tail = jobs[2];
  EXPECT_EQ(tail.id, "2");
  EXPECT_EQ(tail.array_tasks, "2-4");
  EXPECT_EQ(update_target(tail), "2_[2-4]");
  EXPECT_FALSE(tail.held);

  EXPECT_EQ(jobs[3].state, AttemptState::failed);
  EXPECT_EQ(jobs[3].exit_code, 3);
  EXPECT_FALSE(jobs[3].requeue);

  EXPECT_EQ(jobs[4].id, "4+1");
  EXPECT_EQ(jobs[4].het_job, "4");
  EXPECT_EQ(jobs[4].nodes, Names{"n2"});

  EXPECT_EQ(jobs[5].state, AttemptState::cancelled);
  EXPECT_EQ(jobs[5].exit_code, 128 + 15);
  EXPECT_FALSE(jobs[5].batch);
}
INSTANTIATE_TEST_SUITE_P(Slurm, JobShapes,
                         ::testing::Values("jobs-22.05.json", "jobs-23.11.json", "jobs-24.05.json",
                                           "jobs-24.11.json"));

TEST(JobShapes, ListsOfStates) {
  const auto jobs = jobs_of("jobs-25.05.json");
  ASSERT_EQ(jobs.size(), 4U) << "what is no job is left out";
  EXPECT_EQ(jobs[0].state, AttemptState::running);
  EXPECT_EQ(jobs[1].state, AttemptState::pending);
  EXPECT_TRUE(jobs[1].completing);
  EXPECT_TRUE(jobs[1].held);
  EXPECT_EQ(jobs[2].state, AttemptState::failed);
  EXPECT_TRUE(jobs[2].completing);
  EXPECT_EQ(jobs[3].state, AttemptState::node_fail);
}

class NodeShapes : public ::testing::TestWithParam<const char*> {};

TEST_P(NodeShapes, SayTheSame) {
  const auto parsed = parse_nodes_json(fixture(GetParam()));
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 5U) << "a name with shell characters is no node";
  const auto& mixed = (*parsed)[0].node;
  EXPECT_TRUE(mixed.available && !mixed.idle && !mixed.drained);
  EXPECT_TRUE(known(mixed.boot_time));
  const auto& drained = (*parsed)[1].node;
  EXPECT_TRUE(drained.drained && !drained.available && !drained.idle);
  EXPECT_EQ(drained.drain_reason, "operator: fan broken");
  EXPECT_EQ(drained.drain_owner, "root");
  EXPECT_EQ((*parsed)[1].features, (Names{"spare", "ib"}));
  const auto& down = (*parsed)[2].node;
  EXPECT_TRUE(down.down && !down.available && !down.drained);
  EXPECT_EQ(down.partitions, (Names{"train", "debug"}));
  const auto& maintenance = (*parsed)[3].node;
  EXPECT_TRUE(maintenance.maintenance && !maintenance.available);
  const auto& idle = (*parsed)[4].node;
  EXPECT_TRUE(idle.available && idle.idle);
}
INSTANTIATE_TEST_SUITE_P(Slurm, NodeShapes,
                         ::testing::Values("nodes-22.05.json", "nodes-23.11.json",
                                           "nodes-24.05.json", "nodes-24.11.json",
                                           "nodes-25.05.json"));

TEST(SlurmJson, WhatIsNoRecordIsCounted) {
  std::size_t left_out = 0;
  EXPECT_TRUE(parse_jobs_json(fixture("jobs-24.11.json"), &left_out).ok());
  EXPECT_EQ(left_out, 0U);
  EXPECT_TRUE(parse_jobs_json(fixture("jobs-25.05.json"), &left_out).ok());
  EXPECT_EQ(left_out, 2U);
  EXPECT_TRUE(parse_nodes_json(fixture("nodes-25.05.json"), &left_out).ok());
  EXPECT_EQ(left_out, 3U);
}

TEST(SlurmJson, BadDocumentsAreErrors) {
  EXPECT_EQ(parse_jobs_json("").error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_jobs_json("[]").error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_jobs_json(R"({"jobs": 7})").error().code, ErrorCode::corrupt);
  EXPECT_TRUE(parse_jobs_json(R"({"jobs": [], "errors": []})").ok());
  const auto down = parse_jobs_json(
      R"x({"jobs": [], "errors": [{"error": "Unable to contact slurm controller (connect failure)"}]})x");
  EXPECT_EQ(down.error().code, ErrorCode::unavailable);
  // Cut anywhere: an error, never a crash.
  const auto text = fixture("jobs-22.05.json");
  for (std::size_t size = 0; size + 4 < text.size(); size += 7)
    EXPECT_FALSE(parse_jobs_json(text.substr(0, size)).ok());
}

std::string column(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}
std::string columns(const std::string& number, const std::string& restart,
                    const std::string& priority, const std::string& comment) {
  return column(number, 16) + column(restart, 8) + column("1", 4) + column("1", 4) +
         column("N/A", 16) + column("N/A", 8) + column(priority, 24) + column("768", 8) +
         column(priority == "0" ? "1795988454" : "N/A", 24) + column(comment, 256) + "\n";
}

TEST(SlurmText, JobsWithoutJson) {
  std::size_t left_out = 0;
  const auto parsed = parse_jobs_text(
      "12|12|FAILED|12|N/A|0|n9|n[1-2]|1795988547|1795988548|2|train||NonZeroExitCode\n"
      "6|2_1|PENDING|2|1|1000|||1795988334|N/A|1|train|n[4-5]|job requeued in held state\n"
      "2|2_[2-4%1]|PENDING|2|2-4%1|1000|||N/A|N/A|1|train,long||JobArrayTaskLimit\n"
      "15|14+1|RUNNING|15|N/A|0||n1|1795988549|NONE|1|train||None\n"
      "a forged line|with|few|fields\n",
      columns("12", "0", "4294901746", "(null)") + columns("6", "1", "0", "faultline:a-1") +
          columns("2", "0", "4294901746", "(null)") +
          columns("15", "0", "4294901746", "site comment"),
      &left_out);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(left_out, 1U);
  ASSERT_EQ(parsed->size(), 4U);
  const auto& failed = (*parsed)[0];
  EXPECT_EQ(failed.state, AttemptState::failed);
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.nodes, (Names{"n1", "n2"}));
  EXPECT_EQ(failed.excluded, Names{"n9"});
  EXPECT_EQ((*parsed)[1].id, "14+1");
  EXPECT_EQ((*parsed)[1].het_job, "14");
  EXPECT_EQ((*parsed)[1].admin_comment, "site comment");
  EXPECT_EQ((*parsed)[2].array_tasks, "2-4");
  EXPECT_TRUE((*parsed)[3].held);
  EXPECT_EQ((*parsed)[3].id, "2_1");
  EXPECT_EQ((*parsed)[3].admin_comment, "faultline:a-1");
  EXPECT_EQ((*parsed)[3].required, (Names{"n4", "n5"}));
  EXPECT_EQ((*parsed)[3].eligible, Instant{std::chrono::seconds{1795988454}});
  EXPECT_FALSE(known((*parsed)[2].eligible));
  EXPECT_TRUE((*parsed)[0].required.empty());
}

TEST(SlurmText, NodesWithoutJson) {
  std::size_t left_out = 0;
  const auto parsed = parse_nodes_text(
      "NodeName=n3 Arch=x86_64 CPUAlloc=0 ActiveFeatures=spare,ib State=DOWN*+DRAIN "
      "ThreadsPerCore=1 "
      "Partitions=train,debug  BootTime=1795987075 Reason=fan State=IDLE broken [root@1795988052]\n"
      "NodeName=n4 ActiveFeatures=(null) State=IDLE Partitions=train BootTime=1795987075\n"
      "NodeName=$(reboot) State=IDLE\n\n",
      &left_out);
  EXPECT_EQ(left_out, 1U);
  ASSERT_TRUE(parsed.ok());
  const auto& node = (*parsed)[0].node;
  EXPECT_TRUE(node.drained && node.down && !node.available) << "a reason cannot forge a state";
  EXPECT_EQ(node.drain_reason, "fan State=IDLE broken");
  EXPECT_EQ(node.drain_owner, "root");
  EXPECT_EQ((*parsed)[0].features, (Names{"spare", "ib"}));
  EXPECT_TRUE((*parsed)[1].node.idle);
  EXPECT_FALSE(parse_nodes_text("").ok());
}

TEST(SlurmText, TopologyAndReservations) {
  const auto leaf = parse_topology(
      "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-3]\nSwitchName=s2 Level=0 LinkSpeed=1 "
      "Nodes=n[4-6]\n"
      "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-6] Switches=s[1-2]\n");
  EXPECT_EQ(leaf.size(), 6U);
  EXPECT_EQ(leaf.at("n5"), "s2");
  const auto reservations = parse_reservations(
      "ReservationName=mnt StartTime=2026-11-29T21:34:13 Nodes=n[7-8] "
      "Flags=MAINT,IGNORE_JOBS,SPEC_NODES State=ACTIVE\n"
      "ReservationName=later Nodes=n1 Flags=MAINT State=INACTIVE\nReservationName=spares Nodes=n9 "
      "Flags=SPEC_NODES State=ACTIVE\n");
  ASSERT_EQ(reservations.size(), 3U);
  EXPECT_TRUE(reservations[0].active && reservations[0].maintenance);
  EXPECT_EQ(reservations[0].nodes, (Names{"n7", "n8"}));
  EXPECT_FALSE(reservations[1].active);
  EXPECT_FALSE(reservations[2].maintenance);
  EXPECT_TRUE(parse_reservations("No reservations in the system\n").empty());
}

TEST(SlurmErrors, OfSeveralLinesAreOneLine) {
  const SlurmCommand command({}, [](const auto&, Duration, const auto&) {
    ProcessResult result;
    result.exit_code = 1;
    result.err = "sinfo: error: resolve_ctls failed\n\n  sinfo: fatal: no configuration\r\n";
    return Result<ProcessResult>(result);
  });
  EXPECT_EQ(command.run({"sinfo"}).error().message,
            "sinfo: sinfo: error: resolve_ctls failed; sinfo: fatal: no configuration");
}

TEST(SlurmErrors, AreClassified) {
  EXPECT_EQ(classify_slurm_error(
                "slurm_update error: Unable to contact slurm controller (connect failure)"),
            ErrorCode::unavailable);
  EXPECT_EQ(classify_slurm_error(
                "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"),
            ErrorCode::unavailable);
  EXPECT_EQ(classify_slurm_error("slurm_update error: Socket timed out on send/recv operation"),
            ErrorCode::deadline_exceeded);
  EXPECT_EQ(
      classify_slurm_error("error: slurm_receive_msgs: Zero Bytes were transmitted or received"),
      ErrorCode::deadline_exceeded);
  EXPECT_EQ(classify_slurm_error("Slurm backup controller in standby mode"),
            ErrorCode::unavailable);
  EXPECT_EQ(classify_slurm_error("Invalid job id specified for job 99"), ErrorCode::not_found);
  EXPECT_EQ(classify_slurm_error("slurm_update error: Access/permission denied"),
            ErrorCode::permission_denied);
  EXPECT_EQ(classify_slurm_error("Job is no longer pending execution for job 1"),
            ErrorCode::conflict);
  EXPECT_EQ(classify_slurm_error("Only batch jobs are accepted or processed for job 8"),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace faultline
