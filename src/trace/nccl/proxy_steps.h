// What the steps of a transfer wait for, one after the other, as NCCL's proxy tells it.
#pragma once

#include "trace/nccl/event_handle.h"
#include "trace/nccl/numbered_records.h"

namespace faultline::trace::nccl {

// NCCL has 8 steps of a connection under way; a rank of an all-to-all has hundreds of connections.
inline constexpr std::uint32_t steps_max = 4096;

class ProxySteps {
 public:
  EventHandle start(PeerHandle peer);
  /// `state` ends one wait and begins the next; states that are no waits are passed over.
  void record(Writer& writer, EventHandle step, int state);
  void stop(Writer& writer, EventHandle step);

 private:
  struct Step {
    PeerHandle peer;
    std::uint32_t waits_for;  // WaitKind
    std::uint64_t token;      // 0: waits for nothing
  };
  static void end_wait_of(Writer& writer, Step& step);

  NumberedRecords<Step, steps_max> steps_;
};

}  // namespace faultline::trace::nccl
