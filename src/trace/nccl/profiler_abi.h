// The interface between NCCL (and RCCL) and a profiler plugin, versions 1 to 7, in our own words:
// what a plugin exports, and how the descriptors of events lie in memory. LP64, little-endian.
//
// Versions 4 to 7 only ever append: one struct describes them, and what an older one lacks must not
// be read from it. The type of an event grew from one byte (4) to eight (5) in place, so that its
// first byte is the same. Sources: the offsets of NVIDIA/nccl 2.23.4 to 2.30.7, and of 2.31.2 for
// version 7, each checked with a compiler; a test of ours holds them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace faultline::trace::nccl {

inline constexpr int version_min = 1;
inline constexpr int version_max = 7;
inline constexpr int version_with_channels = 3;  // before it nobody says when an operation ends
inline constexpr int version_with_identity = 4;  // before it a communicator is known by its events
inline constexpr int version_with_wide_types = 5;

/// Of an event, and bits of the mask.
enum EventType : uint64_t {
  event_group = 1,
  event_collective = 2,
  event_p2p = 4,
  event_proxy_op = 8,
  event_proxy_step = 16,
  event_proxy_control = 32,
  event_kernel_channel = 64,
  event_net_plugin = 128,
  event_group_api = 256,
  event_collective_api = 512,
  event_p2p_api = 1024,
  event_kernel_launch = 2048,
  event_copy_collective = 4096,
  event_copy_sync = 8192,
  event_copy_batch = 16384,
  event_kernel_phase = 32768,
};

/// What recordEventState says of an event; those that mean something to us.
enum EventState : int {
  state_send_gpu_wait = 8,
  state_send_wait = 9,
  state_receive_wait = 10,
  state_receive_flush_wait = 11,
  state_receive_gpu_wait = 12,
  state_send_peer_wait = 20,
  state_kernel_channel_stop = 22,
};

enum Result : int { result_success = 0, result_system_error = 2 };
enum LogLevel : int { log_warn = 2, log_info = 3 };
inline constexpr unsigned long log_profile = 0x4000;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

struct Descriptor;
struct StateArguments;
using StartEvent = int (*)(void* context, void** handle, Descriptor* event);
using StopEvent = int (*)(void* handle);
using RecordEventState = int (*)(void* handle, int state, StateArguments* arguments);
using Finalize = int (*)(void* context);

/// `init` differs: the table of a plugin is read as that of its version.
using InitV1 = int (*)(void** context, int* mask);
using InitV4 = int (*)(void** context, int* mask, const char* name, uint64_t id, int nodes,
                       int ranks, int rank, Logger logger);
using InitV5 = int (*)(void** context, uint64_t id, int* mask, const char* name, int nodes,
                       int ranks, int rank, Logger logger);

template <class Init>
struct Plugin {
  const char* name;
  Init init;
  StartEvent start_event;
  StopEvent stop_event;
  RecordEventState record_event_state;
  Finalize finalize;
};
static_assert(sizeof(Plugin<InitV1>) == 48);

/// Of versions 4 to 7. `func` and the like are null-terminated, and NCCL's own.
struct Collective {
  uint64_t sequence;  // of this function on this communicator
  const char* func;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channel_count;
  uint8_t warp_count;
  const char* algorithm;
  const char* protocol;
  void* parent_group;          // from 5
  const char* kernel_variant;  // from 7
  bool is_symmetric;           // from 7
  uint64_t user_tag;           // from 7
};
struct P2p {
  const char* func;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channel_count;
  void* parent_group;  // from 5
  uint64_t user_tag;   // from 7
};
/// All versions.
struct ProxyOp {
  int32_t pid;  // of the process that the operation is of, which may be another one
  uint8_t channel;
  int peer;
  int step_count;
  int chunk_bytes;
  int is_send;
};
struct KernelChannel {
  uint8_t channel;
  uint64_t gpu_ns;  // from 4
};
struct CopyCollective {  // from 6
  uint64_t sequence;
  const char* func;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
};
/// Versions 1 to 3; what stands behind the root moved about.
struct EarlyTailV1 {
  uint32_t reduction;
  size_t traffic_bytes;
  uint8_t channel_count_max;
  uint8_t warp_count;
  uint8_t algorithm;
  uint8_t protocol;
  int is_collnet;
  int is_nvls;
};
struct EarlyTailV2 {
  const char* data_type;
  size_t traffic_bytes;
  uint8_t channel_count_max;
  uint8_t warp_count;
  const char* algorithm;
  const char* protocol;
};
struct EarlyTailV3 {
  const char* data_type;
  uint8_t channel_count;
  uint8_t warp_count;
  const char* algorithm;
  const char* protocol;
};
struct EarlyCollective {
  const char* communicator_name;
  uint64_t communicator_id;
  uint64_t sequence;
  union {
    uint8_t func_number;  // 1
    const char* func;     // 2 and 3
  };
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  uint8_t data_type_number;  // 1
  union {
    EarlyTailV1 v1;
    EarlyTailV2 v2;
    EarlyTailV3 v3;
  };
};
struct EarlyP2p {
  const char* communicator_name;
  uint64_t communicator_id;
  union {
    uint8_t func_number;
    const char* func;
  };
  void* buffer;
  union {
    uint8_t data_type_number;
    const char* data_type;
  };
  size_t count;
  int peer;
};

struct Descriptor {
  uint64_t type;  // its first byte alone until 4
  void* parent;
  int rank;
  union {
    Collective collective;
    P2p p2p;
    ProxyOp proxy_op;
    KernelChannel kernel_channel;
    CopyCollective copy_collective;
    EarlyCollective early_collective;
    EarlyP2p early_p2p;
  };
};

struct StateArguments {
  uint64_t gpu_ns;  // of a kernel channel, from 4
};

#define FAULTLINE_LIES_AT(member, offset) static_assert(offsetof(Descriptor, member) == (offset))
FAULTLINE_LIES_AT(parent, 8);
FAULTLINE_LIES_AT(rank, 16);
FAULTLINE_LIES_AT(collective, 24);
FAULTLINE_LIES_AT(collective.func, 32);
FAULTLINE_LIES_AT(collective.count, 56);
FAULTLINE_LIES_AT(collective.root, 64);
FAULTLINE_LIES_AT(collective.data_type, 72);
FAULTLINE_LIES_AT(collective.channel_count, 80);
FAULTLINE_LIES_AT(collective.algorithm, 88);
FAULTLINE_LIES_AT(collective.protocol, 96);
FAULTLINE_LIES_AT(collective.parent_group, 104);
FAULTLINE_LIES_AT(collective.kernel_variant, 112);
FAULTLINE_LIES_AT(collective.is_symmetric, 120);
FAULTLINE_LIES_AT(collective.user_tag, 128);
FAULTLINE_LIES_AT(p2p.data_type, 40);
FAULTLINE_LIES_AT(p2p.count, 48);
FAULTLINE_LIES_AT(p2p.peer, 56);
FAULTLINE_LIES_AT(p2p.channel_count, 60);
FAULTLINE_LIES_AT(p2p.parent_group, 64);
FAULTLINE_LIES_AT(p2p.user_tag, 72);
FAULTLINE_LIES_AT(proxy_op.pid, 24);
FAULTLINE_LIES_AT(proxy_op.channel, 28);
FAULTLINE_LIES_AT(proxy_op.peer, 32);
FAULTLINE_LIES_AT(proxy_op.is_send, 44);
FAULTLINE_LIES_AT(kernel_channel.gpu_ns, 32);
FAULTLINE_LIES_AT(copy_collective.func, 32);
FAULTLINE_LIES_AT(copy_collective.count, 56);
FAULTLINE_LIES_AT(copy_collective.data_type, 72);
FAULTLINE_LIES_AT(early_collective.communicator_id, 32);
FAULTLINE_LIES_AT(early_collective.sequence, 40);
FAULTLINE_LIES_AT(early_collective.func, 48);
FAULTLINE_LIES_AT(early_collective.count, 72);
FAULTLINE_LIES_AT(early_collective.root, 80);
FAULTLINE_LIES_AT(early_collective.data_type_number, 84);
FAULTLINE_LIES_AT(early_collective.v1.reduction, 88);
FAULTLINE_LIES_AT(early_collective.v1.channel_count_max, 104);
FAULTLINE_LIES_AT(early_collective.v1.algorithm, 106);
FAULTLINE_LIES_AT(early_collective.v1.protocol, 107);
FAULTLINE_LIES_AT(early_collective.v2.data_type, 88);
FAULTLINE_LIES_AT(early_collective.v2.algorithm, 112);
FAULTLINE_LIES_AT(early_collective.v2.protocol, 120);
FAULTLINE_LIES_AT(early_collective.v3.data_type, 88);
FAULTLINE_LIES_AT(early_collective.v3.channel_count, 96);
FAULTLINE_LIES_AT(early_collective.v3.algorithm, 104);
FAULTLINE_LIES_AT(early_collective.v3.protocol, 112);
FAULTLINE_LIES_AT(early_p2p.communicator_id, 32);
FAULTLINE_LIES_AT(early_p2p.func, 40);
FAULTLINE_LIES_AT(early_p2p.data_type, 56);
FAULTLINE_LIES_AT(early_p2p.count, 64);
FAULTLINE_LIES_AT(early_p2p.peer, 72);
#undef FAULTLINE_LIES_AT
static_assert(sizeof(Descriptor) == 136);

}  // namespace faultline::trace::nccl
