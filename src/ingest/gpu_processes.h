// Who holds the GPUs of a report. A process that has most of a card's memory leaves too little for
// another one, and in the compute mode "exclusive process" a card takes no second one at all. Both
// are as they should be until a job fails beside them, so they are told as circumstances.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"

namespace faultline {

/// Of such an event: whose process it is, and what it has of how much.
inline constexpr std::string_view holder_pid_field = "holder_pid";
inline constexpr std::string_view holder_name_field = "holder_name";
inline constexpr std::string_view held_mib_field = "held_mib";
inline constexpr std::string_view memory_mib_field = "memory_mib";
/// "exclusive_process", "exclusive_thread" or "prohibited".
inline constexpr std::string_view compute_mode_field = "compute_mode";

struct GpuHolder {
  std::string_view pid;
  std::string_view name;
  std::uint64_t mib = 0;
};

/// A row of the table: "|    0   N/A  N/A     12345      C   python        78000MiB |", before
/// drivers of 450 without the two of MIG.
struct GpuHolderRow {
  std::size_t index = 0;  // the card's, as the table counts
  GpuHolder holder;
};
std::optional<GpuHolderRow> gpu_holder_row(std::string_view row);

/// What all processes on a card have to know of it.
struct HeldGpu {
  std::string address;
  std::uint64_t memory_mib = 0;  // 0: not told
  std::string mode;              // "" for the default

  /// Fields of the event that tells of `holder`; empty where it leaves enough for others.
  [[nodiscard]] Fields told_of(const GpuHolder& holder) const;
};

/// "E. Process", "Exclusive_Process" -> "exclusive_process"; "" for the default and what is no
/// mode.
std::string exclusive_mode(std::string_view printed);

}  // namespace faultline
