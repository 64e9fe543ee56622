// Ports of the agent. Adapters implement them; apps choose.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter_values.h"
#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "model/gap_reason.h"

namespace faultline {

/// A piece of a log as it was read.
struct Chunk {
  std::string bytes;
  /// Of the first byte: bytes into this incarnation of the file, or the kernel's sequence number.
  std::uint64_t offset = 0;
  /// Changes when the file was rotated, replaced or truncated, or the node rebooted.
  std::string incarnation;
  /// Why something before this chunk was lost, if it was.
  std::optional<GapReason> gap = {};
};

/// A source of log bytes: a followed file, /dev/kmsg, a journal. Owned and polled by one thread.
class LogSource {
 public:
  virtual ~LogSource() = default;
  [[nodiscard]] virtual std::string path() const = 0;
  /// What is new since the last call, at most `bytes_max`; an empty vector if nothing is. The first
  /// call, also one for 0 bytes, sets the place from which lines are news. Never
  /// blocks for longer than a moment. not_found while the file does not exist (it may come back),
  /// unavailable while it cannot be read, deadline_exceeded while reading it hangs.
  virtual Result<std::vector<Chunk>> poll(std::size_t bytes_max) = 0;
  /// True while the last poll has had no answer: there may be more than it gave.
  [[nodiscard]] virtual bool waiting() const { return false; }
  /// A descriptor that becomes readable when there may be something new, or -1 (then the agent
  /// polls).
  [[nodiscard]] virtual int wait_descriptor() const { return -1; }
  /// Where reading stands, at the start of a line, as text for resume(); "" if there is nothing to
  /// keep.
  [[nodiscard]] virtual std::string cursor() const { return {}; }
  /// Called before the first poll with the cursor that an earlier run kept. One that does not fit
  /// any more is ignored.
  virtual void resume(std::string_view cursor) { static_cast<void>(cursor); }
};

/// Which agent of a node's name: two with another state folder, or in another boot, are two.
struct AgentIdentity {
  std::string host;
  std::string boot_id;
  std::string state;  // names its state folder

  bool operator==(const AgentIdentity&) const = default;
};

/// The way to the controller. Called from one thread.
class Uplink {
 public:
  virtual ~Uplink() = default;
  /// Who we are. Before anything is sent.
  virtual void introduce(const AgentIdentity& who) { static_cast<void>(who); }
  /// Delivers events; ok means the controller has them durably. Otherwise they stay in the spool.
  virtual Status send(const std::vector<Event>& events, Duration deadline) = 0;
  /// `counters`: what this agent counts, all of it; {} to say nothing of them this time.
  virtual Status heartbeat(Instant now, const CounterValues& counters) = 0;
  /// Rulings that arrived since the last call: attempt, final, text.
  struct Ruling {
    AttemptId attempt;
    bool final = false;
    std::string text;
  };
  virtual std::vector<Ruling> take_rulings() = 0;
};

/// One GPU as NVML shows it. Absent values: not supported or not read.
struct GpuSample {
  std::string pci_address;
  std::string uuid;
  std::string serial;
  std::int32_t index = -1;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::uint64_t> throttle_reasons;  // NVML clocks event reasons bit mask
  std::optional<std::uint64_t> ecc_corrected_total;
  std::optional<std::uint64_t> ecc_uncorrected_total;  // aggregate, survives reboots
  std::optional<std::uint64_t> remapped_rows_uncorrected;
  std::optional<bool> remap_pending;
  std::optional<bool> remap_failed;
  /// NVML's numbers: 0 none, 1 reset, 2 reboot, 3 drain p2p, 4 drain and reset.
  std::optional<std::int64_t> recovery_action;
};

class GpuSampler {
 public:
  virtual ~GpuSampler() = default;
  /// Every GPU of the node. deadline_exceeded if the driver hangs; not_found if there is no NVML.
  virtual Result<std::vector<GpuSample>> sample(Duration deadline) = 0;
};

/// What is known of a process from /proc.
struct ProcessOrigin {
  std::string job;  // Slurm job id from its cgroup or environment, "" if unknown
  std::uint32_t restart = 0;
  std::int32_t rank = -1;
  std::uint32_t uid = 0;
};
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;
  virtual std::optional<ProcessOrigin> origin(std::int64_t pid) = 0;
};

}  // namespace faultline
