#include "ingest/scontrol_show.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ingest/decoder_fixture.h"
#include "tests/fixtures/event_lines.h"

namespace faultline {
namespace {

class ScontrolShow : public DecoderTest {
 protected:
  std::vector<Event> events_of(const std::string& text, Duration utc_offset = {}) {
    Origin origin;
    origin.source = EventSource::scheduler;
    origin.path = "scontrol.txt";
    origin.utc_offset = utc_offset;
    auto events = decode_scontrol_show(text, origin, counters_, database(EventSource::scheduler));
    error_ = events ? "" : events.error().message;
    return events ? std::move(events).value() : std::vector<Event>{};
  }
  std::string error_;
};

const std::string job =
    "JobId=12 ArrayJobId=2 ArrayTaskId=4 JobName=train llama\n"
    "   UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A\n"
    "   Priority=1 Nice=0 Account=(null) QOS=normal\n"
    "   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n"
    "   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=1:0\n"
    "   RunTime=00:18:32 TimeLimit=UNLIMITED TimeMin=N/A\n"
    "   StartTime=2026-11-29T21:00:00 EndTime=2026-11-29T21:18:32 Deadline=N/A\n"
    "   Partition=train AllocNode:Sid=login1:4242\n"
    "   ReqNodeList=(null) ExcNodeList=n9\n"
    "   NodeList=n[1-2]\n"
    "   BatchHost=n1\n"
    "   Command=/home/ann/JobState=RUNNING NodeList=n7\n"
    "   WorkDir=/home/ann\n";

const std::string node =
    "NodeName=n3 Arch=x86_64 CoresPerSocket=32 \n"
    "   Gres=gpu:h100:8\n"
    "   NodeAddr=n3 NodeHostName=n3 Version=23.02.6\n"
    "   OS=Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC\n"
    "   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A\n"
    "   Partitions=train \n"
    "   BootTime=2026-11-20T08:00:00 SlurmdStartTime=2026-11-20T08:01:00\n"
    "   CfgTRES=cpu=64,mem=1000G,gres/gpu=8\n"
    "   Reason=Kill task failed [root@2026-11-29T21:18:32]\n"
    "   Comment=Reason=none\n";

/// As -o prints it.
std::string on_one_line(std::string text) {
  for (std::size_t at = text.find("\n   "); at != std::string::npos; at = text.find("\n   "))
    text.replace(at, 4, " ");
  return text;
}

TEST_F(ScontrolShow, AJobThatEnded) {
  for (const auto& text : {job, on_one_line(job)}) {
    const auto events = events_of(text);
    EXPECT_EQ(event_lines(events, {"nodes", "state", "exit_code", "user", "name", "array_job"}),
              "2026-11-29T21:00:00 attempt_started attempt:2_4#2 array_job=2 exit_code=1 "
              "name=train llama nodes=n1,n2 state=failed user=ann\n"
              "2026-11-29T21:18:32 attempt_ended attempt:2_4#2 array_job=2 exit_code=1 "
              "name=train llama nodes=n1,n2 state=failed user=ann\n");
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].field("restartable"), "true");
    EXPECT_EQ(events[1].field("reason"), "NonZeroExitCode");
    EXPECT_EQ(events[1].raw.offset, 0U);
    EXPECT_TRUE(events[1].raw.text.starts_with("JobId=12 ArrayJobId=2 ArrayTaskId=4 JobName="));
  }
}

TEST_F(ScontrolShow, ANodeWithAReason) {
  for (const auto& text : {node, on_one_line(node)}) {
    const auto events = events_of(text, std::chrono::hours{1});
    EXPECT_EQ(event_lines(events, {"state", "down", "drained", "available", "reason", "owner",
                                   "boot_time", "was_down"}),
              "2026-11-29T20:18:32 node_seen node:n3 available=false "
              "boot_time=2026-11-20T07:00:00.000000Z down=true drained=true owner=root "
              "reason=Kill task failed state=DOWN+DRAIN+NOT_RESPONDING was_down=false\n"
              "2026-11-29T20:18:32 reason.killtask node:n3\n")
        << text;
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].source, EventSource::scheduler);
    EXPECT_EQ(events[1].raw, events[0].raw);
    EXPECT_NE(events[1].id, events[0].id);
  }
}

TEST_F(ScontrolShow, AHealthyNodeHasNoTime) {
  const auto events =
      events_of("NodeName=n4 Arch=x86_64\n   State=IDLE ThreadsPerCore=2\n   BootTime=None\n\n");
  EXPECT_EQ(event_lines(events, {"state", "available", "down", "boot_time", "reason"}),
            "- node_seen node:n4 available=true boot_time=- down=false state=IDLE\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].clock, ClockDomain::none);
}

TEST_F(ScontrolShow, ReasonsOfPeopleAreNoSignature) {
  const auto events = events_of(
      "NodeName=n4 State=IDLE+DRAIN Reason=we need it: Kill task failed? "
      "[ann@2026-11-29T21:18:32]\n");
  EXPECT_EQ(event_lines(events, {"reason", "owner", "drained"}),
            "2026-11-29T21:18:32 node_seen node:n4 drained=true owner=ann reason=we need it: Kill "
            "task failed?\n");
}

TEST_F(ScontrolShow, ManyRecordsOfBothKinds) {
  const auto events = events_of("$ scontrol show job; scontrol show node\n" + job + "\n" + node +
                                "\n" + on_one_line(node) + job);
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& event) { return event.kind == EventKind::node_seen; }),
            2);
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& event) { return event.kind == EventKind::attempt_ended; }),
            1)
      << "the same record twice is one run";
  EXPECT_EQ(counters_.get("slurm_records_bad_total"), 0U);
}

TEST_F(ScontrolShow, WhatRunsOrWaits) {
  const auto events = events_of(
      "JobId=7 JobName=a UserId=ann(1) JobState=RUNNING StartTime=2026-11-29T21:00:00 "
      "EndTime=2026-11-30T21:00:00 NodeList=n1 ExitCode=0:0\n"
      "JobId=8 JobName=a UserId=ann(1) JobState=PENDING StartTime=2026-11-30T21:00:00 "
      "EndTime=Unknown NodeList=(null)\n"
      "JobId=9 HetJobId=9 HetJobOffset=1 JobName=a UserId=ann(1) JobState=COMPLETING "
      "StartTime=2026-11-29T21:00:00 NodeList=n1\n"
      "JobId=10 ArrayJobId=10 ArrayTaskId=3-9%2 JobName=a UserId=ann(1) JobState=PENDING\n");
  EXPECT_EQ(event_lines(events, {"state", "exit_code"}),
            "2026-11-29T21:00:00 attempt_started attempt:7#0 state=running\n"
            "2026-11-29T21:00:00 attempt_started attempt:9+1#0 state=completing\n");
  EXPECT_EQ(counters_.get("slurm_records_bad_total"), 0U);
}

TEST_F(ScontrolShow, ANameForgesNoField) {
  const auto one = events_of(
      "JobId=7 JobName=a JobState=COMPLETED NodeList=n9 UserId=ann(1) JobState=FAILED "
      "StartTime=2026-11-29T21:00:00 EndTime=2026-11-29T21:00:09 NodeList=n1\n");
  EXPECT_EQ(event_lines(one, {"state", "nodes"}),
            "2026-11-29T21:00:00 attempt_started attempt:7#0 nodes=n1 state=failed\n"
            "2026-11-29T21:00:09 attempt_ended attempt:7#0 nodes=n1 state=failed\n");
  EXPECT_TRUE(events_of("JobId=7 JobName=a UserId=bob(2) JobState=COMPLETED UserId=ann(1) "
                        "JobState=FAILED StartTime=2026-11-29T21:00:00 NodeList=n1\n")
                  .empty())
      << "which of them is Slurm's nobody can tell";
  EXPECT_EQ(counters_.get("slurm_records_bad_total"), 1U);
}

TEST_F(ScontrolShow, BadRecordsAreCounted) {
  EXPECT_TRUE(
      events_of("JobId=7\nNodeName=;reboot State=DOWN\nJobId=x JobName=a UserId=a(1)\n").empty());
  EXPECT_EQ(counters_.get("slurm_records_bad_total"), 3U);
  EXPECT_EQ(error_, "");
  EXPECT_TRUE(events_of("No jobs in the system\n").empty());
  EXPECT_NE(error_.find("scontrol show job"), std::string::npos);
  for (std::size_t size = 0; size < job.size(); ++size) events_of(job.substr(0, size));
}

}  // namespace
}  // namespace faultline
