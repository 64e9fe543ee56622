#include "ingest/nvlink_state.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class NvlinkStateTest : public RecordTest {
 protected:
  Texts told(const std::string& text, std::size_t chunk = 4096) {
    Origin origin = file_origin();
    origin.node = "n3";
    NvlinkStateDecoder decoder(databases(), origin, counters_);
    return briefs(run(decoder, text, chunk));
  }
};

std::string card(unsigned index, const std::string& links) {
  return "GPU " + std::to_string(index) + ": NVIDIA H100 80GB HBM3 (UUID: GPU-" +
         std::to_string(index) + ")\n" + links;
}

std::string link(unsigned number, const std::string& value) {
  return "\t Link " + std::to_string(number) + ": " + value + "\n";
}

const std::string both = link(0, "26.562 GB/s") + link(1, "26.562 GB/s");
const std::string one = link(0, "26.562 GB/s") + link(1, "<inactive>");

TEST_F(NvlinkStateTest, ALinkThatOthersHave) {
  const std::string text = card(0, both) + card(1, one) + card(2, both);
  const Texts expected{"nvlink.inactive link:n3/GPU-1:1 @" +
                       std::to_string(text.find("\t Link 1: <inactive>"))};
  EXPECT_EQ(told(text), expected);
  EXPECT_EQ(counters_.get("ingest_nvlink_cards_total"), 3U);
  EXPECT_EQ(told(text, 7), expected) << "bytes may be cut anywhere";
}

TEST_F(NvlinkStateTest, ALinkThatHalfOfTheOthersLackIsNoFault) {
  EXPECT_TRUE(told(card(0, one) + card(1, one) + card(2, both)).empty());
  EXPECT_TRUE(told(card(0, one)).empty()) << "nothing to hold it against";
}

TEST_F(NvlinkStateTest, AnotherKindOfCardIsNoNeighbour) {
  const std::string other = "GPU 1: Quadro GV100 (UUID: GPU-9)\n" + both;
  EXPECT_TRUE(told(card(0, one) + other).empty());
}

TEST_F(NvlinkStateTest, CountersHaveBounds) {
  EXPECT_TRUE(told(card(0, link(0, "Replay Errors: 99") + link(0, "Recovery Errors: 2"))).empty());
  const std::string text = card(0, link(3, "Recovery Errors: 3"));
  EXPECT_EQ(told(text),
            Texts{"nvlink.errors link:n3/GPU-0:3 @" + std::to_string(text.find("\t Link"))});
}

TEST_F(NvlinkStateTest, CardsBeyondTheLimitAreLeftOut) {
  std::string text;
  for (unsigned index = 0; index <= NvlinkStateDecoder::cards_max; ++index)
    text += card(index, index == NvlinkStateDecoder::cards_max ? one : both);
  EXPECT_TRUE(told(text).empty());
  EXPECT_EQ(counters_.get("ingest_nvlink_cards_total"), NvlinkStateDecoder::cards_max);
}

TEST_F(NvlinkStateTest, WhatIsNoLinkIsPassedOver) {
  EXPECT_TRUE(told(card(0, "\t Link x: <inactive>\n\t Link 99: <inactive>\nLink\n")).empty());
  EXPECT_TRUE(told(link(0, "<inactive>")).empty()) << "of no card";
}

}  // namespace
}  // namespace faultline
