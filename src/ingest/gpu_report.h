// What nvidia-smi prints of GPUs -> gpu_identity and gpu_sample events, with the fields that the
// agent's own samples of NVML have. The readers of its text and of its XML tell the same names:
// keys in lower case, with '_' for all that is no letter or digit.
//
// A report is one look without a past: only what is bad now is told, and errors counted since the
// driver was loaded ("volatile"); those of before are not news.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "ingest/gpu_processes.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

/// "HW Thermal Slowdown" -> "hw_thermal_slowdown".
std::string report_key(std::string_view name);

/// Not thread-safe; one for each file. Reads of `origin` the node (unknown: "unknown"), path,
/// attempt, last_written and utc_offset. Counters: ingest_gpu_report_bad_address_total,
/// ingest_gpu_report_too_many_total.
class GpuReport {
 public:
  GpuReport(Origin origin, Counters& counters) : origin_(std::move(origin)), counters_(counters) {}

  /// Where a value stands.
  struct Place {
    std::uint64_t offset = 0;
    std::string_view text;  // of the line
  };

  /// A new look at all GPUs, which are counted from 0 again.
  void begin_report();
  /// "Fri Nov 17 10:22:31 2026", local time.
  void set_time(std::string_view text);
  /// How many GPUs the machine has, told before them: "8".
  void set_attached(std::string_view count);
  void begin_gpu(std::string_view pci_address, const Place& place);
  /// Of the GPU begun last: `section` is the path above the key ("ecc_errors/volatile"), "" at the
  /// top.
  void read(std::string_view section, std::string_view key, std::string_view value,
            const Place& place);
  void end_gpu();
  /// A process of the GPU that the report counts as number `index` of those before.
  void holder(std::size_t index, const GpuHolder& holder, const Place& place);
  /// A GPU that cannot be asked: "GPU is lost", "Unknown Error".
  void unreachable(std::string_view pci_address, std::string_view why, const Place& place);

  /// The events of the GPUs that were ended since the last call.
  std::vector<Event> take();

 private:
  struct Gpu {
    std::string address;
    std::string uuid;
    std::string serial;
    std::optional<std::uint64_t> volatile_errors;
    std::optional<std::uint64_t> aggregate_errors;
    std::string throttle;
    bool lost = false;
    std::uint64_t unreadable = 0;
    std::uint64_t readable = 0;
    HeldGpu held;
    std::string holder_pid, holder_name;  // of the process that is being read
    Fields fields;                        // what is bad
    Fields circumstances;                 // told with it
    RawLine begins;
    RawLine worst;  // where the first bad reading stands
  };
  void read_identity(std::string_view key, std::string_view value);
  void read_error_count(std::string_view section, std::string_view key, std::string_view value,
                        const Place& place);
  void read_rows(std::string_view key, std::string_view value, const Place& place);
  void read_retired_pages(std::string_view key, std::string_view value, const Place& place);
  void read_throttle(std::string_view key, std::string_view value, const Place& place);
  void read_temperature(std::string_view key, std::string_view value);
  void read_memory(std::string_view section, std::string_view key, std::string_view value,
                   const Place& place);
  void read_state(std::string_view key, std::string_view value, const Place& place);
  void tell_holder(const HeldGpu& held, const GpuHolder& holder, const Place& place);
  void bad(std::string name, std::string value, const Place& place);
  [[nodiscard]] RawLine raw(const Place& place) const;
  [[nodiscard]] Event make(EventKind kind, const Gpu& gpu, RawLine where) const;
  void give(Event event);

  Origin origin_;
  Counters& counters_;
  Instant at_;
  std::string attached_;      // "" if the report does not say
  std::unique_ptr<Gpu> gpu_;  // that was begun and not ended
  std::size_t index_ = 0;
  std::vector<HeldGpu> ended_;  // of this report, in its order
  std::vector<Event> events_;
};

}  // namespace faultline
