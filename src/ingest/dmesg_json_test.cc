#include "ingest/dmesg_json.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

class DmesgJsonTest : public RecordTest {
 protected:
  std::vector<Event> decode_json(const std::string& text, std::size_t chunk = 4096) {
    Origin origin = file_origin();
    origin.node = "n3";
    origin.boot_time = test_time("2026-11-20T00:00:00Z");
    DmesgJsonDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
};

std::string document(const std::string& time, const std::string& message) {
  return "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     0.000000,\n"
         "         \"msg\": \"Command line: ro\"\n      },{\n         \"pri\": 3,\n         "
         "\"time\": " +
         time + ",\n         \"msg\": \"" + message + "\"\n      }\n   ]\n}\n";
}

constexpr const char* xid_79 =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.";

TEST_F(DmesgJsonTest, MakesAnEventOfARecord) {
  const std::string text = document("901233.110000", xid_79);
  const auto events = decode_json(text);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(brief(events[0]),
            "xid.79 gpu:n3/0000:3b:00.0 @" + std::to_string(text.find("{\n         \"pri\": 3")));
  EXPECT_EQ(events[0].field("kernel_us"), "901233110000");
  EXPECT_EQ(events[0].clock, ClockDomain::node_kernel);
  EXPECT_EQ(to_text(events[0].observed_at), "2026-11-30T10:20:33.110000Z");
  EXPECT_EQ(events[0].raw.text, "[901233.110000] " + std::string(xid_79));
  for (std::size_t chunk = 1; chunk < text.size(); chunk += 11)
    EXPECT_EQ(decode_json(text, chunk), events) << chunk;
}

TEST_F(DmesgJsonTest, ReadsDmesgsOtherTimes) {
  const auto at = [&](const std::string& time) {
    const auto events = decode_json(document(time, xid_79));
    return events.size() == 1 ? to_text(events[0].observed_at) : "none";
  };
  EXPECT_EQ(at("\"Mon Nov 30 10:20:33 2026\""), "2026-11-30T10:20:33.000000Z");
  EXPECT_EQ(at("\"2026-11-30T10:20:33,110000+00:00\""), "2026-11-30T10:20:33.110000Z");
  EXPECT_EQ(at("\"once\""), "-");
  EXPECT_EQ(at("-1"), "-");
  EXPECT_EQ(at("1e300"), "-");
  EXPECT_EQ(at("null"), "-");
}

TEST_F(DmesgJsonTest, RecordsThatAreNoneArePassedOver) {
  EXPECT_TRUE(decode_json(R"({"dmesg":[{"time":1.0},{"msg":7},{"msg":""},{"msg":[]}]})").empty());
  EXPECT_TRUE(decode_json(R"({"dmesg":[{"time":1.0,"msg":oops}]})").empty());
  EXPECT_EQ(counters_.get("ingest_json_broken_total"), 1U);
}

TEST_F(DmesgJsonTest, WhatAProcessWroteIsNotTheKernels) {
  const auto record = [](const std::string& facility) {
    return R"({"dmesg":[{"fac":")" + facility + R"(","pri":"warn","time":1.0,"msg":")" + xid_79 +
           R"("}]})";
  };
  EXPECT_TRUE(decode_json(record("user")).empty());
  EXPECT_EQ(counters_.get("ingest_not_kernel_lines_total"), 1U);
  EXPECT_EQ(decode_json(record("kern")).size(), 1U);
}

}  // namespace
}  // namespace faultline
