// `nvidia-smi -q` -> events. Its lines are "key : value", and sections by their indentation;
// drivers from 470 to 590 differ in names and sections (gpu_report.h), not in that. Of the table
// that `nvidia-smi` alone prints, the addresses, the uncorrectable errors since the driver was
// loaded, the memory, the compute mode, the processes and what could not be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/gpu_report.h"
#include "ingest/line_splitter.h"

namespace faultline {

/// Not thread-safe; one for each file, which may hold several reports. Memory does not grow with
/// the input.
class NvidiaSmiTextDecoder {
 public:
  NvidiaSmiTextDecoder(Origin origin, Counters& counters) : report_(std::move(origin), counters) {}

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset);
  std::vector<Event> finish();

 private:
  struct Level {
    std::size_t indent = 0;
    std::string key;
  };
  void take_line(const Line& line);
  bool take_table_row(std::string_view text, const GpuReport::Place& place);
  void take_readings(const std::vector<std::string_view>& cells, const GpuReport::Place& place);
  bool take_unreachable(std::string_view text, const GpuReport::Place& place);
  [[nodiscard]] std::string section() const;

  LineSplitter lines_;
  GpuReport report_;
  std::vector<Level> levels_;  // the keys above the line, those of the GPU alone
  bool in_gpu_ = false;
  bool in_table_ = false;  // in the rows of one of its GPUs
};

}  // namespace faultline
