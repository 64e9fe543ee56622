// NCCL takes one profiler plugin. A second one, named by FAULTLINE_NCCL_CHAIN, is loaded by ours
// and told all that it asks for, with handles of its own, as if NCCL did.
#pragma once

#include <pthread.h>

#include "trace/communicators.h"
#include "trace/nccl/event_handle.h"
#include "trace/nccl/numbered_records.h"
#include "trace/nccl/profiler_abi.h"

namespace faultline::trace::nccl {

/// How our plugin calls itself; by this address it is known from others.
extern const char plugin_name[];

// NCCL's events of some seconds: whatever is told of an older one does not reach the other plugin.
inline constexpr std::uint32_t chained_events_max = 65536;

class ChainedProfiler {
 public:
  /// Loads what the variable names, once. It must export the version that NCCL speaks, or one of 4
  /// to 7 below it; else it is left out, and the log says so. `log` may be null.
  void open(int version, Logger log);
  [[nodiscard]] bool is_open() const { return version_ != 0; }
  /// What of NCCL's mask it asks for; changes when the plugin likes.
  [[nodiscard]] int mask() const;

  /// False if it refuses; then it is told nothing of this communicator.
  bool init(const CommunicatorFacts& facts, Logger log, void*& context);
  void finalize(void* context);
  /// A handle for both: of our event, and of theirs, if they want it.
  EventHandle start(void* context, const Descriptor& event, EventHandle ours);
  void stop(EventHandle handle);
  void record(EventHandle handle, int state, StateArguments* arguments);
  /// Our own part of a handle.
  [[nodiscard]] EventHandle ours(EventHandle handle) {
    return kind_of(handle) == HandleKind::chained ? ours_of_chained(handle) : handle;
  }

 private:
  struct Event {
    EventHandle ours;
    void* theirs;
  };
  EventHandle ours_of_chained(EventHandle handle);
  void open_once(int version, const char* wanted, Logger log);
  void* load(const char* wanted);
  void* theirs_of(const void* handle);
  [[nodiscard]] bool wants(std::uint64_t type) const;

  int version_;       // theirs; 0: there is none
  int nccl_version_;  // NCCL's
  int mask_;          // theirs to write
  bool was_tried_;
  pthread_mutex_t open_lock_;  // NCCL opens communicators on several threads at once
  union {
    const Plugin<InitV1>* v1;
    const Plugin<InitV4>* v4;
    const Plugin<InitV5>* v5;
  } plugin_;
  NumberedRecords<Event, chained_events_max> events_;
};

}  // namespace faultline::trace::nccl
