// Event: an immutable fact. What it means is a detector's business.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/time.h"
#include "model/subject.h"

namespace faultline {

/// Where a fact comes from. What a source may cause is fixed by policy (guard "source trusted").
enum class EventSource {
  kernel_log,        // /dev/kmsg or the kernel's lines of a journal; written by the node's kernel
  job_log,           // written by the job: never trusted beyond that job
  launcher,          // `faultline run` about the process it wrapped
  nvml,              // sampled by the agent
  scheduler,         // Slurm, Kubernetes or the local adapter
  agent,             // an agent about itself
  controller,        // an outcome, or silence noticed by the controller
  person,            // approve, deny, return
  collective_trace,  // what a communication library recorded of its own operations: PyTorch's
                     // flight recorder, NCCL Inspector, NCCL RAS; written by the job
};
FAULTLINE_ENUM_NAMES(EventSource, "kernel_log", "job_log", "launcher", "nvml", "scheduler", "agent",
                     "controller", "person", "collective_trace");

enum class EventKind {
  log_signature,     // a line hit a catalog signature; `signature` is set
  gpu_identity,      // fields uuid, serial, index for a gpu subject
  gpu_sample,        // a changed NVML reading worth judging; fields hold it
  rank_started,      // subject rank; fields local_rank, pid, log, gpus
  rank_exited,       // subject rank; fields exit_code or signal
  progress_stalled,  // no output for longer than this rank's own rhythm; fields silent_ms, usual_ms
  attempt_started,   // subject attempt; fields nodes, user, name, array_job, restartable
  attempt_ended,     // subject attempt; fields state, exit_code, nodes
  node_seen,         // scheduler's view of a node changed; fields state, reason, owner, boot_time
  node_boot,         // the agent saw a new boot id
  source_gap,        // lines or events were lost: fields why (a GapReason), lines, bytes, log; what
                     // is not known of them is left out
  agent_started,
  agent_lost,        // no heartbeat for longer than the limit
  test_finished,     // site's own node test; fields exit_code
  outcome,           // an action's outcome; fields action, kind, status
  person_request,    // fields request (approve, deny, return), target, who
  progress_resumed,  // output after a stall that was reported; fields silent_ms, usual_ms
  trace_read,  // subject rank: its record of operations was read; fields format, version, world
  group_seen,  // subject rank: a process group it is in; fields group, desc, ranks ("0-3,8")
  operation_pending,    // subject rank: handed in and not completed; fields group, seq, op, state,
                        // ...
  operation_completed,  // subject rank: its last completed one of a group; the same fields
};
FAULTLINE_ENUM_NAMES(EventKind, "log_signature", "gpu_identity", "gpu_sample", "rank_started",
                     "rank_exited", "progress_stalled", "attempt_started", "attempt_ended",
                     "node_seen", "node_boot", "source_gap", "agent_started", "agent_lost",
                     "test_finished", "outcome", "person_request", "progress_resumed", "trace_read",
                     "group_seen", "operation_pending", "operation_completed");

/// Whose clock `observed_at` was read from. Clocks of different nodes differ; `controller` is the
/// only common one.
enum class ClockDomain { none, node_wall, node_kernel, printed, scheduler, controller };
FAULTLINE_ENUM_NAMES(ClockDomain, "none", "node_wall", "node_kernel", "printed", "scheduler",
                     "controller");

/// Where the raw line is, with a bounded, printable copy of it.
struct RawLine {
  std::string path;          // file, "/dev/kmsg" or "journal"
  std::uint64_t offset = 0;  // bytes into the file, or the kernel's sequence number
  std::string boot_id;
  std::string text;

  bool operator==(const RawLine&) const = default;
};

inline constexpr std::size_t raw_text_bytes_max = 2048;
inline constexpr std::size_t event_fields_max = 48;
inline constexpr std::size_t field_bytes_max = 1024;

/// "e-" and 16 hexadecimal digits, the same for the same fact however often it is sent.
using EventId = std::string;
using Fields = std::map<std::string, std::string, std::less<>>;

struct Event {
  EventId id;
  EventSource source = EventSource::agent;
  EventKind kind = EventKind::log_signature;
  std::string reporter;  // the node whose agent says so; "" for the controller and scheduler
  Subject subject;
  std::optional<AttemptId> attempt;  // the attempt it was linked to, if any
  Instant observed_at;               // when it happened, on `clock`
  ClockDomain clock = ClockDomain::none;
  // When the controller got it, on the controller's clock; unknown before that.
  Instant received_at;
  std::string signature;  // catalog id for log_signature, else ""
  Fields fields;
  RawLine raw;

  bool operator==(const Event&) const = default;

  /// The field's value, or "".
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

/// The content id of an event: source, kind, reporter, subject, signature, observed_at and the raw
/// line's place. Does not look at received_at, so a line sent twice keeps its id.
EventId make_event_id(const Event& event);

}  // namespace faultline
