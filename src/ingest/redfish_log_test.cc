#include "ingest/redfish_log.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class RedfishLogTest : public RecordTest {
 protected:
  Result<std::vector<Event>> decoded(const std::string& document) {
    Origin origin = file_origin();
    origin.node = "n3";
    return decode_redfish_log(document, origin, counters_, databases(), now_);
  }
  Texts told(const std::string& members) {
    const auto events = decoded(R"({"Members": [)" + members + "]}");
    return events ? briefs(*events) : Texts{events.error().message};
  }
};

const std::string lost =
    R"({"Severity": "Critical", "MessageId": "PSU0003", "Message": "The power input for power supply 1 is lost.", "Created": "2026-11-29T13:47:31-06:00"})";

TEST_F(RedfishLogTest, AMakersSentence) {
  const auto events = decoded(R"({"Members": [)" + lost + "]}");
  ASSERT_TRUE(events);
  ASSERT_EQ(briefs(*events), Texts{"bmc.redfish.power_lost node:n3 @13"});
  EXPECT_EQ(to_text(events->front().observed_at), "2026-11-29T19:47:31.000000Z");
  EXPECT_EQ(counters_.get("ingest_bmc_records_total"), 1U);
}

TEST_F(RedfishLogTest, ASensorOfTheEventLog) {
  const std::string head = R"({"EntryType": "SEL", "SensorType": "Memory", "EntryCode": ")";
  EXPECT_EQ(told(head + R"(Assert", "Message": "Uncorrectable ECC"})"),
            Texts{"bmc.memory_uncorrectable node:n3 @13"});
  EXPECT_TRUE(told(head + R"(Deassert", "Message": "Uncorrectable ECC"})").empty()) << "it is over";
}

TEST_F(RedfishLogTest, WhatIsWellIsPassedOver) {
  std::string well = lost;
  well.replace(well.find("Critical"), 8, "OK");
  EXPECT_TRUE(told(well).empty());
  EXPECT_TRUE(told(R"({"@odata.id": "/redfish/v1/x"})").empty()) << "a link";
  EXPECT_TRUE(told(R"({"Severity": 7, "Message": ["x"], "Created": null})").empty());
}

TEST_F(RedfishLogTest, ADocumentWithoutMembersIsTrouble) {
  EXPECT_FALSE(decoded(R"({"Members": []})"));
}

}  // namespace
}  // namespace faultline
