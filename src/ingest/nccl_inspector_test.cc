#include "ingest/nccl_inspector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

std::string record(const std::string& id, int rank, int size, int number,
                   const std::string& op = "AllReduce", const std::string& host = "n1",
                   int pid = 77) {
  return fmt::format(
             R"({{"header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":1}},"metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"profiler_plugin","dump_timestamp_us":1748030377748202,"hostname":"{}","pid":{}}},"coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,"coll_algobw_gbs":277.2,"coll_busbw_gbs":485.1}}}})",
             id, rank, size, host, pid, op, number) +
         "\n";
}

std::string brief(const Event& event) {
  std::string text = std::string(to_text(event.kind)) + " " + event.subject.text();
  for (const char* field : {"group", "ranks", "op", "seq"}) {
    if (const auto value = event.field(field); !value.empty())
      text += " " + std::string(field) + "=" + std::string(value);
  }
  return text;
}

struct Read {
  std::vector<Event> events;
  Counters counters;
};

void read(Read& out, const std::string& text, std::size_t chunk = 4096, std::int32_t rank = -1) {
  Origin origin;
  origin.path = "inspector.log";
  origin.attempt = AttemptId{"7", 0};
  origin.rank = rank;
  NcclInspectorDecoder decoder(origin, out.counters);
  for (std::size_t at = 0; at < text.size(); at += chunk)
    decoder.feed(std::string_view(text).substr(at, chunk), at);
  out.events = decoder.finish();
}

Texts briefs(const std::string& text, std::int32_t rank = -1) {
  Read out;
  read(out, text, 4096, rank);
  Texts all;
  for (const Event& event : out.events) all.push_back(brief(event));
  return all;
}

TEST(NcclInspector, TellsTheNewestOperationOfEachCommunicator) {
  const std::string text = record("0x7f8c496ae9f661", 2, 8, 1406) + record("0xe6", 0, 2, 4) +
                           record("0x7f8c496ae9f661", 2, 8, 1407, "ReduceScatter") +
                           record("0x7f8c496ae9f661", 2, 8, 1405);
  Read out;
  read(out, text);
  ASSERT_EQ(out.events.size(), 5U);
  EXPECT_EQ(brief(out.events[0]), "trace_read rank:7#0/2@n1");
  EXPECT_EQ(out.events[0].field("format"), "nccl_inspector");
  EXPECT_EQ(out.events[0].field("version"), "v4.0");
  EXPECT_EQ(out.events[0].field("entries"), "4");
  EXPECT_EQ(brief(out.events[1]), "group_seen rank:7#0/2@n1 group=0x7f8c496ae9f661 ranks=2");
  EXPECT_EQ(brief(out.events[2]),
            "operation_completed rank:7#0/2@n1 group=0x7f8c496ae9f661 op=ReduceScatter seq=1407");
  EXPECT_EQ(out.events[2].field("lane"), "collective");
  EXPECT_EQ(out.events[2].field("bytes"), "17179869184");
  EXPECT_EQ(to_text(out.events[2].observed_at), "2025-05-23T19:59:37.748202Z");
  EXPECT_EQ(out.events[2].raw.offset,
            record("0x7f8c496ae9f661", 2, 8, 1406).size() + record("0xe6", 0, 2, 4).size());
  EXPECT_EQ(brief(out.events[4]),
            "operation_completed rank:7#0/2@n1 group=0xe6 op=AllReduce seq=4");
  for (std::size_t chunk = 1; chunk < 300; chunk += 37) {
    Read again;
    read(again, text, chunk);
    EXPECT_EQ(again.events, out.events);
  }
}

TEST(NcclInspector, ReadsVerboseRecords) {
  std::string verbose = record("0xe6", 1, 2, 9);
  verbose.insert(verbose.size() - 3,
                 R"(,"event_trace_sn":{"coll_start_sn":1,"kernel_events":[{"channel_id":0}]})");
  EXPECT_EQ(briefs(verbose).size(), 3U);
}

TEST(NcclInspector, TheLargestCommunicatorNumbersTheJobsRanks) {
  EXPECT_EQ(briefs(record("0x1", 0, 4, 1) + record("0x2", 5, 8, 1)).front(),
            "trace_read rank:7#0/5@n1");
  Read out;
  read(out, record("0x1", 0, 4, 1) + record("0x2", 3, 4, 1));
  EXPECT_TRUE(out.events.empty()) << "two of a size that disagree";
  EXPECT_EQ(out.counters.get("ingest_inspector_unplaced_total"), 1U);
  EXPECT_EQ(briefs(record("0x1", 3, 4, 1) + record("0x2", 3, 4, 1)).size(), 5U)
      << "two of a size that agree";
  EXPECT_EQ(briefs(record("0x1", 0, 4, 1) + record("0x2", 3, 4, 1), 6).front(),
            "trace_read rank:7#0/6@n1")
      << "the caller knows";
}

TEST(NcclInspector, ProcessesInOneFileAreApart) {
  const Texts all = briefs(record("0x1", 0, 2, 5) + record("0x1", 1, 2, 4, "AllReduce", "n2", 78));
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2], "operation_completed rank:7#0/0@n1 group=0x1 op=AllReduce seq=5");
  EXPECT_EQ(all[5], "operation_completed rank:7#0/1@n2 group=0x1 op=AllReduce seq=4");
}

TEST(NcclInspector, OddRecordsAreNone) {
  EXPECT_TRUE(briefs(record("zz", 0, 2, 5) + record("0x1", 2, 2, 5) + record("0x1", -1, 2, 5) +
                     "{}\n{\"header\":7}\n[1]\n")
                  .empty());
  Read out;
  read(out, record("0x1", 0, 2, 5).substr(0, 100) + "\n" + record("0x1", 0, 2, 6));
  EXPECT_EQ(out.events.size(), 3U) << "after a record that broke off";
  EXPECT_EQ(out.counters.get("ingest_json_broken_total"), 1U);
}

TEST(NcclInspector, CountsWhatIsTooMuch) {
  std::string text;
  for (std::size_t i = 0; i <= inspector_lanes_max; ++i)
    text +=
        fmt::format(R"({{"header":{{"id":"{:x}","rank":0,"n_ranks":2}},"coll_perf":{{}}}})", i + 1);
  Read out;
  read(out, text, 1U << 20U);
  EXPECT_EQ(out.counters.get("ingest_inspector_too_many_total"), 1U);
}

}  // namespace
}  // namespace faultline
