#include "ingest/bmc_events.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class BmcEventsTest : public RecordTest {
 protected:
  std::vector<Event> records(const std::string& text, std::size_t chunk = 4096) {
    Origin origin = file_origin();
    origin.node = "n3";
    origin.node_is_guess = true;
    BmcEventDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
  Texts told(const std::string& text) { return briefs(records(text)); }
  std::string time_of(const std::string& date_and_clock) {
    const auto events = records("1 | " + date_and_clock + " | Processor #0x70 | IERR | Asserted\n");
    return events.empty() ? "" : to_text(events[0].observed_at);
  }
};

TEST_F(BmcEventsTest, ARecordIsOfTheHostBeforeItsLine) {
  EXPECT_EQ(told("1 | 11/29/2026 | 19:47:31 | Memory #0x87 | Uncorrectable ECC | Asserted\n"),
            Texts{"bmc.memory_uncorrectable node:n3 @0"});
  EXPECT_EQ(told("n8:  1 | 11/29/2026 | 19:47:31 | Processor #0x70 | IERR | Asserted\n"),
            Texts{"bmc.cpu_fatal node:n8 @0"});
  EXPECT_EQ(counters_.get("ingest_bmc_records_total"), 2U);
}

TEST_F(BmcEventsTest, WhatIsOverIsNoFault) {
  EXPECT_EQ(told("1 | 11/29/2026 | 19:47:31 | Power Supply #0x51 | Power Supply AC lost | "
                 "Deasserted\n"),
            Texts{"bmc.power_back node:n3 @0"});
  EXPECT_TRUE(
      told("1 | 11/29/2026 | 19:47:31 | Memory #0x87 | Uncorrectable ECC | Deasserted\n").empty());
}

TEST_F(BmcEventsTest, EveryFormOfTime) {
  EXPECT_EQ(time_of("11/29/2026 | 19:47:31"), "2026-11-29T19:47:31.000000Z");
  EXPECT_EQ(time_of("11/29/26 | 07:47:31 PM UTC"), "2026-11-29T19:47:31.000000Z");
  EXPECT_EQ(time_of("11/29/2026 | 12:00:01 AM"), "2026-11-29T00:00:01.000000Z");
  EXPECT_EQ(time_of("29/11/26 | 19:47:31"), "2026-11-29T19:47:31.000000Z") << "the day first";
  const auto undated = records("1 |  Pre-Init  |0000000012| Processor #0x70 | IERR | Asserted\n");
  ASSERT_EQ(undated.size(), 1U);
  EXPECT_FALSE(known(undated[0].observed_at));
}

TEST_F(BmcEventsTest, IsTheSameHoweverTheBytesAreCut) {
  const std::string text =
      "SEL Record ID          : 0001\n Record Type           : 02\n"
      " Timestamp             : 11/29/2026 19:47:30\n Sensor Type           : Processor\n"
      " Sensor Number         : 70\n Event Direction       : Assertion Event\n"
      " Description           : IERR\n\nSEL Record ID          : 0002\n"
      " Timestamp             : 11/29/2026 19:48:30\n Sensor Type           : Fan\n"
      " Description           : Lower Critical going low\n";
  const auto whole = records(text);
  EXPECT_EQ(briefs(whole), (Texts{"bmc.cpu_fatal node:n3 @0",
                                  "bmc.fan node:n3 @" + std::to_string(text.rfind("SEL"))}));
  for (std::size_t chunk = 1; chunk < text.size(); chunk += 7)
    EXPECT_EQ(records(text, chunk), whole) << chunk;
}

TEST_F(BmcEventsTest, RecordsThatCannotBeAreNone) {
  EXPECT_TRUE(told("1 | 99/99/2026 | 19:47:31 | Processor #0x70 | IERR | Asserted\n").empty());
  EXPECT_TRUE(told("$(x): 1 | 11/29/2026 | 19:47:31 | Processor | IERR | Asserted\n").empty());
  EXPECT_TRUE(told("||||||\n,,,,,\n1 | Pre-Init\nSEL Record ID\nTimestamp:\n").empty());
  EXPECT_TRUE(told("1 | 11/29/2026 | 19:47:31 | OEM record c0 | 000137 | 0000\n").empty());
}

}  // namespace
}  // namespace faultline
