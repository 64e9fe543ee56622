// The write path of the black box, inline: the NCCL plugin and the MPI shim compile it in, the C
// ABI is a thin skin over it. Nothing here blocks, allocates, throws or aborts; a call with a
// handle of something that is over, or of nothing, does nothing and is counted.
//
// Threads. Operations of one communicator are started by one thread at a time, as NCCL asks of its
// callers, or by any number if it was opened as shared. An operation's channels, and its end, are
// told by one thread at a time, which may be another one. Anything else may be called from
// anywhere.
#pragma once

#include "ringfmt/ring_layout.h"
#include "trace/ring_memory.h"
#include "trace/trace_clock.h"

namespace faultline::trace {

/// What the calls go to. In memory that is zero in a forked child, which so writes to nothing.
struct Writer {
  ringfmt::Ring* ring;  // null: every call does nothing
  std::uint64_t next_anchor_ticks;
  std::uint64_t anchor_interval_ticks;
  ringfmt::TickKind ticks;
  std::uint32_t pid;
  ringfmt::Ring*
      mapped;  // for good: whoever is inside a call when the ring is switched off goes on
};

/// Bits 0 to 7 are the communicator's place, 8 to 31 its generation; 0: none.
using CommunicatorHandle = std::uint32_t;
/// Bits 0 to 6 are the slot, 7 to 13 the communicator's place, 14 to 20 the number of channels, 21
/// to 54 the slot's generation; 0: none. Nine bits are left for whoever hands it on.
using OperationHandle = std::uint64_t;
/// The place in the table plus one; 0: none.
using PeerHandle = std::uint32_t;

struct OperationFacts {
  ringfmt::OperationKind kind = ringfmt::OperationKind::other;
  ringfmt::DataType data_type = ringfmt::DataType::other;
  ringfmt::Algorithm algorithm = ringfmt::Algorithm::unknown;
  ringfmt::Protocol protocol = ringfmt::Protocol::unknown;
  std::uint8_t channel_count = 0;
  std::uint8_t flags = 0;
  std::int32_t peer = -1;
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::uint64_t user_tag = 0;
};

namespace detail {

inline constexpr std::uint32_t communicator_generation_mask = 0xffffff;

inline std::uint64_t operation_handle(std::uint32_t place, std::uint32_t slot,
                                      std::uint64_t generation, std::uint32_t channels) {
  return generation << 21U | std::uint64_t{channels & 0x7fU} << 14U | std::uint64_t{place} << 7U |
         slot;
}
inline std::uint32_t slot_of(OperationHandle handle) { return handle & 0x7fU; }
inline std::uint32_t place_of(OperationHandle handle) {
  return (handle >> 7U & 0x7fU) % ringfmt::communicators_max;
}
inline std::uint32_t channels_of(OperationHandle handle) { return handle >> 14U & 0x7fU; }
inline std::uint64_t generation_of(OperationHandle handle) {
  return handle >> 21U & ringfmt::generation_mask;
}
inline bool is_last_channel(std::uint32_t expected, std::uint64_t started, std::uint64_t stopped) {
  if (expected == ringfmt::channels_unknown) return (started & ~stopped) == 0;
  return expected != 0 && static_cast<std::uint32_t>(__builtin_popcountll(stopped)) >= expected;
}

inline void drop(ringfmt::Ring& ring, ringfmt::Drop what) {
  add_shared(ring.header.drops[static_cast<std::uint32_t>(what)], std::uint64_t{1});
}

inline std::uint64_t next_generation(std::uint64_t stamp) {
  const std::uint64_t next = (stamp / 2 + 1) & ringfmt::generation_mask;
  return next == 0 ? 1 : next;
}

/// Free: never used, over, or left behind by a communicator that had this place before.
inline bool slot_is_free(const ringfmt::Operation& slot, std::uint64_t stamp,
                         std::uint32_t generation) {
  if (stamp == 0 || load_acquire(slot.progress.stamp) == stamp + 1) return true;
  return load(slot.start.communicator_generation) != generation;
}

/// Takes a free slot: its stamp is odd then. Null if those that are looked at are all in flight.
inline ringfmt::Operation* take_slot(ringfmt::Ring& ring, std::uint32_t place,
                                     std::uint32_t generation, bool shared,
                                     std::uint64_t& taken_generation) {
  ringfmt::Communicator& entry = ring.communicators[place];
  for (std::uint32_t probe = 0; probe < ringfmt::slot_probes_max; ++probe) {
    const std::uint64_t next =
        shared ? add_shared(entry.next_slot, std::uint64_t{1}) : load(entry.next_slot);
    if (!shared) store(entry.next_slot, next + 1);
    ringfmt::Operation& slot = ring.operations[place][next % ringfmt::operations_max];
    const std::uint64_t stamp = load(slot.start.stamp);
    if ((stamp & 1U) != 0) {
      // Another thread writes it, or the one that had the communicator was cut off right there.
      if (shared || load(slot.start.communicator_generation) == generation) continue;
    } else if (!slot_is_free(slot, stamp, generation)) {
      continue;
    }
    taken_generation = next_generation(stamp);
    if (!shared) {
      store(slot.start.stamp, 2 * taken_generation + 1);
    } else if (!swap_if(slot.start.stamp, stamp, 2 * taken_generation + 1)) {
      continue;
    }
    return &slot;
  }
  return nullptr;
}

/// Stores in the order in which they stand: the odd stamp is seen before what follows it.
inline void fill_start(ringfmt::OperationStart& start, const OperationFacts& facts,
                       std::uint32_t generation, std::uint64_t now) {
  store_release(start.started_ticks, now);
  store_release(start.enqueued_ticks, 0);
  store_release(start.sequence, facts.sequence);
  store_release(start.count, facts.count);
  store_release(start.user_tag, facts.user_tag);
  store_release(start.peer, facts.peer);
  store_release(start.communicator_generation, generation);
  store_release(start.kind, facts.kind);
  store_release(start.data_type, facts.data_type);
  store_release(start.algorithm, facts.algorithm);
  store_release(start.protocol, facts.protocol);
  store_release(start.channel_count, facts.channel_count);
  store_release(start.flags, facts.flags);
}

/// The line of progress, made that of this operation if it still is of the one before. Null if the
/// operation is over, or the slot is another's by now.
inline ringfmt::OperationProgress* progress_of(ringfmt::Ring& ring, OperationHandle handle) {
  ringfmt::OperationProgress& line = ring.operations[place_of(handle)][slot_of(handle)].progress;
  const std::uint64_t mine = 2 * generation_of(handle);
  const std::uint64_t stamp = load(line.stamp);
  if (stamp == mine) return &line;
  const std::uint64_t ahead = (stamp / 2 - generation_of(handle)) & ringfmt::generation_mask;
  if (stamp != 0 && ahead < ringfmt::generation_mask / 2) return nullptr;
  // The first word about an operation: is there one of that name?
  if (load_acquire(ring.operations[place_of(handle)][slot_of(handle)].start.stamp) != mine)
    return nullptr;
  store(line.stamp, 0);
  store_release(line.channels_started, 0);
  store_release(line.channels_stopped, 0);
  store_release(line.first_start_ticks, 0);
  store_release(line.last_stop_ticks, 0);
  store_release(line.gpu_first_start_ns, 0);
  store_release(line.gpu_last_stop_ns, 0);
  store_release(line.outcome, 0);
  store_release(line.stamp, mine);
  return &line;
}

inline void count_finish(ringfmt::Communicator& entry, bool shared, std::uint64_t now) {
  if (shared) {
    add_shared(entry.finished, std::uint64_t{1});
  } else {
    add(entry.finished, std::uint64_t{1});
  }
  store(entry.last_finished_ticks, now);
}

inline void finish(ringfmt::Ring& ring, OperationHandle handle, ringfmt::OperationProgress& line,
                   ringfmt::Outcome outcome, std::uint64_t now) {
  ringfmt::Communicator& entry = ring.communicators[place_of(handle)];
  store_release(line.last_stop_ticks, now);
  store_release(line.outcome, outcome);
  store_release(line.stamp, 2 * generation_of(handle) + 1);
  count_finish(entry, (load(entry.flags) & ringfmt::communicator_shared) != 0, now);
}

inline ringfmt::Ring* ring_of(const Writer& writer) {
  return __atomic_load_n(&writer.ring, __ATOMIC_ACQUIRE);
}

}  // namespace detail

/// Two at once leave one anchor or two.
inline void write_anchor_to(Writer& writer, ringfmt::Ring& ring, std::uint64_t gpu_ns) {
  const std::uint64_t number = add_shared(ring.header.anchors_written, std::uint64_t{1});
  ringfmt::Anchor& anchor = ring.anchors[ringfmt::anchor_slot(number)];
  const std::uint64_t stamp = load(anchor.stamp) & ~std::uint64_t{1};
  if (!swap_if(anchor.stamp, stamp, stamp + 1)) return;
  store_release(anchor.wall_ns, read_clock_ns(CLOCK_REALTIME));
  const std::uint64_t before = read_ticks(writer.ticks);
  store_release(anchor.monotonic_ns, read_clock_ns(CLOCK_MONOTONIC));
  store_release(anchor.ticks, before + (read_ticks(writer.ticks) - before) / 2);
  store_release(anchor.gpu_ns, gpu_ns);
  store_release(anchor.number, number);
  store_release(anchor.stamp, stamp + 2);
}

/// For good, and it says so in the file.
inline void switch_off(Writer& writer, ringfmt::Ring& ring, ringfmt::DisabledReason reason) {
  __atomic_store_n(&writer.ring, nullptr, __ATOMIC_RELEASE);
  store_release(ring.header.disabled_reason, reason);
  store_release(ring.header.state, ringfmt::RingState::disabled);
}

/// Ties ticks to the clocks. Any thread. Looks whether the file still is ours, too: if another has
/// written over its head, we must not go on.
inline void write_anchor(Writer& writer, std::uint64_t gpu_ns) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr) return;
  if (load(ring->header.magic) != ringfmt::ring_magic ||
      load(ring->header.version) != ringfmt::ring_version || load(ring->header.pid) != writer.pid) {
    return switch_off(writer, *ring, ringfmt::DisabledReason::foreign_header);
  }
  write_anchor_to(writer, *ring, gpu_ns);
}

/// The ticks now; once in a while also an anchor, by whoever comes first.
/// `gpu_ns` is what the GPU's clock says now, 0 if not known.
inline std::uint64_t take_ticks(Writer& writer, std::uint64_t gpu_ns = 0) {
  const std::uint64_t now = read_ticks(writer.ticks);
  const std::uint64_t due = load(writer.next_anchor_ticks);
  if (static_cast<std::int64_t>(now - due) >= 0 &&
      swap_if(writer.next_anchor_ticks, due, now + writer.anchor_interval_ticks)) {
    write_anchor(writer, gpu_ns);
  }
  return now;
}

/// 0 if it is not recorded.
inline OperationHandle start_operation(Writer& writer, CommunicatorHandle communicator,
                                       const OperationFacts& facts) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || communicator == 0) return 0;
  const std::uint32_t place = (communicator & 0xffU) % ringfmt::communicators_max;
  const std::uint32_t generation = communicator >> 8U;
  ringfmt::Communicator& entry = ring->communicators[place];
  if (load_acquire(entry.stamp) != 2 * std::uint64_t{generation} || load(entry.closed_ticks) != 0) {
    detail::drop(*ring, ringfmt::Drop::late_calls);
    return 0;
  }
  const bool shared = (load(entry.flags) & ringfmt::communicator_shared) != 0;
  const std::uint64_t now = take_ticks(writer);
  if (shared) {
    add_shared(entry.started, std::uint64_t{1});
  } else {
    add(entry.started, std::uint64_t{1});
  }
  store(entry.last_started_ticks, now);
  std::uint64_t taken = 0;
  ringfmt::Operation* slot = detail::take_slot(*ring, place, generation, shared, taken);
  if (slot == nullptr) {
    add_shared(entry.dropped, std::uint64_t{1});
    detail::drop(*ring, ringfmt::Drop::operations);
    return 0;
  }
  detail::fill_start(slot->start, facts, generation, now);
  store_release(slot->start.stamp, 2 * taken);
  const auto index = static_cast<std::uint32_t>(slot - ring->operations[place]);
  // Whoever ended it last is on another core: fetch its word while nobody waits for it.
  __builtin_prefetch(&ring->operations[place][(index + 1) % ringfmt::operations_max].progress);
  const bool counted = facts.channel_count <= ringfmt::channels_max ||
                       facts.channel_count == ringfmt::channels_unknown;
  const std::uint32_t channels = counted ? facts.channel_count : 0;
  return detail::operation_handle(place, index, taken, channels);
}

/// The call that started it came back. By the thread that started it.
inline void enqueue_operation(Writer& writer, OperationHandle operation) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || operation == 0) return;
  ringfmt::OperationStart& start =
      ring->operations[detail::place_of(operation)][detail::slot_of(operation)].start;
  if (load(start.stamp) != 2 * detail::generation_of(operation)) {
    detail::drop(*ring, ringfmt::Drop::late_calls);
    return;
  }
  store(start.enqueued_ticks, read_ticks(writer.ticks));
}

/// A channel's kernel began; `gpu_ns` by the GPU's clock, 0 if not known.
inline void start_channel(Writer& writer, OperationHandle operation, std::uint32_t channel,
                          std::uint64_t gpu_ns) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || operation == 0) return;
  if (channel >= ringfmt::channels_max) return detail::drop(*ring, ringfmt::Drop::channels);
  ringfmt::OperationProgress* line = detail::progress_of(*ring, operation);
  if (line == nullptr) return detail::drop(*ring, ringfmt::Drop::late_calls);
  const std::uint64_t bit = std::uint64_t{1} << channel;
  const std::uint64_t started = load(line->channels_started);
  if ((started & bit) != 0) return detail::drop(*ring, ringfmt::Drop::disorder);
  if (started == 0) store(line->first_start_ticks, take_ticks(writer, gpu_ns));
  if (const std::uint64_t first = load(line->gpu_first_start_ns);
      gpu_ns != 0 && (first == 0 || gpu_ns < first)) {
    store(line->gpu_first_start_ns, gpu_ns);
  }
  store_release(line->channels_started, started | bit);
}

/// Whether it has begun and not ended; of an operation that is over none is.
inline bool channel_is_open(const Writer& writer, OperationHandle operation,
                            std::uint32_t channel) {
  const ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || operation == 0 || channel >= ringfmt::channels_max) return false;
  const ringfmt::OperationProgress& line =
      ring->operations[detail::place_of(operation)][detail::slot_of(operation)].progress;
  return load(line.stamp) == 2 * detail::generation_of(operation) &&
         (load(line.channels_started) & ~load(line.channels_stopped) &
          std::uint64_t{1} << channel) != 0;
}

/// A channel's kernel ended. The last of as many as the operation has ends it: true then.
inline bool stop_channel(Writer& writer, OperationHandle operation, std::uint32_t channel,
                         std::uint64_t gpu_ns) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || operation == 0) return false;
  if (channel >= ringfmt::channels_max) {
    detail::drop(*ring, ringfmt::Drop::channels);
    return false;
  }
  ringfmt::OperationProgress* line = detail::progress_of(*ring, operation);
  if (line == nullptr) {
    detail::drop(*ring, ringfmt::Drop::late_calls);
    return false;
  }
  const std::uint64_t bit = std::uint64_t{1} << channel;
  // NCCL has told stops before their starts: the bits count, in whatever order they come.
  const std::uint64_t started = load(line->channels_started);
  if ((started & bit) == 0) detail::drop(*ring, ringfmt::Drop::disorder);
  const std::uint64_t stopped = load(line->channels_stopped) | bit;
  if (gpu_ns > load(line->gpu_last_stop_ns)) store(line->gpu_last_stop_ns, gpu_ns);
  store_release(line->channels_stopped, stopped);
  if (!detail::is_last_channel(detail::channels_of(operation), started, stopped)) return false;
  detail::finish(*ring, operation, *line, ringfmt::Outcome::done, read_ticks(writer.ticks));
  return true;
}

/// It is over, whatever its channels said.
inline void finish_operation(Writer& writer, OperationHandle operation, ringfmt::Outcome outcome) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || operation == 0) return;
  ringfmt::OperationProgress* line = detail::progress_of(*ring, operation);
  if (line == nullptr) return detail::drop(*ring, ringfmt::Drop::late_calls);
  detail::finish(*ring, operation, *line, outcome, read_ticks(writer.ticks));
}

}  // namespace faultline::trace
