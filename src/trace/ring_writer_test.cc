#include "trace/ring_writer.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "trace/ring_fixture.h"

namespace faultline::trace {
namespace {

using ringfmt::Drop;
using ringfmt::Outcome;

TEST(RingWriterTest, AnOperationIsOverWhenItsLastChannelStopped) {
  RingInMemory box;
  const auto world = box.open();
  const auto handle = box.start(world, 17, 2);
  ASSERT_NE(handle, 0U);
  EXPECT_EQ(box.slot(handle).start.sequence, 17U);
  EXPECT_EQ(box.slot(handle).start.enqueued_ticks, 0U);
  enqueue_operation(box.writer, handle);
  EXPECT_NE(box.slot(handle).start.enqueued_ticks, 0U);
  start_channel(box.writer, handle, 0, 500);
  start_channel(box.writer, handle, 5, 400);
  stop_channel(box.writer, handle, 5, 900);
  EXPECT_FALSE(box.over(handle));
  stop_channel(box.writer, handle, 0, 800);
  EXPECT_TRUE(box.over(handle));
  EXPECT_EQ(box.slot(handle).progress.channels_stopped, 0x21U);
  EXPECT_EQ(box.slot(handle).progress.gpu_first_start_ns, 400U);
  EXPECT_EQ(box.slot(handle).progress.gpu_last_stop_ns, 900U);
  EXPECT_EQ(box.ring->communicators[0].started, 1U);
  EXPECT_EQ(box.ring->communicators[0].finished, 1U);
}

TEST(RingWriterTest, WhatIsOverIsKnownForSuch) {
  RingInMemory box;
  const auto world = box.open();
  const auto handle = box.start(world, 1, 1);
  start_channel(box.writer, handle, 0, 0);
  stop_channel(box.writer, handle, 0, 0);
  const ringfmt::Operation before = box.slot(handle);
  stop_channel(box.writer, handle, 0, 77);
  start_channel(box.writer, handle, 1, 77);
  finish_operation(box.writer, handle, Outcome::failed);
  EXPECT_EQ(box.dropped(Drop::late_calls), 3U);
  EXPECT_EQ(box.slot(handle).progress.gpu_last_stop_ns, before.progress.gpu_last_stop_ns);
  EXPECT_EQ(box.ring->communicators[0].finished, 1U);
  // The slot goes to another operation, and the old handle still is the old one's.
  for (std::uint32_t i = 0; i < ringfmt::operations_max; ++i)
    finish_operation(box.writer, box.start(world, i), Outcome::done);
  EXPECT_NE(box.slot(handle).start.stamp, before.start.stamp);
  start_channel(box.writer, handle, 0, 1);
  enqueue_operation(box.writer, handle);
  EXPECT_EQ(box.dropped(Drop::late_calls), 5U);
}

TEST(RingWriterTest, HandlesOfNothingDoNothing) {
  RingInMemory box;
  box.open();
  for (const OperationHandle handle :
       {OperationHandle{0}, ~OperationHandle{0}, OperationHandle{1} << 22U}) {
    enqueue_operation(box.writer, handle);
    start_channel(box.writer, handle, 1, 1);
    stop_channel(box.writer, handle, 1, 1);
    finish_operation(box.writer, handle, Outcome::done);
  }
  EXPECT_EQ(box.dropped(Drop::late_calls), 8U);
  EXPECT_EQ(box.start(0, 1), 0U);
  EXPECT_EQ(box.start(0xffffff05, 1), 0U);
  EXPECT_EQ(box.dropped(Drop::late_calls), 9U);
}

TEST(RingWriterTest, WhatHangsStaysWhileOthersGoRound) {
  RingInMemory box;
  const auto world = box.open();
  const auto stuck = box.start(world, 42);
  for (std::uint64_t i = 0; i < 5U * ringfmt::operations_max; ++i) {
    const auto handle = box.start(world, 100 + i);
    ASSERT_NE(handle, 0U);
    ASSERT_NE(detail::slot_of(handle), detail::slot_of(stuck));
    finish_operation(box.writer, handle, Outcome::done);
  }
  EXPECT_EQ(box.slot(stuck).start.sequence, 42U);
  EXPECT_FALSE(box.over(stuck));
  EXPECT_EQ(box.dropped(Drop::operations), 0U);
}

TEST(RingWriterTest, OperationsBeyondTheLimitAreCounted) {
  RingInMemory box;
  const auto world = box.open();
  for (std::uint32_t i = 0; i < ringfmt::operations_max; ++i) ASSERT_NE(box.start(world, i), 0U);
  EXPECT_EQ(box.dropped(Drop::operations), 0U);
  EXPECT_EQ(box.start(world, 1000), 0U);
  EXPECT_EQ(box.dropped(Drop::operations), 1U);
  EXPECT_EQ(box.ring->communicators[0].dropped, 1U);
  EXPECT_EQ(box.ring->communicators[0].started, ringfmt::operations_max + 1U);
}

TEST(RingWriterTest, StopsBeforeStartsAndWildChannelsAreCounted) {
  RingInMemory box;
  const auto handle = box.start(box.open(), 1, 2);
  stop_channel(box.writer, handle, 3, 10);
  start_channel(box.writer, handle, 3, 5);
  start_channel(box.writer, handle, 3, 5);
  EXPECT_EQ(box.dropped(Drop::disorder), 2U);
  start_channel(box.writer, handle, ringfmt::channels_max, 5);
  stop_channel(box.writer, handle, ringfmt::channels_max, 5);
  EXPECT_EQ(box.dropped(Drop::channels), 2U);
  stop_channel(box.writer, handle, 0, 11);
  EXPECT_TRUE(box.over(handle));
}

TEST(RingWriterTest, GenerationsWrap) {
  RingInMemory box;
  const auto world = box.open();
  box.ring->operations[0][0].start.stamp = 2 * ringfmt::generation_mask;
  box.ring->operations[0][0].progress.stamp = 2 * ringfmt::generation_mask + 1;
  box.ring->communicators[0].next_slot = ~std::uint64_t{0} - ringfmt::operations_max + 1;
  const auto handle = box.start(world, 9, 1);
  ASSERT_EQ(detail::slot_of(handle), 0U);
  EXPECT_EQ(detail::generation_of(handle), 1U);
  start_channel(box.writer, handle, 0, 0);
  stop_channel(box.writer, handle, 0, 0);
  EXPECT_TRUE(box.over(handle));
  EXPECT_EQ(box.dropped(Drop::late_calls), 0U);
  for (std::uint32_t i = 0; i < 2 * ringfmt::operations_max; ++i)
    finish_operation(box.writer, box.start(world, i), Outcome::done);
  EXPECT_EQ(box.ring->communicators[0].finished, 1U + 2 * ringfmt::operations_max);
}

TEST(RingWriterTest, CommunicatorsBeyondTheLimitAreCountedAndClosedOnesUsedAgain) {
  RingInMemory box;
  std::vector<CommunicatorHandle> handles;
  for (std::uint32_t i = 0; i < ringfmt::communicators_max; ++i) handles.push_back(box.open());
  EXPECT_EQ(box.open(), 0U);
  EXPECT_EQ(box.dropped(Drop::communicators), 1U);
  const auto left = box.start(handles[5], 1);
  close_communicator(box.writer, handles[5]);
  close_communicator(box.writer, handles[5]);
  EXPECT_EQ(box.dropped(Drop::late_calls), 1U);
  const auto again =
      box.open("a name that is longer than what a communicator may be called, by far, really");
  EXPECT_EQ(again & 0xffU, 5U);
  EXPECT_NE(again, handles[5]);
  EXPECT_EQ(box.dropped(Drop::texts), 1U);
  EXPECT_EQ(box.ring->communicators[5].name[ringfmt::communicator_name_bytes - 1], 0);
  EXPECT_EQ(box.start(handles[5], 2), 0U);
  // What the one before left in flight takes no place from it.
  for (std::uint32_t i = 0; i < ringfmt::operations_max; ++i) ASSERT_NE(box.start(again, i), 0U);
  EXPECT_NE(box.slot(left).start.communicator_generation, handles[5] >> 8U);
}

TEST(RingWriterTest, ARingThatAnotherWroteOverIsLeftAlone) {
  RingInMemory box;
  const auto world = box.open();
  box.ring->header.pid = 8;
  box.writer.next_anchor_ticks = read_ticks(box.writer.ticks);
  box.start(world, 1);
  EXPECT_EQ(box.writer.ring, nullptr);
  EXPECT_EQ(box.ring->header.state, static_cast<std::uint32_t>(ringfmt::RingState::disabled));
  EXPECT_EQ(box.ring->header.disabled_reason,
            static_cast<std::uint32_t>(ringfmt::DisabledReason::foreign_header));
  EXPECT_EQ(box.start(world, 2), 0U);
}

TEST(RingWriterTest, TheFirstAnchorStaysAndTheOthersAreTheNewest) {
  RingInMemory box;
  for (std::uint64_t i = 0; i < 3U * ringfmt::anchors_max; ++i) write_anchor(box.writer, 1000 + i);
  EXPECT_EQ(box.ring->anchors[0].gpu_ns, 1000U);
  EXPECT_EQ(box.ring->anchors[0].number, 0U);
  for (const ringfmt::Anchor& anchor : box.ring->anchors) {
    EXPECT_EQ(anchor.gpu_ns, 1000 + anchor.number);
    EXPECT_EQ(anchor.stamp % 2, 0U);
  }
}

TEST(RingPeersTest, PeersAreFoundAgainAndThoseOfClosedCommunicatorsMakeRoom) {
  RingInMemory box;
  const auto world = box.open();
  const auto peer = find_peer(box.writer, world, 6);
  ASSERT_NE(peer, 0U);
  EXPECT_EQ(find_peer(box.writer, world, 6), peer);
  EXPECT_EQ(find_peer(box.writer, world, -1), 0U);
  EXPECT_EQ(count_transfer(box.writer, peer, Transfer::send_started), 0U);
  EXPECT_EQ(count_transfer(box.writer, peer, Transfer::send_started), 1U);
  for (std::int32_t rank = 0; rank < 4000; ++rank) find_peer(box.writer, world, rank);
  EXPECT_GE(box.dropped(Drop::peers), 4000U - ringfmt::peers_max);
  close_communicator(box.writer, world);
  for (std::uint32_t i = 0; i < ringfmt::communicators_max; ++i) box.open();
  const auto again = static_cast<CommunicatorHandle>(box.ring->communicators[0].stamp / 2 << 8U);
  EXPECT_NE(find_peer(box.writer, again, 9000), 0U);
}

TEST(RingPeersTest, WaitsAreSummedAndWhatIsOpenShows) {
  RingInMemory box;
  const auto peer = find_peer(box.writer, box.open(), 2);
  const ringfmt::Peer& entry = box.ring->peers[peer - 1];
  constexpr auto kind = ringfmt::WaitKind::send_credit;
  constexpr auto index = static_cast<std::uint32_t>(kind);
  const auto one = begin_wait(box.writer, peer, kind);
  const auto two = begin_wait(box.writer, peer, kind);
  EXPECT_EQ(entry.open[index], 2U);
  EXPECT_EQ(entry.open_since_ticks[index], one);
  end_wait(box.writer, peer, kind, one);
  EXPECT_EQ(entry.open[index], 1U);
  EXPECT_GE(entry.open_since_ticks[index], two);
  end_wait(box.writer, peer, kind, two);
  EXPECT_EQ(entry.open_since_ticks[index], 0U);
  EXPECT_EQ(entry.waits[index], 2U);
  EXPECT_GT(entry.wait_ticks[index], 0U);
  end_wait(box.writer, peer, kind, two);
  EXPECT_EQ(box.dropped(Drop::disorder), 1U);
}

// One thread starts, as an application does; another tells of channels, as NCCL's does.
TEST(RingThreadsTest, TwoThreadsShareAnOperation) {
  RingInMemory box;
  const auto world = box.open();
  std::atomic<OperationHandle> handed{0};
  std::atomic<bool> done{false};
  std::thread channels([&] {
    while (!done) {
      const OperationHandle handle = handed.exchange(0);
      if (handle == 0) continue;
      start_channel(box.writer, handle, 0, 1);
      stop_channel(box.writer, handle, 0, 2);
    }
  });
  std::uint64_t started = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto handle = box.start(world, i, 1);
    if (handle == 0) continue;
    ++started;
    enqueue_operation(box.writer, handle);
    while (handed.load() != 0) std::this_thread::yield();
    handed = handle;
  }
  while (handed.load() != 0) std::this_thread::yield();
  done = true;
  channels.join();
  EXPECT_EQ(box.ring->communicators[0].finished, started);
  EXPECT_EQ(started, 20'000U);
}

TEST(RingThreadsTest, ManyThreadsShareACommunicatorThatSaysSo) {
  RingInMemory box;
  const auto world = box.open("world", ringfmt::communicator_shared);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 5'000; ++i) {
        finish_operation(box.writer, box.start(world, i), Outcome::done);
        close_communicator(box.writer, box.open());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(box.ring->communicators[0].started, 20'000U);
  EXPECT_EQ(box.ring->communicators[0].finished + box.dropped(Drop::operations), 20'000U);
  EXPECT_EQ(box.dropped(Drop::late_calls), 0U);
}

}  // namespace
}  // namespace faultline::trace
