// A ring in plain memory, and a writer to it: all of the write path without a file.
#pragma once

#include <memory>

#include "trace/communicators.h"
#include "trace/ring_peers.h"
#include "trace/ring_writer.h"

namespace faultline::trace {

struct RingInMemory {
  RingInMemory() : ring(std::make_unique<ringfmt::Ring>()) {
    ring->header.magic = ringfmt::ring_magic;
    ring->header.version = ringfmt::ring_version;
    ring->header.pid = 7;
    writer.ring = writer.mapped = ring.get();
    writer.pid = 7;
    writer.anchor_interval_ticks = ringfmt::anchor_interval_ns;
    writer.next_anchor_ticks = read_ticks(writer.ticks) + writer.anchor_interval_ticks;
  }
  CommunicatorHandle open(const char* name = "world", std::uint32_t flags = 0) {
    CommunicatorFacts facts;
    facts.name = name;
    facts.rank = 3;
    facts.rank_count = 8;
    facts.flags = flags;
    return open_communicator(writer, facts);
  }
  OperationHandle start(CommunicatorHandle communicator, std::uint64_t sequence,
                        std::uint8_t channels = 0) {
    OperationFacts facts;
    facts.kind = ringfmt::OperationKind::all_reduce;
    facts.sequence = sequence;
    facts.channel_count = channels;
    return start_operation(writer, communicator, facts);
  }
  [[nodiscard]] std::uint64_t dropped(ringfmt::Drop what) const {
    return ring->header.drops[static_cast<std::uint32_t>(what)];
  }
  [[nodiscard]] const ringfmt::Operation& slot(OperationHandle handle) const {
    return ring->operations[detail::place_of(handle)][detail::slot_of(handle)];
  }
  [[nodiscard]] bool over(OperationHandle handle) const {
    return slot(handle).progress.stamp == slot(handle).start.stamp + 1;
  }

  std::unique_ptr<ringfmt::Ring> ring;
  Writer writer{};
};

}  // namespace faultline::trace
