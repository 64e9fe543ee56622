#include "ingest/slurm_accounting.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "ingest/decoder_fixture.h"
#include "tests/fixtures/event_lines.h"

namespace faultline {
namespace {

Origin scheduler_origin(Duration utc_offset = {}) {
  Origin origin;
  origin.source = EventSource::scheduler;
  origin.path = "sacct.txt";
  origin.utc_offset = utc_offset;
  return origin;
}

struct Decoded {
  std::vector<Event> events;
  std::string error;
  CounterValues counts;
  std::string lines;
};

Decoded decode(const std::string& text, Duration utc_offset = {}) {
  Counters counters;
  Decoded decoded;
  auto events = text.starts_with('{')
                    ? decode_slurm_accounting_json(text, scheduler_origin(utc_offset), counters)
                    : decode_slurm_accounting(text, scheduler_origin(utc_offset), counters);
  if (events)
    decoded.events = std::move(events).value();
  else
    decoded.error = events.error().message;
  decoded.counts = counters.snapshot();
  decoded.lines = event_lines(decoded.events, {"nodes", "state", "exit_code"});
  return decoded;
}

std::uint64_t bad_rows(const Decoded& decoded) {
  const auto found = decoded.counts.find("slurm_accounting_rows_bad_total");
  return found == decoded.counts.end() ? 0 : found->second;
}

TEST(SlurmAccounting, ATableIsCutWhereItsRuleIs) {
  const std::string table =
      "JobID           JobName      State ExitCode \n"
      "------------ ---------- ---------- -------- \n"
      "7            train one  OUT_OF_ME+    0:125 \n"
      "7.batch           batch OUT_OF_ME+    0:125 \n"
      "8                 train CANCELLED+      0:0 \n"
      "9                 train   COMPL+        0:0 \n";  // no state is cut so
  const auto decoded = decode(table);
  ASSERT_EQ(decoded.events.size(), 5U);
  EXPECT_EQ(decoded.events[1].field("state"), "out_of_memory");
  EXPECT_EQ(decoded.events[1].field("name"), "train one");
  EXPECT_EQ(decoded.events[3].field("state"), "cancelled");
  EXPECT_EQ(decoded.events[4].kind, EventKind::attempt_started);
  EXPECT_NE(decode("a b\n--- ---\n1 2\n").error, "") << "no titles of sacct";
}

TEST(SlurmAccounting, WhatScontrolAndSqueueSayOfJobs) {
  const auto decoded =
      decode(R"({"jobs": [{"job_id": 12, "array_job_id": {"set": true, "number": 7},
    "array_task_id": {"set": true, "number": 3}, "job_state": ["NODE_FAIL"], "nodes": "n[1-2]",
    "user_name": "ann", "state_reason": "NodeDown", "failed_node": "n2",
    "start_time": {"set": true, "number": 1795590000},
    "end_time": {"set": true, "number": 1795600000}},
   {"job_id": 13, "job_state": ["RUNNING"], "start_time": {"set": true, "number": 1795590000},
    "end_time": {"set": true, "number": 1795999999}}]})");
  ASSERT_EQ(decoded.events.size(), 3U) << "one runs";
  EXPECT_EQ(decoded.events[1].subject.text(), "attempt:7_3#0");
  EXPECT_EQ(decoded.events[1].field("state"), "node_fail");
  EXPECT_EQ(decoded.events[1].field("failed_node"), "n2");
  EXPECT_EQ(decoded.events[1].field("user"), "ann");
}

TEST(SlurmAccounting, ARunStartsAndEnds) {
  const auto decoded = decode(
      "JobID|JobName|User|State|ExitCode|Start|End|NodeList\n"
      "7|train|ann|FAILED|1:0|2026-11-29T21:00:00|2026-11-29T21:18:32|n[1-3]\n"
      "7.batch|batch||FAILED|1:0|2026-11-29T21:00:00|2026-11-29T21:18:32|n1\n"
      "7.0|python||CANCELLED|0:9|2026-11-29T21:00:01|2026-11-29T21:18:30|n[1-3]\n");
  EXPECT_EQ(decoded.lines,
            "2026-11-29T21:00:00 attempt_started attempt:7#0 exit_code=1 nodes=n1,n2,n3 "
            "state=failed\n"
            "2026-11-29T21:18:32 attempt_ended attempt:7#0 exit_code=1 nodes=n1,n2,n3 "
            "state=failed\n");
  ASSERT_EQ(decoded.events.size(), 2U);
  const Event& end = decoded.events[1];
  EXPECT_EQ(end.source, EventSource::scheduler);
  EXPECT_EQ(end.clock, ClockDomain::scheduler);
  EXPECT_EQ(end.attempt, (AttemptId{"7", 0}));
  EXPECT_EQ(end.field("user"), "ann");
  EXPECT_EQ(end.field("name"), "train");
  EXPECT_EQ(end.field("steps"), "batch 1:0 n1; 0 0:9 n[1-3]");
  EXPECT_EQ(end.raw.path, "sacct.txt");
  EXPECT_EQ(end.raw.offset, 53U) << "its own line";
  EXPECT_TRUE(end.raw.text.starts_with("7|train|ann|FAILED"));
  EXPECT_FALSE(known(end.received_at));
  EXPECT_EQ(end.id, make_event_id(end));
}

TEST(SlurmAccounting, ColumnsInAnyOrderAndParsable) {
  const auto decoded = decode(
      "$ sacct -p\n"
      "NodeList|State|End|Start|JobID|\r\n"
      "n[1-2]|COMPLETED|2026-11-29T21:18:32|2026-11-29T21:00:00|7|\r\n"
      "JobID|State|Start|End|NodeList|\n"
      "8|TIMEOUT|2026-11-29T21:00:00|2026-11-29T21:18:32|n9|\n");
  EXPECT_EQ(decoded.lines,
            "2026-11-29T21:00:00 attempt_started attempt:7#0 nodes=n1,n2 state=completed\n"
            "2026-11-29T21:18:32 attempt_ended attempt:7#0 nodes=n1,n2 state=completed\n"
            "2026-11-29T21:00:00 attempt_started attempt:8#0 nodes=n9 state=timeout\n"
            "2026-11-29T21:18:32 attempt_ended attempt:8#0 nodes=n9 state=timeout\n");
  EXPECT_EQ(bad_rows(decoded), 0U);
}

TEST(SlurmAccounting, LocalTimeBecomesUtc) {
  const std::string row = "JobID|State|Start|End\n7|FAILED|2026-11-29T01:00:00|1796000000\n";
  const auto decoded = decode(row, std::chrono::hours{2});
  ASSERT_EQ(decoded.events.size(), 2U);
  EXPECT_EQ(to_text(decoded.events[0].observed_at), "2026-11-28T23:00:00.000000Z");
  EXPECT_EQ(decoded.events[1].observed_at, Instant{std::chrono::seconds{1796000000}})
      << "SLURM_TIME_FORMAT=%s is UTC already";
}

TEST(SlurmAccounting, RequeuesAreRestartsInTheOrderOfTheirStarts) {
  const std::string header = "JobID|State|Start|End|NodeList\n";
  const std::string first = "7|NODE_FAIL|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n";
  const std::string second = "7|REQUEUED|2026-11-29T21:15:00|2026-11-29T21:20:00|n2\n";
  const std::string third = "7|RUNNING|2026-11-29T21:30:00|Unknown|n3\n";
  const std::string waiting = "7|PENDING|Unknown|Unknown|None assigned\n";
  const std::string expected =
      "2026-11-29T21:00:00 attempt_started attempt:7#0 nodes=n1 state=node_fail\n"
      "2026-11-29T21:10:00 attempt_ended attempt:7#0 nodes=n1 state=node_fail\n"
      "2026-11-29T21:15:00 attempt_started attempt:7#1 nodes=n2 state=requeued\n"
      "2026-11-29T21:20:00 attempt_ended attempt:7#1 nodes=n2 state=requeued\n"
      "2026-11-29T21:30:00 attempt_started attempt:7#2 nodes=n3 state=running\n";
  EXPECT_EQ(decode(header + first + second + third).lines, expected);
  const auto sorted = [](const std::string& lines) {
    auto all = split(lines, '\n');
    std::sort(all.begin(), all.end());
    return join(all, "\n");
  };
  EXPECT_EQ(sorted(decode(header + waiting + third + first + second).lines), sorted(expected))
      << "the order of the rows does not count, and what waits has not run";
}

TEST(SlurmAccounting, ARecordThatIsThereTwiceIsOne) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList\n"
      "7|RUNNING|2026-11-29T21:00:00|Unknown|n1\n"
      "7|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n");
  EXPECT_EQ(decoded.lines,
            "2026-11-29T21:00:00 attempt_started attempt:7#0 nodes=n1 state=failed\n"
            "2026-11-29T21:10:00 attempt_ended attempt:7#0 nodes=n1 state=failed\n");
}

TEST(SlurmAccounting, TheNumberOfRestartsThatIsSaidCounts) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList|Restarts\n"
      "7|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1|3\n");
  ASSERT_EQ(decoded.events.size(), 2U);
  EXPECT_EQ(decoded.events[0].subject.text(), "attempt:7#3");
}

TEST(SlurmAccounting, ArraysAndHeterogeneousJobs) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList\n"
      "2_4|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n"
      "2_[5-9%2]|PENDING|Unknown|Unknown|None assigned\n"
      "9+1|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n2\n"
      "9+1.0|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n2\n");
  ASSERT_EQ(decoded.events.size(), 4U);
  EXPECT_EQ(decoded.events[0].field("array_job"), "2");
  EXPECT_EQ(decoded.events[2].subject.text(), "attempt:9+1#0");
  EXPECT_EQ(decoded.events[2].field("het_job"), "9");
  EXPECT_EQ(bad_rows(decoded), 0U) << "tasks that wait are no bad row";
}

TEST(SlurmAccounting, States) {
  const std::pair<std::string, std::string> states[] = {{"NODE_FAIL", "node_fail"},
                                                        {"OUT_OF_MEMORY", "out_of_memory"},
                                                        {"TIMEOUT", "timeout"},
                                                        {"PREEMPTED", "preempted"},
                                                        {"CANCELLED by 1000", "cancelled"},
                                                        {"REQUEUED", "requeued"},
                                                        {"BOOT_FAIL", "node_fail"},
                                                        {"DEADLINE", "timeout"},
                                                        {"FAILED", "failed"},
                                                        {"COMPLETED", "completed"},
                                                        {"CANCELLED", "cancelled"}};
  for (const auto& [word, state] : states) {
    const auto decoded =
        decode("JobID|State|Start|End\n7|" + word + "|2026-11-29T21:00:00|2026-11-29T21:10:00\n");
    ASSERT_EQ(decoded.events.size(), 2U) << word;
    EXPECT_EQ(decoded.events[1].field("state"), state) << word;
    EXPECT_EQ(decoded.events[1].field("cancelled_by"), word.ends_with("1000") ? "1000" : "");
  }
  EXPECT_EQ(decode("JobID|State|Start|End\n7|RUNNING|2026-11-29T21:00:00|Unknown\n").events.size(),
            1U)
      << "it has not ended";
}

TEST(SlurmAccounting, TheNodeThatFailedIsNamed) {
  const std::string header = "JobID|State|Start|End|NodeList|FailedNode\n";
  const std::string row = "7|NODE_FAIL|2026-11-29T21:00:00|2026-11-29T21:10:00|n[1-4]|";
  const auto failed_node = [](const Decoded& decoded) {
    return decoded.events.size() == 2 ? decoded.events[1].fields.contains("failed_node")
                                            ? decoded.events[1].fields.at("failed_node")
                                            : "none"
                                      : "no events";
  };
  EXPECT_EQ(failed_node(decode(header + row + "n3\n")), "n3");
  EXPECT_EQ(failed_node(decode(header + row + "\n")), "none");
  EXPECT_EQ(failed_node(decode(header + row + "None assigned\n")), "none");
  EXPECT_EQ(failed_node(decode(R"({"jobs": [{"job_id": 7, "state": {"current": ["NODE_FAIL"]},
      "failed_node": "n3", "time": {"start": 1795986000, "end": 1795987112}}]})")),
            "n3");
}

TEST(SlurmAccounting, WhatNeverRanGivesNothing) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList\n"
      "7|CANCELLED by 1000|None|2026-11-29T21:10:00|None assigned\n"
      "8|PENDING|Unknown|Unknown|None assigned\n");
  EXPECT_EQ(decoded.lines, "");
  EXPECT_EQ(bad_rows(decoded), 0U);
}

TEST(SlurmAccounting, ASignalOfAStepIsTheExitOfAJobThatSaysNone) {
  const std::string header = "JobID|State|ExitCode|Start|End|NodeList\n";
  const std::string times = "|2026-11-29T21:00:00|2026-11-29T21:10:00|";
  const auto failed =
      decode(header + "7|FAILED|0:0" + times + "\n7.0|FAILED|0:11" + times + "n4\n");
  ASSERT_EQ(failed.events.size(), 2U);
  EXPECT_EQ(failed.events[1].field("exit_code"), "139");
  EXPECT_EQ(failed.events[1].field("nodes"), "n4") << "the step knows where it ran";
  const auto completed =
      decode(header + "7|COMPLETED|0:0" + times + "n4\n7.0|FAILED|1:0" + times + "n4\n");
  EXPECT_EQ(completed.events[1].field("exit_code"), "0") << "the job thinks nothing of it";
}

TEST(SlurmAccounting, ABarInANameMovesNoColumn) {
  const auto decoded = decode(
      "JobID|JobName|State|Start|End|NodeList\n"
      "7|a|COMPLETED|b|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n");
  ASSERT_EQ(decoded.events.size(), 2U);
  EXPECT_EQ(decoded.events[1].field("name"), "a|COMPLETED|b");
  EXPECT_EQ(decoded.events[1].field("state"), "failed");
  const auto two = decode(
      "JobID|JobName|Comment|State\n"
      "7|a|b|c|FAILED\n");
  EXPECT_EQ(two.lines, "");
  EXPECT_EQ(bad_rows(two), 1U) << "it could be in either";
}

TEST(SlurmAccounting, RowsThatAreNoneAreCounted) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList\n"
      "7|FAILED\n"
      "seven|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n"
      "5.0|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n1\n"
      "\n"
      "8|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|n[1-\n");
  EXPECT_EQ(bad_rows(decoded), 3U) << "too short, no number, a step without its job";
  EXPECT_EQ(decoded.lines,
            "2026-11-29T21:00:00 attempt_started attempt:8#0 state=failed\n"
            "2026-11-29T21:10:00 attempt_ended attempt:8#0 state=failed\n");
}

TEST(SlurmAccounting, WithoutAHeaderItSaysHowToAsk) {
  EXPECT_NE(decode("7|FAILED|1:0\n").error.find("sacct --duplicates --parsable2"),
            std::string::npos);
  EXPECT_NE(decode("JobID        JobName      State\n7    train   FAILED\n").error, "");
  EXPECT_NE(decode("").error, "");
}

TEST(SlurmAccounting, AListThatFitsNoFieldStaysAList) {
  const auto decoded = decode(
      "JobID|State|Start|End|NodeList\n"
      "7|FAILED|2026-11-29T21:00:00|2026-11-29T21:10:00|node[0001-4096]\n");
  ASSERT_EQ(decoded.events.size(), 2U);
  EXPECT_EQ(decoded.events[0].field("nodes"), "node[0001-4096]");
}

TEST(SlurmAccounting, ManyRows) {
  std::string text = "JobID|State|Start|End|NodeList\n";
  for (int row = 0; row < 20'000; ++row)
    text += std::to_string(row % 1000 + 1) + "|FAILED|" + std::to_string(1'796'000'000 + row) +
            "|1797000000|n[1-8]\n";
  EXPECT_EQ(decode(text).events.size(), 40'000U);
}

constexpr std::string_view job_2108 = R"({"meta": {"Slurm": {"release": "21.08.8"}}, "jobs": [
  {"job_id": 7, "name": "train", "user": "ann", "nodes": "n[1-2]", "restart_cnt": 0,
   "array": {"job_id": 0, "task": null}, "het": {"job_id": 0, "job_offset": null},
   "exit_code": {"status": "ERROR", "return_code": 1},
   "state": {"current": "FAILED", "reason": "NonZeroExitCode"},
   "time": {"start": 1795986000, "end": 1795987112},
   "steps": [{"step": {"job_id": 7, "id": "batch", "name": "batch"},
              "exit_code": {"status": "ERROR", "return_code": 1},
              "nodes": {"count": 1, "range": "n1"}}]}], "errors": []})";
constexpr std::string_view job_2405 = R"({"jobs": [
  {"job_id": 7, "name": "train", "user": "ann", "nodes": "n[1-2]",
   "restart_cnt": 0,
   "array": {"job_id": 0, "task_id": {"set": false, "infinite": false, "number": 0}},
   "het": {"job_id": 0, "job_offset": {"set": false, "infinite": false, "number": 0}},
   "exit_code": {"status": ["ERROR"], "return_code": {"set": true, "infinite": false, "number": 1},
                 "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}},
   "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"},
   "time": {"start": {"set": true, "infinite": false, "number": 1795986000},
            "end": {"set": true, "infinite": false, "number": 1795987112}},
   "steps": [{"step": {"id": "7.batch", "name": "batch"},
              "exit_code": {"status": ["ERROR"],
                            "return_code": {"set": true, "infinite": false, "number": 1}},
              "nodes": {"count": 1, "list": ["n1"]}}]}]})";

TEST(SlurmAccountingJson, AllGenerationsSayTheSame) {
  for (const auto document : {job_2108, job_2405}) {
    const auto decoded = decode(std::string(document));
    EXPECT_EQ(decoded.lines,
              "2026-11-29T21:00:00 attempt_started attempt:7#0 exit_code=1 nodes=n1,n2 "
              "state=failed\n"
              "2026-11-29T21:18:32 attempt_ended attempt:7#0 exit_code=1 nodes=n1,n2 "
              "state=failed\n")
        << document;
    ASSERT_EQ(decoded.events.size(), 2U);
    const Event& end = decoded.events[1];
    EXPECT_EQ(end.field("steps"), "batch 1:0 n1");
    EXPECT_EQ(end.field("reason"), "NonZeroExitCode");
    EXPECT_EQ(end.raw.offset, document.find("{\"job_id\": 7"));
    EXPECT_TRUE(end.raw.text.starts_with("{\"job_id\": 7, \"name\""));
    EXPECT_EQ(bad_rows(decoded), 0U);
  }
}

TEST(SlurmAccountingJson, ArraysSignalsAndRequeues) {
  const auto decoded = decode(R"({"jobs": [
    {"job_id": 12, "array": {"job_id": 2, "task_id": {"set": true, "number": 4}},
     "state": {"current": ["CANCELLED"]}, "kill_request_user": "root", "nodes": "n1",
     "exit_code": {"return_code": {"set": true, "number": 0},
                   "signal": {"id": {"set": true, "number": 15}, "name": "SIGTERM"}},
     "time": {"start": 1795986000, "end": 1795987112}},
    {"job_id": 13, "state": {"current": ["NODE_FAIL"]}, "nodes": "n1",
     "time": {"start": 1795986000, "end": 1795987112}},
    {"job_id": 13, "state": {"current": ["RUNNING", "CONFIGURING"]}, "nodes": "n2",
     "time": {"start": 1795988000, "end": 0}},
    {"job_id": 14, "state": {"current": ["PENDING"]}, "nodes": "None assigned",
     "time": {"start": 0, "end": 0}}, {"nodes": "n3"}, 7]})");
  EXPECT_EQ(decoded.lines,
            "2026-11-29T21:00:00 attempt_started attempt:2_4#0 exit_code=143 nodes=n1 "
            "state=cancelled\n"
            "2026-11-29T21:18:32 attempt_ended attempt:2_4#0 exit_code=143 nodes=n1 "
            "state=cancelled\n"
            "2026-11-29T21:00:00 attempt_started attempt:13#0 nodes=n1 state=node_fail\n"
            "2026-11-29T21:18:32 attempt_ended attempt:13#0 nodes=n1 state=node_fail\n"
            "2026-11-29T21:33:20 attempt_started attempt:13#1 nodes=n2 state=running\n");
  EXPECT_EQ(decoded.events[1].field("cancelled_by"), "root");
  EXPECT_EQ(bad_rows(decoded), 2U);
}

TEST(SlurmAccountingJson, WhatCameBeforeACutCounts) {
  const std::string document(job_2405);
  const auto second = document.substr(0, document.rfind("]}")) + ", {\"job_id\": 8, \"sta";
  const auto decoded = decode(second);
  EXPECT_EQ(decoded.events.size(), 2U);
  EXPECT_EQ(decoded.counts.at("scheduler_documents_cut_total"), 1U);
  for (std::size_t size = 1; size < document.size(); ++size) decode(document.substr(0, size));
  EXPECT_NE(decode("{\"jobs\": []}").error.find("sacct --duplicates --json"), std::string::npos);
  EXPECT_NE(decode("{\"nodes\": [{\"name\": \"n1\"}]}").error, "");
}

}  // namespace
}  // namespace faultline
