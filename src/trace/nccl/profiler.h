// What NCCL tells a profiler plugin, written into the black box of the process. One for the
// process; all of it is zero at the start and nothing is ever given back, since NCCL has been known
// to call after its end.
//
// An operation is over when as many of its channels have stopped as NCCL says that it has. Where
// NCCL tells of no channels (before 2.26, copy engines, transfers to oneself) an operation ends,
// as `launched`, with its launch: that a rank never came to it is still seen.
#pragma once

#include "trace/nccl/chained_profiler.h"
#include "trace/nccl/operation_facts.h"
#include "trace/nccl/proxy_steps.h"

namespace faultline::trace::nccl {

// A black box holds 128 communicators; those beyond are counted there, and told to a chained
// plugin.
inline constexpr std::uint32_t contexts_max = 1024;

/// What NCCL holds for us of a communicator.
struct Context {
  std::uint32_t in_use;
  CommunicatorHandle communicator;
  std::int32_t rank;
  std::uint64_t collectives;  // told so far: the sequence number of the next
  LastWords words;
  std::uint32_t is_recorded;  // has begun the black box once more, and has to end it as often
  std::uint32_t is_chained;
  void* chained;
};

class Profiler {
 public:
  /// For all versions; `mask` is NCCL's, of the whole process.
  int init(int version, void** context, int* mask, const CommunicatorFacts& facts, Logger log);
  int finalize(Context& context);

  template <int version>
  EventHandle start(Context& context, const Descriptor& event);
  void stop(EventHandle handle);
  /// `gpu_ns` is 0 where the version has none.
  void record(EventHandle handle, int state, std::uint64_t gpu_ns);

  ChainedProfiler& chained() { return chained_; }

 private:
  template <int version>
  EventHandle start_operation_of(Context& context, const Descriptor& event);
  template <int version>
  EventHandle start_p2p(Context& context, const Descriptor& event);
  EventHandle start_transfers(Context& context, const ProxyOp& proxy);
  EventHandle start_kernel(EventHandle parent, std::uint32_t channel, std::uint64_t gpu_ns);
  void stop_kernel(EventHandle handle, std::uint64_t gpu_ns);
  void stop_launch(OperationHandle operation);
  void count_finished_transfer(OperationHandle operation);
  void follow_wish_for_steps();
  [[nodiscard]] int mask_for(int version) const;
  Context* take_context();
  bool start_black_box(Logger log);

  Writer* writer_;  // null until there is a black box
  int* mask_;       // NCCL's; ours to change
  std::uint32_t next_context_;
  std::uint32_t steps_are_on_;
  ProxySteps steps_;
  ChainedProfiler chained_;
  Context contexts_[contexts_max];
};

}  // namespace faultline::trace::nccl
