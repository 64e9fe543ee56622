// All inputs at once, on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "diagnose/gather.h"

namespace faultline {

/// What has been read so far; called from one thread at a time, every now and then.
using GatherProgress =
    std::function<void(std::size_t files_done, std::size_t files, std::uint64_t bytes)>;

/// In the order of the listing, whatever thread was first. `threads` at least 1.
Gathered gather_all(InputListing listing, const LogDatabases& databases, Counters& counters,
                    Instant now, std::size_t threads, const GatherProgress& progress);

}  // namespace faultline
