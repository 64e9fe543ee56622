// The one black box of this process: made, switched off, found again. Any thread; these may wait
// for a file system, unlike anything that is called later.
#pragma once

#include "trace/ring_writer.h"

namespace faultline::trace {

enum class StartError : int {
  none = 0,
  switched_off = -1,  // FAULTLINE_TRACE=off
  folder = -2,        // not to be had, or others write there
  full = -3,          // too many files there
  space = -4,         // no memory for one more
  system = -5,        // anything else that the kernel refused
};

/// Makes the black box of this process, or goes on with the one that it has; as often as stop is
/// called, so that each library of a process may do both.
StartError start_ring(const char* library);
/// The last one marks the file as finished. It stays, for whoever wants to know.
void stop_ring();

/// What the write path takes; null before the first start. In a forked child it writes nowhere
/// until that starts a black box of its own.
Writer* process_writer();

/// Of this process's black box; "" if there is none.
const char* ring_path();

}  // namespace faultline::trace
