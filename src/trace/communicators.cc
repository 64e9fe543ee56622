#include "trace/communicators.h"

#include <string.h>

#include "trace/ring_text.h"

namespace faultline::trace {
namespace {

using ringfmt::Communicator;

void fill(Communicator& entry, const CommunicatorFacts& facts, std::uint64_t now) {
  store_release(entry.id, facts.id);
  store_release(entry.rank, facts.rank);
  store_release(entry.rank_count, facts.rank_count);
  store_release(entry.node_count, facts.node_count);
  store_release(entry.device, facts.device);
  store_release(entry.opened_ticks, now);
  store_release(entry.closed_ticks, 0);
  store_release(entry.flags, facts.flags & ringfmt::communicator_shared);
  store_release(entry.started, 0);
  store_release(entry.dropped, 0);
  store_release(entry.last_started_ticks, 0);
  store_release(entry.finished, 0);
  store_release(entry.last_finished_ticks, 0);
}

/// Takes an entry: its stamp is odd then. An unused one, else the one that was closed longest ago.
Communicator* take_entry(ringfmt::Ring& ring, std::uint64_t& taken_generation) {
  Communicator* oldest = nullptr;
  std::uint64_t oldest_stamp = 0;
  std::uint64_t oldest_ticks = ~std::uint64_t{0};
  for (Communicator& entry : ring.communicators) {
    const std::uint64_t stamp = load_acquire(entry.stamp);
    if ((stamp & 1U) != 0) continue;  // another thread opens it
    const std::uint64_t closed = stamp == 0 ? 0 : load(entry.closed_ticks);
    if ((stamp != 0 && closed == 0) || closed >= oldest_ticks) continue;
    oldest = &entry;
    oldest_stamp = stamp;
    oldest_ticks = closed;
    if (stamp == 0) break;
  }
  if (oldest == nullptr) return nullptr;
  taken_generation = (oldest_stamp / 2 + 1) & detail::communicator_generation_mask;
  if (taken_generation == 0) taken_generation = 1;
  return swap_if(oldest->stamp, oldest_stamp, 2 * taken_generation + 1) ? oldest : nullptr;
}

}  // namespace

CommunicatorHandle open_communicator(Writer& writer, const CommunicatorFacts& facts) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr) return 0;
  std::uint64_t generation = 0;
  Communicator* entry = nullptr;
  // Others may take an entry at the same moment; each time one of them has got on.
  for (std::uint32_t tries = 0; entry == nullptr && tries < ringfmt::communicators_max; ++tries)
    entry = take_entry(*ring, generation);
  if (entry == nullptr) {
    detail::drop(*ring, ringfmt::Drop::communicators);
    return 0;
  }
  fill(*entry, facts, take_ticks(writer));
  if (!copy_text(entry->name, facts.name)) detail::drop(*ring, ringfmt::Drop::texts);
  store_release(entry->stamp, 2 * generation);
  const auto place = static_cast<std::uint32_t>(entry - ring->communicators);
  return static_cast<CommunicatorHandle>(generation << 8U | place);
}

void close_communicator(Writer& writer, CommunicatorHandle communicator) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || communicator == 0) return;
  Communicator& entry = ring->communicators[(communicator & 0xffU) % ringfmt::communicators_max];
  const std::uint64_t open = 0;
  if (load_acquire(entry.stamp) != 2 * std::uint64_t{communicator >> 8U} ||
      !swap_if(entry.closed_ticks, open, take_ticks(writer))) {
    detail::drop(*ring, ringfmt::Drop::late_calls);
  }
}

}  // namespace faultline::trace
