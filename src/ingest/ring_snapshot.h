// What a black box said at one moment, as plain values: texts are printable, numbers that stand for
// words are words, and whatever could not be right is left out and counted.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counter_values.h"
#include "base/time.h"
#include "ringfmt/ring_words.h"

namespace faultline {

/// Not known where the ticks were 0, or beyond reason.
struct RingTime {
  bool is_known = false;
  Duration monotonic{0};  // of the writer's machine
  Instant wall;           // by the clock as the writer saw it around that time

  bool operator==(const RingTime&) const = default;
};

enum class OperationPhase { called, enqueued, running, over };
inline constexpr std::string_view to_text(OperationPhase phase) {
  switch (phase) {
    case OperationPhase::called: return "called";      // the call has not come back
    case OperationPhase::enqueued: return "enqueued";  // no channel has been seen to begin
    case OperationPhase::running: return "running";    // some channel has
    case OperationPhase::over: return "over";
  }
  return "";
}

struct RingOperation {
  std::string kind, data_type, algorithm, protocol, outcome;  // outcome: of what is over
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::uint64_t user_tag = 0;
  std::int32_t peer = -1;  // or root
  OperationPhase phase = OperationPhase::called;
  unsigned channels = 0;  // 0: its end is told, not counted
  unsigned channels_started = 0;
  unsigned channels_stopped = 0;
  bool captured = false;
  bool blocking = false;
  bool torn = false;  // it changed each time it was read
  RingTime started, enqueued, first_channel, ended;
  std::uint64_t gpu_first_start_ns = 0;
  std::uint64_t gpu_last_stop_ns = 0;

  bool operator==(const RingOperation&) const = default;
};

struct RingCommunicator {
  std::uint32_t place = 0;
  std::uint64_t id = 0;
  std::string name;
  std::int32_t rank = -1;
  std::int32_t rank_count = -1;
  std::int32_t node_count = -1;
  std::int32_t device = -1;
  bool shared = false;
  bool is_open = true;
  bool torn = false;
  RingTime opened, closed, last_started, last_finished;
  std::uint64_t started = 0;
  std::uint64_t finished = 0;
  std::uint64_t dropped = 0;
  std::vector<RingOperation> in_flight;  // oldest first
  std::vector<RingOperation> completed;  // newest first

  bool operator==(const RingCommunicator&) const = default;
};

struct RingWait {
  Duration total{0};  // of those that ended
  std::uint64_t ended = 0;
  unsigned open = 0;
  RingTime open_since;  // since when none of those that are open has ended

  bool operator==(const RingWait&) const = default;
};

struct RingPeer {
  std::uint32_t communicator = 0;  // its place
  std::int32_t rank = -1;
  bool torn = false;
  std::uint64_t sends_started = 0, sends_finished = 0, receives_started = 0, receives_finished = 0;
  std::array<RingWait, ringfmt::wait_kinds> waits;
  RingTime last_end;

  bool operator==(const RingPeer&) const = default;
};

struct RingIdentity {
  std::string host, job, boot_id, gpu_address, gpu_uuid, library;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint64_t process_start = 0;  // field 22 of /proc/PID/stat
  std::uint64_t pid_namespace = 0;
  std::int32_t rank = -1, local_rank = -1, rank_count = -1, restart = -1;
  Instant created;

  bool operator==(const RingIdentity&) const = default;
};

struct RingSnapshot {
  RingIdentity identity;
  std::string state;            // setting_up active finished disabled
  std::string disabled_reason;  // "none", or why
  std::string ticks;
  RingTime last_sign;  // the newest time in the file
  std::vector<RingCommunicator> communicators;
  std::vector<RingPeer> peers;
  CounterValues drops;     // what the writer did not record
  CounterValues problems;  // what the reader could not make sense of

  bool operator==(const RingSnapshot&) const = default;
};

}  // namespace faultline
