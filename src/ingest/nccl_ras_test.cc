// NCCL's RAS, in JSON and in text: who is behind, who has gone, and on which rank of the job.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ingest/nccl_ras_json.h"
#include "ingest/nccl_ras_text.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

std::string brief(const Event& event) {
  const std::string what =
      event.kind == EventKind::log_signature ? event.signature : std::string(to_text(event.kind));
  std::string text = what + " " + event.subject.text();
  for (const char* field : {"group", "ranks", "op", "seq"}) {
    if (const auto value = event.field(field); !value.empty())
      text += " " + std::string(field) + "=" + std::string(value);
  }
  return text;
}

/// Without trace_read, of which there is one for each rank.
Texts briefs(const std::vector<Event>& events) {
  Texts out;
  for (const Event& event : events) {
    if (event.kind != EventKind::trace_read) out.push_back(brief(event));
  }
  return out;
}

Origin origin_of_job() {
  Origin origin;
  origin.path = "ras.out";
  origin.attempt = AttemptId{"7", 0};
  return origin;
}

template <class Decoder>
std::vector<Event> decode(std::string_view text, std::size_t chunk = 4096,
                          Counters* counters = nullptr) {
  Counters own;
  Decoder decoder(origin_of_job(), counters != nullptr ? *counters : own);
  std::vector<Event> events;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    for (auto& event : decoder.feed(text.substr(at, chunk), at)) events.push_back(std::move(event));
  }
  for (auto& event : decoder.finish()) events.push_back(std::move(event));
  return events;
}

std::vector<Event> json(std::string_view text, std::size_t chunk = 4096,
                        Counters* counters = nullptr) {
  return decode<NcclRasJsonDecoder>(text, chunk, counters);
}
std::vector<Event> text(std::string_view text, std::size_t chunk = 4096,
                        Counters* counters = nullptr) {
  return decode<NcclRasTextDecoder>(text, chunk, counters);
}

// --- JSON ----------------------------------------------------------------------------------------

std::string process(int rank, int device) {
  return fmt::format(
      "          {{\n            \"rank\": {},\n            \"host\": \"10.0.0.{}\",\n"
      "            \"pid\": {},\n            \"cuda_dev\": {},\n            \"nvml_dev\": {},\n",
      rank, 1 + device / 2, 100 + device, device % 2, device % 2);
}

std::string rank_json(int rank, int device, int launched, const std::string& status = "") {
  return process(rank, device) +
         fmt::format(
             "            \"status\": {{\n              \"init_state\": 0,\n"
             "              \"async_error\": 0,\n              \"finalize_called\": false,\n"
             "              \"destroy_flag\": false{}\n            }},\n"
             "            \"collective_counts\": {{\n              \"Broadcast\": 1,\n"
             "              \"AllReduce\": {}\n            }}\n          }}",
             status.empty() ? "" : ",\n              " + status, launched);
}

std::string missing_json(int rank, int device, bool dead) {
  return process(rank, device) +
         fmt::format(
             "            \"status\": {{\n              \"unresponsive\": true,\n"
             "              \"considered_dead\": {}\n            }}\n          }}",
             dead);
}

std::string communicator(const std::string& hash, int size, const Texts& ranks,
                         const Texts& missing = {}) {
  const auto list = [](const Texts& parts) {
    std::string out;
    for (const auto& part : parts) out += (out.empty() ? "" : ",\n") + part;
    return out;
  };
  return fmt::format(
      "      {{\n        \"hash\": \"{}\",\n        \"secondary_hash\": \"0x1:0x2\",\n"
      "        \"size\": {},\n        \"ranks_count\": {},\n        \"missing_ranks_count\": {},\n"
      "        \"ranks\": [\n{}\n        ],\n        \"missing_ranks\": [\n{}\n        ]\n      }}",
      hash, size, ranks.size(), missing.size(), list(ranks), list(missing));
}

std::string report(const Texts& communicators) {
  std::string list;
  for (const auto& one : communicators) list += (list.empty() ? "" : ",\n") + one;
  return "{\n  \"nccl_version\": \"2.29.1\",\n  \"cuda_runtime_version\": 13000,\n"
         "  \"timestamp\": \"2026-11-19 13:06:53\",\n  \"communicators_count\": 1,\n"
         "  \"communicators\": [\n" +
         list +
         "\n  ],\n  \"ras\": {\n    \"collection_time_sec\": 0.000,\n    \"timeouts_count\": 0\n"
         "  }\n}\n";
}

TEST(NcclRasJson, TellsWhoIsBehind) {
  const auto events = json(report({communicator(
      "0xae94", 4,
      {rank_json(0, 0, 17), rank_json(1, 1, 17), rank_json(2, 2, 16), rank_json(3, 3, 17)})}));
  EXPECT_EQ(briefs(events),
            (Texts{"group_seen rank:7#0/0 group=0xae94 ranks=0-3",
                   "operation_completed rank:7#0/0@10.0.0.1 group=0xae94 op=AllReduce seq=18",
                   "operation_completed rank:7#0/1@10.0.0.1 group=0xae94 op=AllReduce seq=18",
                   "operation_completed rank:7#0/2@10.0.0.2 group=0xae94 op=AllReduce seq=17",
                   "operation_completed rank:7#0/3@10.0.0.2 group=0xae94 op=AllReduce seq=18"}));
  ASSERT_EQ(events.size(), 9U);
  EXPECT_EQ(events[1].kind, EventKind::trace_read);
  EXPECT_EQ(events[1].field("format"), "nccl_ras");
  EXPECT_EQ(events[1].field("version"), "2.29.1");
  EXPECT_EQ(events[1].source, EventSource::collective_trace);
  EXPECT_EQ(to_text(events[1].observed_at), "2026-11-19T13:06:53.000000Z");
  EXPECT_EQ(events[2].field("lane"), "collective");
  EXPECT_EQ(events[2].attempt, (AttemptId{"7", 0}));
  for (const Event& event : events) EXPECT_EQ(event.id, make_event_id(event));
}

TEST(NcclRasJson, TheKindThatDiffersIsTheOneTold) {
  std::string behind = rank_json(1, 1, 900);
  behind.replace(behind.find("\"Broadcast\": 1"), 14, "\"Broadcast\": 0");
  const auto events = json(report({communicator("0xae94", 2, {rank_json(0, 0, 900), behind})}));
  EXPECT_EQ(brief(events.back()),
            "operation_completed rank:7#0/1@10.0.0.1 group=0xae94 op=Broadcast seq=900");
}

TEST(NcclRasJson, OtherCommunicatorsRanksAreThoseOfTheJob) {
  const std::string world = communicator(
      "0x1", 4, {rank_json(0, 0, 5), rank_json(1, 1, 5), rank_json(2, 2, 5), rank_json(3, 3, 5)});
  const std::string pair = communicator("0x2", 2, {rank_json(0, 1, 9), rank_json(1, 3, 8)});
  const Texts told = briefs(json(report({pair, world})));
  EXPECT_EQ(Texts(told.begin(), told.begin() + 3),
            (Texts{"group_seen rank:7#0/1 group=0x2 ranks=1,3",
                   "operation_completed rank:7#0/1@10.0.0.1 group=0x2 op=AllReduce seq=10",
                   "operation_completed rank:7#0/3@10.0.0.2 group=0x2 op=AllReduce seq=9"}));
}

TEST(NcclRasJson, TwoOfTheWholeJobAgreeOrNeitherIsIt) {
  const std::string one = communicator("0x1", 2, {rank_json(0, 0, 5), rank_json(1, 1, 5)});
  const std::string same = communicator("0x2", 2, {rank_json(0, 0, 7), rank_json(1, 1, 6)});
  const std::string other = communicator("0x3", 2, {rank_json(0, 1, 7), rank_json(1, 0, 6)});
  EXPECT_EQ(briefs(json(report({one, same}))),
            (Texts{"group_seen rank:7#0/0 group=0x1 ranks=0,1",
                   "operation_completed rank:7#0/0@10.0.0.1 group=0x1 op=AllReduce seq=6",
                   "operation_completed rank:7#0/1@10.0.0.1 group=0x1 op=AllReduce seq=6",
                   "group_seen rank:7#0/0 group=0x2 ranks=0,1",
                   "operation_completed rank:7#0/0@10.0.0.1 group=0x2 op=AllReduce seq=8",
                   "operation_completed rank:7#0/1@10.0.0.1 group=0x2 op=AllReduce seq=7"}));
  EXPECT_TRUE(briefs(json(report({one, other}))).empty());
}

TEST(NcclRasJson, WithoutTheWholeJobsCommunicatorNoRankIsNamed) {
  Counters counters;
  const auto events =
      json(report({communicator("0x1", 2, {rank_json(0, 0, 5), rank_json(1, 1, 5)}),
                   communicator("0x2", 2, {rank_json(0, 2, 5)}, {missing_json(1, 3, true)})}),
           4096, &counters);
  EXPECT_EQ(briefs(events), Texts{"nccl.ras.dead node:10.0.0.2 group=0x2"});
  EXPECT_EQ(counters.get("ingest_ras_unplaced_ranks_total"), 3U);
  // One that is the largest and yet too small for all processes.
  EXPECT_TRUE(briefs(json(report({communicator("0x1", 2, {rank_json(0, 0, 5), rank_json(1, 1, 5)}),
                                  communicator("0x2", 1, {rank_json(0, 2, 5)})})))
                  .empty());
}

TEST(NcclRasJson, TellsWhoHasGone) {
  const auto gone = [](bool dead) {
    return briefs(json(
        report({communicator("0xae94", 2, {rank_json(0, 0, 0)}, {missing_json(1, 1, dead)})})));
  };
  EXPECT_EQ(gone(true).back(), "nccl.ras.dead rank:7#0/1@10.0.0.1 group=0xae94");
  EXPECT_EQ(json(report({communicator("0x1", 1, {}, {missing_json(0, 0, true)})})).back().raw.text,
            "communicator 0x1: rank 0 is missing, considered dead");
  EXPECT_EQ(gone(false).back(), "nccl.ras.unresponsive rank:7#0/1@10.0.0.1 group=0xae94");
  const std::string missing = missing_json(1, 1, false);
  std::string left = missing;
  left.replace(left.find("true"), 4, "false");  // finalized: it is no member any more
  EXPECT_EQ(briefs(json(report({communicator("0xae94", 2, {rank_json(0, 0, 5)}, {left})}))),
            (Texts{"group_seen rank:7#0/0 group=0xae94 ranks=0,1",
                   "operation_completed rank:7#0/0@10.0.0.1 group=0xae94 op=AllReduce seq=6"}));
}

TEST(NcclRasJson, TellsErrorsAndAborts) {
  const auto with = [](const std::string& status) {
    return briefs(json(report({communicator("0x1", 1, {rank_json(0, 0, 0, status)})})));
  };
  EXPECT_EQ(with("\"async_error\": 1").at(1), "nccl.ras.cuda_error rank:7#0/0@10.0.0.1 group=0x1");
  EXPECT_EQ(with("\"async_error\": 6").at(1),
            "nccl.ras.remote_error rank:7#0/0@10.0.0.1 group=0x1");
  EXPECT_EQ(with("\"async_error\": 2").at(1), "nccl.ras.error rank:7#0/0@10.0.0.1 group=0x1");
  EXPECT_EQ(with("\"init_state\": 3").at(1), "nccl.ras.error rank:7#0/0@10.0.0.1 group=0x1");
  EXPECT_EQ(with("\"abort_flag\": true").at(1), "nccl.ras.abort rank:7#0/0@10.0.0.1 group=0x1");
  for (const char* well : {"\"init_state\": 7", "\"async_error\": 7", "\"abort_flag\": false"})
    EXPECT_EQ(with(well).size(), 2U) << well;
}

TEST(NcclRasJson, ReadsTheMonitor) {
  const std::string dead =
      "{\n  \"timestamp\": \"2025-12-19 13:07:07\",\n  \"group\": \"LIFECYCLE\",\n"
      "  \"event\": \"PEER_DEAD\",\n  \"peer\": {\n    \"host\": \"10.0.0.7\",\n"
      "    \"pid\": 12,\n    \"cuda_devs\": [1],\n    \"nvml_devs\": [1]\n  },\n"
      "  \"details\": \"\"\n}\n";
  const auto events = json("RAS Monitor Mode\n" + dead);
  EXPECT_EQ(briefs(events), Texts{"nccl.ras.dead node:10.0.0.7"});
  EXPECT_EQ(events[0].field("pid"), "12");
  EXPECT_EQ(events[0].raw.offset, 17U);
  std::string born = dead;
  born.replace(born.find("PEER_DEAD"), 9, "PEER_NEW");
  EXPECT_TRUE(json(born).empty());
}

TEST(NcclRasJson, IsTheSameHoweverTheBytesAreCut) {
  const std::string all =
      report({communicator("0xae94", 2, {rank_json(0, 0, 3)}, {missing_json(1, 1, true)})});
  const auto whole = json(all);
  for (std::size_t chunk = 1; chunk < 100; chunk += 7) EXPECT_EQ(json(all, chunk), whole);
  for (std::size_t length = 0; length < all.size(); ++length)
    EXPECT_LE(json(all.substr(0, length)).size(), whole.size());
}

TEST(NcclRasJson, OddValuesAreNone) {
  Counters counters;
  EXPECT_TRUE(json("{\"communicators\":[{\"size\":-5,\"ranks\":[{\"rank\":-1},{\"rank\":1e9},"
                   "{\"rank\":99999999999},7,[[]],{\"status\":{\"status\":{}}}]}]}",
                   4096, &counters)
                  .empty());
  EXPECT_EQ(counters.get("ingest_ras_too_many_total"), 1U);
  EXPECT_TRUE(json("{\"ranks\":[{\"rank\":0}]}").empty()) << "of no communicator";
  EXPECT_TRUE(json("{\"a\":" + std::string(500, '[') + std::string(500, ']') + "}", 4096, &counters)
                  .empty());
  EXPECT_EQ(counters.get("ingest_json_broken_total"), 1U) << "nested too deep";
}

// --- text ----------------------------------------------------------------------------------------

constexpr std::string_view summary =
    "NCCL version 2.28.9 compiled with CUDA 13.0\nCUDA runtime version 13000, driver version "
    "13000\n\nJob summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
    "(total)   per node  per process    (total)  (total)\n      1          8            1         "
    " 8        8\n\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes     Ranks "
    "    Ranks     Ranks    Status  Errors\n    #  in group  per comm  per node  per comm  in "
    "group\n";

std::string row(int group, int comms, int ranks, const std::string& errors) {
  return fmt::format("{:5}  {:8}  {:8}  {:>8}  {:8}  {:8}  {:>8}  {:>6}\n", group, comms, 1,
                     std::to_string(ranks), ranks, comms * ranks, "RUNNING", errors);
}

TEST(NcclRasText, AHealthyReportTellsNothing) {
  EXPECT_TRUE(text(std::string(summary) + row(0, 1, 8, "OK")).empty());
}

TEST(NcclRasText, GivesTheMajoritysCountToAllThatAreNotListed) {
  const std::string all =
      std::string(summary) + row(0, 1, 4, "MISMATCH") +
      "\nWarnings\n========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
      "  Communicator ranks have different AllReduce operation counts\n"
      "  3 ranks have launched up to operation 6650\n"
      "  Rank 2 has launched up to operation 6649 -- GPU 2 managed by process 483074 on node "
      "10.0.0.7\n";
  const auto events = text(all);
  EXPECT_EQ(
      briefs(events),
      (Texts{"group_seen rank:7#0/0 group=0x27a079b828ff1a75 ranks=0-3",
             "operation_completed rank:7#0/0 group=0x27a079b828ff1a75 op=AllReduce seq=6650",
             "operation_completed rank:7#0/1 group=0x27a079b828ff1a75 op=AllReduce seq=6650",
             "operation_completed rank:7#0/2@10.0.0.7 group=0x27a079b828ff1a75 op=AllReduce "
             "seq=6649",
             "operation_completed rank:7#0/3 group=0x27a079b828ff1a75 op=AllReduce seq=6650"}));
  for (std::size_t chunk = 1; chunk < 90; chunk += 13) EXPECT_EQ(text(all, chunk), events);
}

TEST(NcclRasText, ReadsTheCountsOfOlderVersions) {
  const auto events =
      text(std::string(summary) + row(0, 1, 4, "MISMATCH") +
           "#0-0 (27a0) MISMATCH\n  Communicator ranks have different collective operation counts\n"
           "  2 ranks have launched up to operation 9\n  2 ranks have not launched any operations\n"
           "  Rank 0 -- GPU 0 managed by process 12 on node h1\n"
           "  Rank 3 -- GPU 3 (NVML 7) managed by process 15 on node h1\n");
  EXPECT_EQ(briefs(events),
            (Texts{"group_seen rank:7#0/0 group=0x27a0 ranks=0-3",
                   "operation_completed rank:7#0/1 group=0x27a0 op=collective seq=9",
                   "operation_completed rank:7#0/2 group=0x27a0 op=collective seq=9"}))
      << "who launched nothing has nothing to tell but that it is there";
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const Event& event) { return event.kind == EventKind::trace_read; }),
            4);
}

TEST(NcclRasText, TwoClassesWithoutAListTellNothing) {
  EXPECT_EQ(briefs(text(std::string(summary) + row(0, 1, 4, "MISMATCH") +
                        "#0-0 (27a0) MISMATCH\n  Communicator ranks have different AllReduce "
                        "operation counts\n  2 ranks have launched up to operation 9\n"
                        "  2 ranks have launched up to operation 8\n")),
            Texts{"group_seen rank:7#0/0 group=0x27a0 ranks=0-3"});
}

TEST(NcclRasText, TheMissingRankIsTheProcessThatIsGone) {
  const std::string rest =
      "\n#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n"
      "  The missing rank: 21\n";
  const auto told = [&](const std::string& word) {
    return briefs(text(std::string(summary) + row(0, 1, 32, "INCOMPLETE") + "\nErrors\n======\n\n" +
                       word +
                       "\n  1 job process is considered dead\n"
                       "  Process 3487984 on node 172.16.64.213 managing GPU 5\n" +
                       rest));
  };
  const std::string who = " rank:7#0/21@172.16.64.213 group=0xcf264af53edbe986";
  EXPECT_EQ(told("DEAD").at(1), "nccl.ras.dead" + who);
  EXPECT_EQ(told("DEAD").size(), 2U) << "once";
  EXPECT_EQ(told("INCOMPLETE").at(1), "nccl.ras.unresponsive" + who);
}

TEST(NcclRasText, NewerReportsNameTheMissingRanksProcess) {
  const Texts told = briefs(
      text(std::string(summary) + row(0, 1, 32, "INCOMPLETE") +
           "\nErrors\n======\n\nDEAD\n  2 job processes are considered dead\n"
           "  Process 11 on node h1 managing GPU 0\n  Process 12 on node h2 managing GPU 0\n\n"
           "#0-0 (cf26) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
           "  Rank 3 -- GPU 0 managed by process 11 on node h1\n"
           "  Rank 9 -- GPU 0 managed by process 12 on node h2\n"));
  EXPECT_EQ(told, (Texts{"group_seen rank:7#0/0 group=0xcf26 ranks=0-31",
                         "nccl.ras.dead rank:7#0/3@h1 group=0xcf26",
                         "nccl.ras.dead rank:7#0/9@h2 group=0xcf26"}));
}

TEST(NcclRasText, AHealthyLargerCommunicatorIsTheJobs) {
  Counters counters;
  const auto events = text(
      std::string(summary) + row(0, 1, 8, "OK") + row(1, 2, 4, "MISMATCH") +
          "#1-0 (27a0) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
          "  3 ranks have launched up to operation 9\n"
          "  Rank 2 has launched up to operation 8 -- GPU 2 managed by process 12 on node h1\n",
      4096, &counters);
  EXPECT_TRUE(briefs(events).empty()) << "rank 2 of it may be any rank of the job";
  EXPECT_EQ(counters.get("ingest_ras_unplaced_ranks_total"), 4U);
}

TEST(NcclRasText, TellsErrorsAndAborts) {
  const Texts told = briefs(text(
      std::string(summary) + row(0, 1, 8, "ERROR") +
      "#0-0 (27a0) ERROR\n  Asynchronous errors on 3 ranks\n  2 ranks reported System error\n"
      "  Rank 1 -- GPU 1 managed by process 11 on node h1\n"
      "  Rank 2 -- GPU 2 managed by process 12 on node h1\n"
      "  Rank 3 reported Unhandled CUDA error -- GPU 3 managed by process 13 on node h1\n\n"
      "Warnings\n========\n\n#0-0 (27a0) MISMATCH\n  Communicator ranks have different status\n"
      "  7 ranks have status RUNNING\n"
      "  Rank 5 has status ABORT -- GPU 5 managed by process 15 on node h1\n"));
  EXPECT_EQ(told, (Texts{"group_seen rank:7#0/0 group=0x27a0 ranks=0-7",
                         "nccl.ras.error rank:7#0/1@h1 group=0x27a0",
                         "nccl.ras.error rank:7#0/2@h1 group=0x27a0",
                         "nccl.ras.cuda_error rank:7#0/3@h1 group=0x27a0",
                         "nccl.ras.abort rank:7#0/5@h1 group=0x27a0"}));
}

TEST(NcclRasText, ReadsTheMonitor) {
  EXPECT_EQ(briefs(text(" [2025-12-19 13:07:07] PEER_DEAD: Process 12 on node 10.0.0.7 managing "
                        "GPU 1\n [2025-12-19 13:07:09] PEER_NEW: Process 13 on node 10.0.0.8 "
                        "managing GPU 1\n")),
            Texts{"nccl.ras.dead node:10.0.0.7"});
}

TEST(NcclRasText, ReportsOneAfterTheOther) {
  const std::string one =
      std::string(summary) + row(0, 1, 2, "MISMATCH") +
      "#0-0 (27a0) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
      "  Rank 0 has launched up to operation 9 -- GPU 0 managed by process 11 on node h1\n"
      "  Rank 1 has launched up to operation 8 -- GPU 1 managed by process 12 on node h1\n";
  EXPECT_EQ(briefs(text(one + one)).size(), 6U);
}

TEST(NcclRasText, OddLinesAreNone) {
  EXPECT_TRUE(text("#0-0\n#0-0 (\n#0-0 ()\n#-0 (1)\nRank\nRank 1\nRank -1 -- GPU\n"
                   "Process on node managing GPU\nThe missing rank: x\n7 ranks\n"
                   "99999999999999999999 ranks have launched up to operation 1\n"
                   "Rank 99999999999 -- GPU 1\n0 0 0 0 0 0 0 0\n-1 1 1 1 -8 1 RUNNING OK\n")
                  .empty());
}

}  // namespace
}  // namespace faultline
