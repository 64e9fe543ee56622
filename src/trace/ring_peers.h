// What goes to and from each peer, and what it waits for; inline as ring_writer.h. The transfers of
// one communicator are driven by one thread at a time; an open wait is told by its token.
#pragma once

#include "trace/ring_writer.h"

namespace faultline::trace {

namespace detail {

/// The entry of a communicator that is no more may be taken.
inline bool peer_is_stale(const ringfmt::Ring& ring, std::uint64_t key) {
  const ringfmt::Communicator& entry =
      ring.communicators[(key >> 32U & 0xffU) % ringfmt::communicators_max];
  return (load(entry.stamp) / 2 & communicator_generation_mask) != key >> 40U;
}

inline void clear_peer(ringfmt::Peer& peer) {
  store(peer.sends_started, 0);
  store(peer.sends_finished, 0);
  store(peer.receives_started, 0);
  store(peer.receives_finished, 0);
  store(peer.last_end_ticks, 0);
  for (std::uint32_t kind = 0; kind < ringfmt::wait_kinds; ++kind) {
    store(peer.wait_ticks[kind], 0);
    store(peer.waits[kind], 0);
    store(peer.open_since_ticks[kind], 0);
    store(peer.open[kind], 0);
  }
}

inline ringfmt::Peer* peer_of(ringfmt::Ring& ring, PeerHandle handle) {
  return handle == 0 || handle > ringfmt::peers_max ? nullptr : &ring.peers[handle - 1];
}

}  // namespace detail

/// The place of a peer, taken for it if it has none. 0 if the table is full. Keep it: looking it up
/// costs more than what is written there.
inline PeerHandle find_peer(Writer& writer, CommunicatorHandle communicator, std::int32_t rank) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  if (ring == nullptr || communicator == 0) return 0;
  if (rank < 0) {
    detail::drop(*ring, ringfmt::Drop::bad_calls);
    return 0;
  }
  const std::uint64_t key = ringfmt::peer_key(communicator & 0xffU, communicator >> 8U, rank);
  const std::uint64_t first = (key * 0x9e3779b97f4a7c15U) >> 40U;
  for (std::uint32_t probe = 0; probe < ringfmt::peer_probes_max; ++probe) {
    const auto place = static_cast<std::uint32_t>((first + probe) % ringfmt::peers_max);
    ringfmt::Peer& peer = ring->peers[place];
    const std::uint64_t there = load_acquire(peer.key);
    if (there == key) return place + 1;
    if (there != 0 && !detail::peer_is_stale(*ring, there)) continue;
    if (swap_if(peer.key, there, key)) {
      if (there != 0) detail::clear_peer(peer);
      return place + 1;
    }
    if (load_acquire(peer.key) == key) return place + 1;
  }
  detail::drop(*ring, ringfmt::Drop::peers);
  return 0;
}

enum class Transfer : std::uint8_t {
  send_started,
  send_finished,
  receive_started,
  receive_finished
};

/// Any thread of those that start, or end, transfers of this communicator. Returns the count
/// before.
inline std::uint64_t count_transfer(Writer& writer, PeerHandle handle, Transfer what) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  ringfmt::Peer* peer = ring == nullptr ? nullptr : detail::peer_of(*ring, handle);
  if (peer == nullptr) return 0;
  std::uint64_t* const words[] = {&peer->sends_started, &peer->sends_finished,
                                  &peer->receives_started, &peer->receives_finished};
  return add_shared(*words[static_cast<std::uint8_t>(what)], std::uint64_t{1});
}

/// A token for end_wait.
inline std::uint64_t begin_wait(Writer& writer, PeerHandle handle, ringfmt::WaitKind kind) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  ringfmt::Peer* peer = ring == nullptr ? nullptr : detail::peer_of(*ring, handle);
  const auto index = static_cast<std::uint32_t>(kind);
  if (peer == nullptr || index >= ringfmt::wait_kinds) return 0;
  const std::uint64_t now = read_ticks(writer.ticks);
  const std::uint16_t open = load(peer->open[index]);
  if (open == 0xffff) detail::drop(*ring, ringfmt::Drop::bad_calls);
  if (open == 0) store(peer->open_since_ticks[index], now);
  if (open != 0xffff) store(peer->open[index], static_cast<std::uint16_t>(open + 1));
  return now;
}

inline void end_wait(Writer& writer, PeerHandle handle, ringfmt::WaitKind kind,
                     std::uint64_t token) {
  ringfmt::Ring* ring = detail::ring_of(writer);
  ringfmt::Peer* peer = ring == nullptr ? nullptr : detail::peer_of(*ring, handle);
  const auto index = static_cast<std::uint32_t>(kind);
  if (peer == nullptr || index >= ringfmt::wait_kinds) return;
  const std::uint16_t open = load(peer->open[index]);
  // NCCL's socket transport has told ends without their beginnings.
  if (open == 0 || token == 0) return detail::drop(*ring, ringfmt::Drop::disorder);
  const std::uint64_t now = take_ticks(writer);
  add(peer->wait_ticks[index], now > token ? now - token : 0);
  add(peer->waits[index], std::uint64_t{1});
  store(peer->open_since_ticks[index], open == 1 ? 0 : now);
  store(peer->open[index], static_cast<std::uint16_t>(open - 1));
  store(peer->last_end_ticks, now);
}

}  // namespace faultline::trace
