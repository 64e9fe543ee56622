// Communicators are opened and closed; not on the path that must be fast. Any thread.
#pragma once

#include "trace/ring_writer.h"

namespace faultline::trace {

struct CommunicatorFacts {
  std::uint64_t id = 0;
  std::int32_t rank = -1;
  std::int32_t rank_count = -1;
  std::int32_t node_count = -1;
  std::int32_t device = -1;
  std::uint32_t flags = 0;     // ringfmt::communicator_shared
  const char* name = nullptr;  // copied; cut at its limit
};

/// 0 if it is not recorded: the ring is off, or all entries are in use.
CommunicatorHandle open_communicator(Writer& writer, const CommunicatorFacts& facts);

/// What is in flight on it stays there to be seen until its entry is used again.
void close_communicator(Writer& writer, CommunicatorHandle communicator);

}  // namespace faultline::trace
