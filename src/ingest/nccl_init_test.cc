// Which GPU a rank runs on, out of NCCL's INFO lines, through the whole decoder.
#include "ingest/nccl_init.h"

#include <gtest/gtest.h>

#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class NcclInitTest : public DecoderTest {
 protected:
  /// A log that many ranks wrote.
  static Origin gathered() {
    Origin origin = job_origin();
    origin.node.clear();
    origin.rank = -1;
    return origin;
  }
  static std::string brief(const Event& event) {
    std::string text = std::string(to_text(event.kind)) + " " + event.subject.text();
    for (const char* field : {"gpus", "local_rank", "world"}) {
      if (const auto value = event.field(field); !value.empty())
        text += " " + std::string(field) + "=" + std::string(value);
    }
    return text;
  }
  Texts told(const Origin& origin, const std::string& text) {
    Texts out;
    for (const Event& event : decode(origin, text)) out.push_back(brief(event));
    return out;
  }
};

std::string init(const std::string& host, int rank, int world, int device, const std::string& bus,
                 const std::string& id = "0x9ad9", int pid = 100) {
  const auto number = [](int value) { return std::to_string(value); };
  return host + ":" + number(pid + device) + ":" + number(900 + device) + " [" + number(device) +
         "] NCCL INFO ncclCommInitRank comm 0x55f01c18e490 rank " + number(rank) + " nranks " +
         number(world) + " cudaDev " + number(device) + " nvmlDev " + number(device) + " busId " +
         bus + " commId " + id + " - Init COMPLETE\n";
}

TEST_F(NcclInitTest, PlacesARankWhoseLogItIs) {
  const auto events = decode(job_origin(), init("n3", 3, 64, 3, "b7000"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(brief(events[0]),
            "rank_started rank:123#0/3@n3 gpus=0000:b7:00.0 local_rank=3 world=64");
  EXPECT_EQ(events[0].source, EventSource::job_log);
  EXPECT_EQ(events[0].field("pid"), "103");
  EXPECT_EQ(events[0].field("host"), "n3");
  EXPECT_EQ(events[0].signature, "");
  EXPECT_EQ(events[0].attempt, (AttemptId{"123", 0}));
  EXPECT_EQ(events[0].id, make_event_id(events[0]));
}

TEST_F(NcclInitTest, AGroupsNumberIsNotTheRank) {
  EXPECT_EQ(told(job_origin(), init("n3", 1, 2, 3, "b7000") + init("n3", 3, 64, 3, "b7000") +
                                   init("n3", 0, 8, 3, "b7000")),
            (Texts{"rank_started rank:123#0/3@n3 gpus=0000:b7:00.0 local_rank=3 world=2",
                   "rank_started rank:123#0/3@n3 gpus=0000:b7:00.0 local_rank=3 world=64"}));
}

TEST_F(NcclInitTest, ALabelSaysWhoseLineItIs) {
  EXPECT_EQ(told(gathered(), "[rank5]: " + init("n4", 1, 2, 1, "b7000")),
            Texts{"rank_started rank:123#0/5@n4 gpus=0000:b7:00.0 local_rank=1 world=2"});
}

TEST_F(NcclInitTest, InAGatheredLogTheLargestCommunicatorCounts) {
  EXPECT_EQ(
      told(gathered(), init("n4", 0, 2, 0, "18000", "0x1") + init("n5", 0, 2, 0, "18000", "0x2") +
                           init("n5", 1, 3, 0, "18000") + init("n4", 0, 3, 0, "18000") +
                           init("n4", 2, 3, 1, "3b000") + init("n4", 2, 3, 1, "3b000")),
      (Texts{"rank_started rank:123#0/0@n4 gpus=0000:18:00.0 local_rank=0 world=3",
             "rank_started rank:123#0/1@n5 gpus=0000:18:00.0 local_rank=0 world=3",
             "rank_started rank:123#0/2@n4 gpus=0000:3b:00.0 local_rank=1 world=3"}));
}

TEST_F(NcclInitTest, GroupsOfEqualSizePlaceNobody) {
  EXPECT_TRUE(told(gathered(),
                   init("n4", 0, 2, 0, "18000", "0x1") + init("n4", 1, 2, 1, "3b000", "0x1") +
                       init("n5", 0, 2, 0, "18000", "0x2") + init("n5", 1, 2, 1, "3b000", "0x2"))
                  .empty());
  EXPECT_TRUE(
      told(gathered(), init("n4", 0, 2, 0, "18000", "0x1") + init("n4", 0, 2, 2, "5e000", "0x2"))
          .empty())
      << "on one host, too";
  EXPECT_TRUE(told(gathered(), init("n4", 0, 1, 0, "18000")).empty()) << "a group of one";
}

TEST_F(NcclInitTest, ARestartedRankIsPlacedAnew) {
  LogDecoder decoder = this->decoder(gathered());
  const std::string first =
      init("n4", 0, 2, 0, "18000", "0x1") + init("n4", 1, 2, 1, "3b000", "0x1");
  EXPECT_TRUE(decoder.feed(first, 0, now_).empty()) << "until the log rests";
  EXPECT_EQ(decoder.finish(now_).size(), 2U);
  EXPECT_EQ(decoder.finish(now_).size(), 0U) << "once";
  const std::string second = init("n4", 0, 2, 0, "18000", "0x3", 500);
  decoder.feed(second, first.size(), now_);
  const auto events = decoder.finish(now_);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].field("pid"), "500");
}

TEST_F(NcclInitTest, OlderLinesSayLess) {
  EXPECT_EQ(told(job_origin(),
                 "n3:1:2 [0] NCCL INFO comm 0x7f rank 3 nranks 4 cudaDev 0 nvmlDev 2 "
                 "- Init COMPLETE\n"),
            Texts{"rank_started rank:123#0/3@n3 world=4"})
      << "each process sees one device: which of the host's it is, only its address would say";
  EXPECT_EQ(told(job_origin(),
                 "NCCL INFO comm 0x7f rank 3 nranks 4 cudaDev 3 busId fffffffff - Init "
                 "COMPLETE\n"),
            Texts{"rank_started rank:123#0/3@n3 local_rank=3 world=4"})
      << "no address that can be";
  EXPECT_TRUE(told(job_origin(),
                   "NCCL INFO comm 0x7f rank 3 nranks 99999999999 cudaDev 3 - Init "
                   "COMPLETE\n")
                  .empty());
}

}  // namespace
}  // namespace faultline
