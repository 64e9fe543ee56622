// Who this process is, from its environment and from /proc. At the start alone.
#pragma once

#include "ringfmt/ring_layout.h"

namespace faultline::trace {

/// Fills pid, uid, process_start, pid_namespace, boot_id, host, job, rank, local_rank, rank_count
/// and restart; what nobody says stays empty, or -1. False if a text had to be cut.
bool fill_identity(ringfmt::Header& header);

/// Field 22 of /proc/PID/stat; 0 if there is no such process.
std::uint64_t process_start_of(std::uint32_t pid);

}  // namespace faultline::trace
