// How much a black box holds. Whatever comes beyond a limit is counted in the file under the name
// of what was dropped (ring_words.h); it never blocks and never takes more memory.
#pragma once

#include <cstdint>

namespace faultline::ringfmt {

// A process of a large job is in some thirty communicators: data, tensor, pipeline, expert, and
// pairs.
inline constexpr std::uint32_t communicators_max = 128;
// Of each communicator its newest operations, those in flight among them. A launch queue of CUDA is
// a thousand kernels deep, of which a few dozen are collectives. A power of two.
inline constexpr std::uint32_t operations_max = 128;
// Slots that are looked at for a free one before an operation is dropped: so many may hang, one
// after the other, while the others go on.
inline constexpr std::uint32_t slot_probes_max = 16;
// Of all communicators together: rings and trees need a handful each, an all-to-all one per rank.
inline constexpr std::uint32_t peers_max = 512;
inline constexpr std::uint32_t peer_probes_max = 32;
// NCCL's own limit; also the width of a mask.
inline constexpr std::uint32_t channels_max = 64;
// Of an operation that does not know how many it has: over when all that started have stopped.
inline constexpr std::uint8_t channels_unknown = 127;
// The first is kept for good, the others are the newest: at one a second the last minute.
inline constexpr std::uint32_t anchors_max = 64;
inline constexpr std::uint64_t anchor_interval_ns = 1'000'000'000;

// Texts end with a zero byte inside these.
inline constexpr std::uint32_t boot_id_bytes = 40;
inline constexpr std::uint32_t host_bytes = 72;
inline constexpr std::uint32_t job_bytes = 64;
inline constexpr std::uint32_t gpu_address_bytes = 24;
inline constexpr std::uint32_t gpu_uuid_bytes = 48;
inline constexpr std::uint32_t library_bytes = 32;
inline constexpr std::uint32_t communicator_name_bytes = 64;

// The generation of an operation's slot, as a handle carries it: a communicator has 2e12 operations
// before one wraps.
inline constexpr std::uint32_t generation_bits = 34;
inline constexpr std::uint64_t generation_mask = (std::uint64_t{1} << generation_bits) - 1;

// Of a folder: files of dead processes that are left for the agent, and files of anybody.
inline constexpr std::uint32_t stale_files_max = 64;
inline constexpr std::uint32_t folder_files_max = 1024;
// A process that executes another program keeps its id and its start time.
inline constexpr std::uint32_t files_per_process_max = 16;

}  // namespace faultline::ringfmt
