#include <gtest/gtest.h>

#include "ingest/journal_export.h"
#include "ingest/journal_json.h"
#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view xid_79 =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.";

struct Field {
  std::string name;
  std::string json;   // as it stands in JSON
  std::string value;  // as it is
};
using Entry = std::vector<Field>;

Field field(const std::string& name, const std::string& value) {
  return {name, "\"" + value + "\"", value};
}

Entry kernel_entry(const std::string& message, const std::string& host = "n3",
                   const std::string& boot = "aaaa") {
  return {field("__CURSOR", "s=1;i=2"),
          field("__REALTIME_TIMESTAMP", "1795986000123456"),
          field("_SOURCE_MONOTONIC_TIMESTAMP", "901233110000"),
          field("_BOOT_ID", boot),
          field("_TRANSPORT", "kernel"),
          field("SYSLOG_IDENTIFIER", "kernel"),
          field("_HOSTNAME", host),
          field("MESSAGE", message)};
}

std::string as_json(const Entry& entry) {
  std::string text = "{";
  for (const Field& one : entry)
    text += (text.size() > 1 ? "," : "") + std::string("\"") + one.name + "\":" + one.json;
  return text + "}\n";
}

/// With a size and raw bytes where the value has lines, as journalctl does.
std::string as_export(const Entry& entry) {
  std::string text;
  for (const Field& one : entry) {
    if (one.value.find('\n') == std::string::npos) {
      text += one.name + "=" + one.value + "\n";
      continue;
    }
    text += one.name + "\n";
    for (unsigned shift = 0; shift < 64; shift += 8)
      text += static_cast<char>(one.value.size() >> shift & 0xffU);
    text += one.value + "\n";
  }
  return text + "\n";
}

class JournalTest : public RecordTest {
 protected:
  std::vector<Event> json(const std::string& text, std::size_t chunk = 4096,
                          const Origin& origin = file_origin()) {
    JournalJsonDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
  std::vector<Event> exported(const std::string& text, std::size_t chunk = 4096,
                              const Origin& origin = file_origin()) {
    JournalExportDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
};

void expect_lost_gpu(const Event& event, std::uint64_t offset) {
  EXPECT_EQ(event.source, EventSource::kernel_log);
  EXPECT_EQ(event.signature, "xid.79");
  EXPECT_EQ(event.subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(event.reporter, "n3");
  EXPECT_EQ(to_text(event.observed_at), "2026-11-29T21:00:00.123456Z");
  EXPECT_EQ(event.clock, ClockDomain::node_wall);
  EXPECT_EQ(event.field("kernel_us"), "901233110000");
  EXPECT_EQ(event.raw.path, "file");
  EXPECT_EQ(event.raw.offset, offset);
  EXPECT_EQ(event.raw.boot_id, "aaaa");
  EXPECT_NE(event.raw.text.find("n3 kernel: [901233.110000] NVRM: Xid"), std::string::npos)
      << event.raw.text;
  EXPECT_EQ(event.id, make_event_id(event));
}

TEST_F(JournalTest, MakesAnEventOfAKernelEntry) {
  const Entry other = {field("_TRANSPORT", "syslog"), field("MESSAGE", "hello")};
  const Entry entry = kernel_entry(std::string(xid_79));
  const auto from_json = json(as_json(other) + as_json(entry));
  ASSERT_EQ(from_json.size(), 1U);
  expect_lost_gpu(from_json[0], as_json(other).size());
  const auto from_export = exported(as_export(other) + as_export(entry));
  ASSERT_EQ(from_export.size(), 1U);
  expect_lost_gpu(from_export[0], as_export(other).size());
}

TEST_F(JournalTest, GivesTheSameHoweverTheBytesAreCut) {
  const Entry entry = kernel_entry("first\n" + std::string(xid_79));
  Entry spelled = kernel_entry(std::string(xid_79));
  const std::string jsons = as_json(spelled);
  const std::string exports = as_export(entry);
  for (std::size_t chunk = 1; chunk < exports.size(); chunk += 7) {
    EXPECT_EQ(briefs(json(jsons, chunk)), (Texts{"xid.79 gpu:n3/0000:3b:00.0 @0"})) << chunk;
    EXPECT_EQ(briefs(exported(exports, chunk)), (Texts{"xid.79 gpu:n3/0000:3b:00.0 @0"})) << chunk;
  }
}

TEST_F(JournalTest, ReadsAMessageOfBytesAndPassesOverNull) {
  Entry bytes = kernel_entry("");
  bytes.back().json = "[";
  for (const char c : xid_79)
    bytes.back().json += std::to_string(static_cast<unsigned char>(c)) + ",";
  bytes.back().json.back() = ']';
  EXPECT_EQ(json(as_json(bytes)).size(), 1U);
  std::string beyond = bytes.back().json;
  bytes.back().json = beyond.replace(beyond.find("88,"), 2, "344");  // 256 more
  EXPECT_TRUE(json(as_json(bytes)).empty());
  bytes.back().json = "[72,101,300,-1,\"x\",[1]]";
  EXPECT_TRUE(json(as_json(bytes)).empty()) << "bytes that are none";
  bytes.back().json = "null";
  EXPECT_TRUE(json(as_json(bytes)).empty());
  EXPECT_EQ(counters_.get("ingest_journal_null_messages_total"), 1U);
}

TEST_F(JournalTest, EachLineOfAMessageIsOne) {
  const std::string message = "pcieport error\\n" + std::string(xid_79) + "\\r\\nx";
  EXPECT_EQ(json(as_json(kernel_entry(message))).size(), 1U);
  EXPECT_TRUE(json(as_json(kernel_entry("x\\r" + std::string(xid_79)))).empty())
      << "what follows a carriage return is no line of its own";
}

TEST_F(JournalTest, ReadsAnArrayAndIndentedObjects) {
  const std::string one = as_json(kernel_entry(std::string(xid_79)));
  std::string indented = one;
  for (std::size_t at = 1; (at = indented.find(",\"", at)) != std::string::npos; at += 4)
    indented.replace(at, 1, ",\n\t");
  EXPECT_EQ(json("[" + indented + "]").size(), 1U);
  EXPECT_EQ(json("\x1e" + one + "data: " + one).size(), 1U) << "the same fact within seconds";
}

TEST_F(JournalTest, KeepsTheLinesOfEarlierBoots) {
  Entry earlier = kernel_entry(std::string(xid_79), "n3", "bbbb");
  earlier[1] = field("__REALTIME_TIMESTAMP", "1795900000000000");
  const Entry later = kernel_entry(std::string(xid_79));
  for (const auto& events :
       {json(as_json(earlier) + as_json(later)), exported(as_export(earlier) + as_export(later))}) {
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].raw.boot_id, "bbbb");
    EXPECT_EQ(to_text(events[0].observed_at), "2026-11-28T21:06:40.000000Z");
    EXPECT_EQ(events[1].raw.boot_id, "aaaa");
  }
}

TEST_F(JournalTest, TellsTheHostsOfAGatheredJournalApart) {
  const std::string text = as_json(kernel_entry(std::string(xid_79), "n3")) +
                           as_json(kernel_entry(std::string(xid_79), "n4"));
  EXPECT_EQ(json(text).size(), 2U);
  Origin origin = file_origin();
  origin.node = "n3";
  origin.host_names = {"n3"};
  EXPECT_EQ(json(text, 4096, origin).size(), 1U) << "a node speaks for itself alone";
}

TEST_F(JournalTest, SlurmsDaemonsSpeakForTheScheduler) {
  const Entry slurmd = {field("__REALTIME_TIMESTAMP", "1795986000123456"),
                        field("_TRANSPORT", "syslog"),
                        field("_SYSTEMD_UNIT", "slurmctld.service"),
                        field("SYSLOG_IDENTIFIER", "slurmctld"),
                        field("_HOSTNAME", "head"),
                        field("MESSAGE", "error: Nodes n[17-18] not responding, setting DOWN")};
  for (const auto& events : {json(as_json(slurmd)), exported(as_export(slurmd))}) {
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].source, EventSource::scheduler);
    EXPECT_EQ(events[0].subject.text(), "node:n17");
    EXPECT_EQ(to_text(events[0].observed_at), "2026-11-29T21:00:00.123456Z");
  }
}

TEST_F(JournalTest, ANameIsNoProof) {
  Entry kernel = kernel_entry(std::string(xid_79));
  kernel[4] = field("_TRANSPORT", "syslog");  // logger -t kernel
  EXPECT_TRUE(json(as_json(kernel)).empty());
  EXPECT_TRUE(exported(as_export(kernel)).empty());
  const Entry slurm = {field("_SYSTEMD_UNIT", "user@1000.service"),
                       field("SYSLOG_IDENTIFIER", "slurmctld"),
                       field("MESSAGE", "error: Nodes n[17-18] not responding, setting DOWN")};
  EXPECT_TRUE(json(as_json(slurm)).empty());
  EXPECT_EQ(counters_.get("ingest_journal_false_names_total"), 3U);
}

TEST_F(JournalTest, DaemonsOfTheNodeAreHeardWhereNoUserRunsThem) {
  Entry daemon = {field("__REALTIME_TIMESTAMP", "1795986000123456"),
                  field("_SYSTEMD_UNIT", "nvidia-fabricmanager.service"),
                  field("SYSLOG_IDENTIFIER", "nv-fabricmanager"), field("_HOSTNAME", "n3"),
                  field("MESSAGE", "detected NVSwitch fatal error 20034 on fid 0")};
  Origin saved = file_origin();
  saved.facility_kernel_only = true;
  const auto events = json(as_json(daemon), 4096, saved);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.text(), "node:n3");
  daemon.push_back(field("_UID", "0"));
  EXPECT_EQ(json(as_json(daemon), 4096, saved).size(), 1U);
  daemon.back() = field("_UID", "1001");
  EXPECT_TRUE(json(as_json(daemon), 4096, saved).empty());
  daemon.pop_back();
  for (const char* unit :
       {"session-4.scope", "user@1001.service", "slurmstepd.scope", "docker.service"}) {
    daemon[1] = field("_SYSTEMD_UNIT", unit);
    EXPECT_TRUE(json(as_json(daemon), 4096, saved).empty()) << unit;
  }
  EXPECT_EQ(counters_.get("ingest_journal_false_names_total"), 5U);
}

TEST_F(JournalTest, WhatAProcessWroteToTheKernelsLogIsNotTheKernels) {
  Entry entry = kernel_entry(std::string(xid_79));
  entry.push_back(field("SYSLOG_FACILITY", "0"));
  EXPECT_EQ(json(as_json(entry)).size(), 1U);
  entry.back() = field("SYSLOG_FACILITY", "1");
  EXPECT_TRUE(json(as_json(entry)).empty());
  EXPECT_TRUE(exported(as_export(entry)).empty());
  EXPECT_EQ(counters_.get("ingest_journal_false_names_total"), 2U);
}

TEST_F(JournalTest, ALongFieldCostsNothing) {
  Entry entry = kernel_entry(std::string(xid_79));
  entry.insert(entry.begin(), field("COREDUMP", std::string(3U << 20U, 'x') + "\ny"));
  EXPECT_EQ(exported(as_export(entry)).size(), 1U);
  entry.front() = field("COREDUMP", std::string(2U << 20U, 'x'));
  EXPECT_TRUE(json(as_json(entry)).empty());
  EXPECT_EQ(counters_.get("ingest_json_too_long_total"), 1U);
}

TEST_F(JournalTest, GoesOnAfterASizeThatCannotBe) {
  const std::string good = as_export(kernel_entry(std::string(xid_79)));
  const std::string bad =
      "__CURSOR=x\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff"
      "abc\n\n";
  EXPECT_EQ(briefs(exported(bad + good)),
            (Texts{"xid.79 gpu:n3/0000:3b:00.0 @" + std::to_string(bad.size())}));
  EXPECT_EQ(counters_.get("ingest_journal_damaged_total"), 1U);
}

TEST_F(JournalTest, CutAnywhereItNeverFails) {
  const std::string text = as_export(kernel_entry("a\n" + std::string(xid_79)));
  const std::string lines = as_json(kernel_entry(std::string(xid_79)));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_LE(exported(text.substr(0, length)).size(), 1U);
    EXPECT_LE(json(lines.substr(0, length)).size(), 1U);
  }
  EXPECT_EQ(exported(text.substr(0, text.size() - 1)).size(), 1U)
      << "the last entry may lack its empty line";
}

TEST_F(JournalTest, ATimeOrHostThatCannotBeIsNone) {
  Entry entry = kernel_entry(std::string(xid_79));
  entry[1] = field("__REALTIME_TIMESTAMP", "99999999999999999999");
  entry[6] = field("_HOSTNAME", "a b;c");
  const auto events = json(as_json(entry));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(known(events[0].observed_at));
  EXPECT_EQ(events[0].subject.node, "unknown");
}

}  // namespace
}  // namespace faultline
