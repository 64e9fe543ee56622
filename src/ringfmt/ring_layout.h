// The black box of one process, as its file holds it: a header, clock anchors, communicators, their
// operations, and peers. Little-endian, LP64, every offset fixed; docs/formats.md is the same in
// prose.
//
// Each cache line is written by one thread at a time. A record whose first word is a stamp is whole
// if the stamp is even, and the same before and after it was read: the stamp is odd while its
// writer writes. An operation has a line of whoever starts it and a line of whoever sees it go on
// and end, which are different threads in NCCL; it stays in its slot when it is over, until the
// slot is used again. So nothing is ever copied, and what hangs is never overwritten.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringfmt/ring_limits.h"
#include "ringfmt/ring_words.h"

namespace faultline::ringfmt {

inline constexpr std::uint64_t ring_magic = 0x0031474e49524c46;  // "FLRING1" and a zero
inline constexpr std::uint32_t ring_version = 1;
inline constexpr std::uint32_t ring_byte_order = 0x01020304;

/// Written before the magic, and then only where it says so.
struct Header {
  std::uint64_t magic;  // the last thing written at the start: without it there is nothing to read
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t file_bytes;
  std::uint32_t header_bytes;  // sizes of the records and their numbers: a reader that knows others
  std::uint32_t anchor_bytes;  // refuses the file
  std::uint32_t communicator_bytes;
  std::uint32_t operation_bytes;
  std::uint32_t peer_bytes;
  std::uint32_t anchor_count;
  std::uint32_t communicator_count;
  std::uint32_t operation_count;  // of one communicator
  std::uint32_t peer_count;
  std::uint32_t tick_kind;         // TickKind
  std::uint64_t ticks_per_second;  // as measured at the start; anchors know better later
  std::uint32_t state;             // RingState; changes
  std::uint32_t disabled_reason;   // DisabledReason; changes
  std::uint32_t pid;               // in the writer's own pid namespace
  std::uint32_t uid;
  std::uint64_t process_start;  // field 22 of /proc/PID/stat
  std::uint64_t pid_namespace;  // inode of /proc/PID/ns/pid
  std::int64_t created_wall_ns;
  std::int64_t created_monotonic_ns;
  std::int32_t rank;  // -1: not known; so are the other three
  std::int32_t local_rank;
  std::int32_t rank_count;
  std::int32_t restart;
  char boot_id[boot_id_bytes];
  char host[host_bytes];
  char job[job_bytes];
  char gpu_address[gpu_address_bytes];  // set when it becomes known; so is the next
  char gpu_uuid[gpu_uuid_bytes];
  char library[library_bytes];  // "nccl 2.27.3"
  char unused_1[32];
  std::uint64_t drops[drop_kinds];
  std::uint64_t anchors_written;  // changes; the n-th lies in anchor_slot(n)
  char unused_2[56];
  // Another process may write this one: of so many operations to come the transfers are recorded
  // step by step; counted down by whoever starts them.
  std::uint32_t steps_wanted;
  char unused_3[3516];
};
static_assert(sizeof(Header) == 4096);
static_assert(offsetof(Header, file_bytes) == 16);
static_assert(offsetof(Header, tick_kind) == 60);
static_assert(offsetof(Header, state) == 72);
static_assert(offsetof(Header, process_start) == 88);
static_assert(offsetof(Header, rank) == 120);
static_assert(offsetof(Header, boot_id) == 136);
static_assert(offsetof(Header, host) == 176);
static_assert(offsetof(Header, job) == 248);
static_assert(offsetof(Header, gpu_address) == 312);
static_assert(offsetof(Header, gpu_uuid) == 336);
static_assert(offsetof(Header, library) == 384);
static_assert(offsetof(Header, drops) == 448);
static_assert(offsetof(Header, steps_wanted) == 576);

/// The clocks of one moment. The GPU's is zero where nobody asked it.
struct Anchor {
  std::uint64_t stamp;
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t wall_ns;
  std::uint64_t gpu_ns;
  std::uint64_t number;  // the n-th that was written, from 0
  std::uint64_t unused[2];
};
static_assert(sizeof(Anchor) == 64);

/// Where the n-th anchor lies: the first stays, the others go round.
constexpr std::uint32_t anchor_slot(std::uint64_t number) {
  return number == 0 ? 0 : static_cast<std::uint32_t>(1 + (number - 1) % (anchors_max - 1));
}

struct Communicator {
  // Written when it is opened.
  std::uint64_t stamp;  // 2 * generation; an entry that is closed is used again with the next one
  std::uint64_t id;     // the same on all ranks where the library has one
  std::int32_t rank;
  std::int32_t rank_count;
  std::int32_t node_count;
  std::int32_t device;  // -1: not known
  std::uint64_t opened_ticks;
  std::uint32_t flags;  // communicator_shared
  std::uint32_t unused_1[3];
  std::uint64_t closed_ticks;  // 0: open
  char name[communicator_name_bytes];
  // By whoever starts operations on it.
  std::uint64_t next_slot;  // counts up; the slot is its remainder
  std::uint64_t started;
  std::uint64_t dropped;
  std::uint64_t last_started_ticks;
  std::uint64_t unused_2[4];
  // By whoever sees them end.
  std::uint64_t finished;
  std::uint64_t last_finished_ticks;
  std::uint64_t unused_3[6];
};
static_assert(sizeof(Communicator) == 256);
static_assert(offsetof(Communicator, closed_ticks) == 56);
static_assert(offsetof(Communicator, name) == 64);
static_assert(offsetof(Communicator, next_slot) == 128);
static_assert(offsetof(Communicator, finished) == 192);

struct alignas(64) OperationStart {
  std::uint64_t stamp;  // 2 * generation
  std::uint64_t started_ticks;
  std::uint64_t enqueued_ticks;  // the call came back; 0: not yet
  std::uint64_t sequence;        // as the library counts, or as its adapter does
  std::uint64_t count;           // elements
  std::uint64_t user_tag;
  std::int32_t peer;  // or root; -1: none
  std::uint32_t communicator_generation;
  std::uint8_t kind;           // OperationKind
  std::uint8_t data_type;      // DataType
  std::uint8_t algorithm;      // Algorithm
  std::uint8_t protocol;       // Protocol
  std::uint8_t channel_count;  // 0: its end is told, not counted; or channels_unknown
  std::uint8_t flags;
  std::uint16_t unused;
};
static_assert(sizeof(OperationStart) == 64);

/// Counts only if its generation is that of the start; an older one is of the operation before.
struct alignas(64) OperationProgress {
  std::uint64_t stamp;             // 2 * generation, +1 once the operation is over
  std::uint64_t channels_started;  // a bit each
  std::uint64_t channels_stopped;
  std::uint64_t first_start_ticks;  // when this process saw it
  std::uint64_t last_stop_ticks;
  std::uint64_t gpu_first_start_ns;  // by the GPU's own clock; 0: not known
  std::uint64_t gpu_last_stop_ns;
  std::uint8_t outcome;  // Outcome
  std::uint8_t unused[7];
};
static_assert(sizeof(OperationProgress) == 64);

struct Operation {
  OperationStart start;
  OperationProgress progress;
};
static_assert(sizeof(Operation) == 128);

/// What goes between this rank and another one of a communicator.
struct Peer {
  std::uint64_t key;  // peer_key(), the last thing written; 0: free
  std::uint64_t sends_started;
  std::uint64_t sends_finished;
  std::uint64_t receives_started;
  std::uint64_t receives_finished;
  std::uint64_t unused_1[3];
  // By whoever drives the transfers. By WaitKind.
  std::uint64_t wait_ticks[wait_kinds];  // of waits that ended
  std::uint64_t last_end_ticks;
  std::uint64_t unused_2;
  std::uint64_t waits[wait_kinds];  // that ended
  std::uint64_t unused_3[2];
  std::uint64_t open_since_ticks[wait_kinds];  // since when none of those that are open has ended
  std::uint16_t open[wait_kinds];              // waits that have not ended
  std::uint16_t unused_4[2];
};
static_assert(sizeof(Peer) == 256);
static_assert(offsetof(Peer, wait_ticks) == 64);
static_assert(offsetof(Peer, waits) == 128);
static_assert(offsetof(Peer, open_since_ticks) == 192);

/// 24 bits of the communicator's generation, 8 of its place, 32 of the peer's rank. Never 0: a
/// generation begins at 1.
constexpr std::uint64_t peer_key(std::uint32_t place, std::uint32_t generation, std::int32_t rank) {
  return std::uint64_t{generation & 0xffffffU} << 40U | std::uint64_t{place & 0xffU} << 32U |
         static_cast<std::uint32_t>(rank);
}

struct Ring {
  Header header;
  Anchor anchors[anchors_max];
  Communicator communicators[communicators_max];
  Peer peers[peers_max];
  Operation operations[communicators_max][operations_max];
};
inline constexpr std::uint64_t anchors_offset = 4096;
inline constexpr std::uint64_t communicators_offset = anchors_offset + sizeof(Anchor) * anchors_max;
inline constexpr std::uint64_t peers_offset =
    communicators_offset + sizeof(Communicator) * communicators_max;
inline constexpr std::uint64_t operations_offset = peers_offset + sizeof(Peer) * peers_max;
inline constexpr std::uint64_t ring_bytes =
    operations_offset + sizeof(Operation) * communicators_max * operations_max;
static_assert(offsetof(Ring, anchors) == anchors_offset && anchors_offset == 4096);
static_assert(offsetof(Ring, communicators) == communicators_offset &&
              communicators_offset == 8192);
static_assert(offsetof(Ring, peers) == peers_offset && peers_offset == 40960);
static_assert(offsetof(Ring, operations) == operations_offset && operations_offset == 172032);
static_assert(sizeof(Ring) == ring_bytes && ring_bytes == 2269184);
static_assert(communicators_max <= 128, "a handle has seven bits for it, a peer's key eight");
static_assert((operations_max & (operations_max - 1)) == 0 && operations_max <= 128);

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a black box is little-endian"
#endif
static_assert(sizeof(void*) == 8);

/// What says of a file how it is laid out: all but the magic, which says that the rest is there.
inline void write_geometry(Header& header) {
  header.version = ring_version;
  header.byte_order = ring_byte_order;
  header.file_bytes = ring_bytes;
  header.header_bytes = sizeof(Header);
  header.anchor_bytes = sizeof(Anchor);
  header.communicator_bytes = sizeof(Communicator);
  header.operation_bytes = sizeof(Operation);
  header.peer_bytes = sizeof(Peer);
  header.anchor_count = anchors_max;
  header.communicator_count = communicators_max;
  header.operation_count = operations_max;
  header.peer_count = peers_max;
}

}  // namespace faultline::ringfmt
