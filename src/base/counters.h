// Named counters: what was dropped, refused or odd is counted here and shown by /metrics and
// `faultline doctor`.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/counter_values.h"

namespace faultline {

/// Thread-safe. Names are lower_snake_case with a unit or _total at the end, e.g.
/// "ingest_binary_lines_total".
class Counters {
 public:
  void add(std::string_view name, std::uint64_t amount = 1);
  void set(std::string_view name, std::uint64_t value);
  [[nodiscard]] std::uint64_t get(std::string_view name) const;
  [[nodiscard]] CounterValues snapshot() const;

 private:
  mutable std::mutex mutex_;
  CounterValues values_;
};

}  // namespace faultline
