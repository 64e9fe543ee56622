// What NCCL holds for us of an event: a number that it takes for a pointer and hands back, maybe
// late, twice or in another process. It says what it is of, and points nowhere; what it is of knows
// by a generation whether that is still there. Never 0, since NCCL leaves out what follows an event
// without a handle.
#pragma once

#include "trace/ring_peers.h"
#include "trace/ring_writer.h"

namespace faultline::trace::nccl {

enum class HandleKind : std::uint8_t {
  none,
  nothing,  // an event that we do not record
  operation,
  channel,
  transfers,  // a proxy operation: what goes to or comes from one peer
  step,       // by its number, see proxy_steps.h
  chained,    // by its number, see chained_events.h
};

/// Bits 0 to 2 are the kind; of a channel 3 to 8 its number, 9 to 63 the operation's handle.
using EventHandle = std::uint64_t;
static_assert(ringfmt::generation_bits + 21 + 9 <= 64);
static_assert(ringfmt::channels_max <= 64);

inline constexpr EventHandle nothing = static_cast<EventHandle>(HandleKind::nothing);

inline HandleKind kind_of(EventHandle handle) { return static_cast<HandleKind>(handle & 7U); }

inline EventHandle handle_of(OperationHandle operation) {
  if (operation == 0) return nothing;
  return operation << 9U | static_cast<EventHandle>(HandleKind::operation);
}
inline EventHandle handle_of_channel(OperationHandle operation, std::uint32_t channel) {
  return operation << 9U | EventHandle{channel & 0x3fU} << 3U |
         static_cast<EventHandle>(HandleKind::channel);
}
inline OperationHandle operation_of(EventHandle handle) { return handle >> 9U; }
inline std::uint32_t channel_of(EventHandle handle) { return handle >> 3U & 0x3fU; }

inline EventHandle handle_of_transfers(PeerHandle peer) {
  return EventHandle{peer} << 3U | static_cast<EventHandle>(HandleKind::transfers);
}
inline PeerHandle peer_of(EventHandle handle) { return static_cast<PeerHandle>(handle >> 3U); }

inline EventHandle numbered_handle(HandleKind kind, std::uint64_t number) {
  return number << 3U | static_cast<EventHandle>(kind);
}
inline std::uint64_t number_of(EventHandle handle) { return handle >> 3U; }

inline void* to_pointer(EventHandle handle) {
  return reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr): never followed
}
inline EventHandle from_pointer(const void* pointer) {
  return reinterpret_cast<EventHandle>(pointer);
}

}  // namespace faultline::trace::nccl
