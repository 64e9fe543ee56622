// What a reader makes of a black box that is whole, cut, wild, of another version, or written under
// its eyes.
#include <gmock/gmock.h>

#include <cstddef>
#include <functional>

#include "base/rng.h"
#include "tests/fixtures/ring_story.h"

namespace faultline {
namespace {

using ringfmt::Ring;
using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

RingSnapshot read_whole(const StoryRing& story) {
  auto bytes = story.bytes();
  auto snapshot = read_ring(bytes);
  EXPECT_TRUE(snapshot.ok()) << (snapshot.ok() ? "" : snapshot.error().message);
  return snapshot.ok() ? snapshot.value() : RingSnapshot();
}

TEST(RingReaderTest, SaysWhatHangsAndWhatWasLast) {
  const auto ring = read_whole(stuck_rank());
  EXPECT_THAT(ring.problems, IsEmpty());
  EXPECT_THAT(ring.drops, IsEmpty());
  EXPECT_EQ(ring.identity.host, "n12");
  EXPECT_EQ(ring.identity.rank, 3);
  EXPECT_EQ(ring.state, "active");
  ASSERT_EQ(ring.communicators.size(), 2U);
  const RingCommunicator& data = ring.communicators[0];
  EXPECT_EQ(data.name, "DATA_PARALLEL");
  EXPECT_EQ(data.started, 300U);
  EXPECT_EQ(data.finished, 299U);
  ASSERT_EQ(data.in_flight.size(), 1U);
  EXPECT_EQ(data.in_flight[0].sequence, 299U);
  EXPECT_EQ(data.in_flight[0].kind, "all_reduce");
  EXPECT_EQ(data.in_flight[0].phase, OperationPhase::running);
  EXPECT_EQ(data.in_flight[0].channels_started, 1U);
  ASSERT_EQ(data.completed.size(), ringfmt::operations_max - 1U);
  EXPECT_EQ(data.completed[0].sequence, 298U);
  EXPECT_EQ(data.completed[0].outcome, "done");
  EXPECT_TRUE(data.completed[0].started.is_known);
  ASSERT_EQ(ring.peers.size(), 1U);
  EXPECT_EQ(ring.peers[0].rank, 4);
  EXPECT_EQ(ring.peers[0].waits[1].open, 1U);
  EXPECT_EQ(ring.peers[0].waits[3].ended, 1U);
  EXPECT_EQ(mixtures_in(ring), 0U);
}

// Each byte of the head, then each byte of one record of each kind, the edges of all sections, and
// some in between.
TEST(RingReaderTest, MayBeCutAnywhere) {
  const StoryRing story = stuck_rank();
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 0; cut <= ringfmt::anchors_offset + 64; ++cut) cuts.push_back(cut);
  for (const auto start :
       {ringfmt::communicators_offset, ringfmt::peers_offset, ringfmt::operations_offset}) {
    for (std::size_t cut = start - 2; cut <= start + 256; ++cut) cuts.push_back(cut);
  }
  for (std::size_t cut = 0; cut < ringfmt::ring_bytes; cut += 8191) cuts.push_back(cut);
  for (const std::size_t cut : cuts) {
    auto bytes = story.bytes(cut);
    const auto snapshot = read_ring(bytes);
    if (cut < sizeof(ringfmt::Header)) {
      ASSERT_FALSE(snapshot.ok()) << cut;
      ASSERT_EQ(snapshot.error().code, ErrorCode::corrupt);
      continue;
    }
    ASSERT_TRUE(snapshot.ok()) << cut;
    check_limits(*snapshot);
    const bool is_cut = cut < ringfmt::ring_bytes - sizeof(ringfmt::Operation) *
                                                        ringfmt::operations_max *
                                                        (ringfmt::communicators_max - 2);
    ASSERT_EQ(snapshot->problems.contains("missing_records"), is_cut) << cut;
    ASSERT_EQ(mixtures_in(*snapshot), 0U) << cut;
  }
}

TEST(RingReaderTest, RefusesWhatItDoesNotKnow) {
  const auto error_of = [](const std::function<void(Ring&)>& change) {
    const StoryRing story = stuck_rank();
    change(*story.ring);
    auto bytes = story.bytes();
    const auto snapshot = read_ring(bytes);
    return snapshot.ok() ? Error{ErrorCode::internal, "read"} : snapshot.error();
  };
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.magic = 0; }).code, ErrorCode::unavailable);
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.magic = 7; }).code, ErrorCode::invalid_argument);
  const Error version = error_of([](Ring& ring) { ring.header.version = 2; });
  EXPECT_EQ(version.code, ErrorCode::invalid_argument);
  EXPECT_THAT(version.message, testing::HasSubstr("has version 2; this faultline reads version 1"));
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.version = 0; }).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.byte_order = 0x04030201; }).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.operation_count = 0xffffffff; }).code,
            ErrorCode::corrupt);
  EXPECT_EQ(error_of([](Ring& ring) { ring.header.file_bytes = 1; }).code, ErrorCode::corrupt);
}

TEST(RingReaderTest, WildNumbersAreCountedAndNeverFollowed) {
  const StoryRing story = stuck_rank();
  Ring& ring = *story.ring;
  ring.communicators[0].rank = 77;
  ring.communicators[1].rank_count = -5;
  std::memset(ring.communicators[1].name, 'x', sizeof ring.communicators[1].name);
  ring.operations[0][1].start.kind = 200;
  ring.operations[0][2].start.channel_count = 255;
  ring.operations[0][3].start.started_ticks = ~std::uint64_t{0} / 2;
  ring.operations[0][4].progress.stamp += 2 * 1000;
  ring.operations[0][5].start.stamp |= 1U;
  ring.operations[0][6].progress.gpu_first_start_ns = 9999;
  ring.peers[500].key = std::uint64_t{1} << 40U | std::uint64_t{200} << 32U;
  const auto read = read_whole(story);
  for (const auto& [problem, count] : {std::pair{"unknown_words", 1U},
                                       {"endless_texts", 1U},
                                       {"wild_times", 1U},
                                       {"wild_generations", 1U},
                                       {"half_written", 1U},
                                       {"stops_before_starts", 1U}}) {
    EXPECT_THAT(read.problems, Contains(Pair(problem, count)));
  }
  EXPECT_THAT(read.problems, Contains(Pair("wild_numbers", 4U)));
  check_limits(read);
}

TEST(RingReaderTest, AnyBytesAreReadOrRefused) {
  const StoryRing story = stuck_rank();
  Rng rng(4711);
  auto* bytes = reinterpret_cast<std::uint8_t*>(story.ring.get());
  constexpr std::uint64_t used = ringfmt::operations_offset + 2 * sizeof(story.ring->operations[0]);
  for (int round = 0; round < 500; ++round) {
    std::uint8_t saved[64];
    const std::uint64_t at = 8 + rng.next() % (used - 8 - sizeof saved);
    std::memcpy(saved, bytes + at, sizeof saved);
    for (std::size_t i = 0; i < sizeof saved; ++i)
      bytes[at + i] = static_cast<std::uint8_t>(rng.next() >> 7U);
    auto memory = story.bytes();
    if (const auto snapshot = read_ring(memory); snapshot.ok()) check_limits(*snapshot);
    std::memcpy(bytes + at, saved, sizeof saved);
  }
}

TEST(RingReaderTest, ClocksThatJumpAreSaidAndTimesGoOn) {
  const StoryRing story = stuck_rank();
  Ring& ring = *story.ring;
  const ringfmt::Anchor first = ring.anchors[0];
  const auto later = [&](std::uint32_t slot, std::int64_t monotonic_ms, std::int64_t wall_ms) {
    ringfmt::Anchor& anchor = ring.anchors[slot];
    anchor = first;
    anchor.number = slot;
    anchor.ticks += static_cast<std::uint64_t>(monotonic_ms) * 1'000'000;
    anchor.monotonic_ns += monotonic_ms * 1'000'000;
    anchor.wall_ns += wall_ms * 1'000'000;
  };
  later(1, 1000, 1000);
  later(2, 2000, 2099);  // slewed, which is no step
  EXPECT_THAT(read_whole(story).problems, IsEmpty());
  later(3, 3000, 3600'000);  // an hour ahead
  later(4, 4000, 4000);      // and back
  EXPECT_THAT(read_whole(story).problems, testing::ElementsAre(Pair("wall_clock_steps", 2U)));
  later(5, -5000, 5000);
  const auto read = read_whole(story);
  EXPECT_THAT(read.problems, Contains(Pair("clock_went_back", 1U)));
  EXPECT_TRUE(read.communicators[0].in_flight[0].started.is_known);
  EXPECT_LT(read.communicators[0].in_flight[0].started.monotonic, read.last_sign.monotonic);
}

TEST(RingReaderTest, LimitsAreShownNotPassed) {
  StoryRing story;
  for (std::uint32_t i = 0; i < ringfmt::communicators_max + 3; ++i) {
    const auto handle = story.open("many", i);
    for (std::uint32_t k = 0; k < ringfmt::operations_max + 2; ++k) story.start(handle, k, 0);
    for (std::int32_t peer = 0; peer < 40; ++peer) trace::find_peer(story.writer, handle, peer);
  }
  const auto read = read_whole(story);
  EXPECT_EQ(read.communicators.size(), ringfmt::communicators_max);
  EXPECT_EQ(read.communicators[9].in_flight.size(), ringfmt::operations_max);
  EXPECT_EQ(read.communicators[9].dropped, 2U);
  EXPECT_THAT(read.drops, Contains(Pair("communicators", 3U)));
  EXPECT_THAT(read.drops, Contains(Pair("operations", 2U * ringfmt::communicators_max)));
  EXPECT_THAT(read.drops, Contains(Key("peers")));
  check_limits(read);
}

/// The writer goes on in the midst of each read.
class BusyRing final : public RingBytes {
 public:
  BusyRing(const StoryRing& story, std::function<void()> step)
      : story_(story), step_(std::move(step)) {}
  std::size_t read(std::uint64_t offset, std::span<std::byte> into) override {
    auto bytes = story_.bytes();
    const std::size_t half = into.size() / 3;
    bytes.read(offset, into.first(half));
    step_();
    bytes.read(offset + half, into.subspan(half));
    step_();
    return into.size();
  }

 private:
  const StoryRing& story_;
  std::function<void()> step_;
};

TEST(RingReaderTest, AReaderThatIsSlowerThanTheWriterMixesNothing) {
  StoryRing story;
  const auto data = story.open("DATA_PARALLEL", 1);
  std::uint64_t sequence = 0;
  for (const std::uint64_t speed : {1U, 7U, 200U}) {
    std::vector<trace::OperationHandle> open;
    BusyRing busy(story, [&] {
      for (std::uint64_t i = 0; i < speed; ++i) {
        open.push_back(story.start(data, sequence++, 2));
        if (open.size() < 5) continue;
        story.complete(open.front(), 2);
        open.erase(open.begin());
      }
    });
    for (int round = 0; round < 5; ++round) {
      const auto snapshot = read_ring(busy);
      ASSERT_TRUE(snapshot.ok());
      ASSERT_EQ(mixtures_in(*snapshot), 0U) << speed;
      check_limits(*snapshot);
    }
    for (const auto handle : open) story.complete(handle, 2);
  }
}

}  // namespace
}  // namespace faultline
