#include "ingest/slurm_nodes_json.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

class SlurmNodesJson : public DecoderTest {
 protected:
  std::vector<Event> events_of(const std::string& text) {
    Origin origin;
    origin.source = EventSource::scheduler;
    origin.path = "nodes.json";
    auto events =
        decode_slurm_nodes_json(text, origin, counters_, database(EventSource::scheduler));
    error_ = events ? "" : events.error().message;
    return events ? std::move(events).value() : std::vector<Event>{};
  }
  std::string error_;
};

TEST_F(SlurmNodesJson, OfScontrol) {
  const auto events = events_of(R"({"nodes": [
    {"name": "n3", "state": ["DOWN", "NOT_RESPONDING"], "reason": "fan is loud",
     "reason_set_by_user": "ann", "reason_changed_at": {"set": true, "number": 1795600000},
     "boot_time": {"set": true, "number": 1795000000}},
    {"name": "n4", "state": ["ALLOCATED"], "reason": ""},
    {"hostname": "without a name", "state": ["IDLE"]}]})");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].subject.text(), "node:n3");
  EXPECT_EQ(events[0].field("down"), "true");
  EXPECT_EQ(events[0].field("reason"), "fan is loud");
  EXPECT_EQ(to_text(events[0].observed_at), "2026-11-25T09:46:40.000000Z");
  EXPECT_EQ(events[1].field("down"), "false");
  EXPECT_EQ(counters_.get("slurm_records_bad_total"), 1U);
}

TEST_F(SlurmNodesJson, OfSinfoWhichTellsOfManyAtOnce) {
  const auto events = events_of(R"({"sinfo": [
    {"node": {"state": ["IDLE", "DRAIN"]}, "nodes": {"idle": 2, "nodes": ["n1", "n2"]},
     "reason": {"description": "fan", "user": "ann", "time": {"set": true, "number": 1795600000}}},
    {"node": {"state": ["IDLE"]}, "nodes": {"nodes": []}}]})");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].subject.text(), "node:n2");
  EXPECT_EQ(events[1].field("drained"), "true");
}

TEST_F(SlurmNodesJson, WithoutANodeItSaysWhatToRun) {
  EXPECT_TRUE(events_of(R"({"nodes": []})").empty());
  EXPECT_NE(error_.find("scontrol show node --json"), std::string::npos);
}

TEST_F(SlurmNodesJson, AReasonOfSlurmsOwnIsKnown) {
  const auto events = events_of(
      R"({"nodes": [{"name": "n3", "state": ["IDLE", "DRAIN"], "reason": "Kill task failed"}]})");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, EventKind::log_signature);
}

}  // namespace
}  // namespace faultline
