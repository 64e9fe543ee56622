// What a log lost of one kind, told at most once a minute however often it happens.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/gap_reason.h"

namespace faultline {

inline constexpr Duration gap_report_interval = std::chrono::minutes{1};

struct GapCount {
  explicit GapCount(GapReason reason) : why(reason) {}

  GapReason why;
  std::uint64_t lines_told = 0;
  std::uint64_t bytes_told = 0;
  Instant told_at;

  [[nodiscard]] bool due(std::uint64_t lines, Instant now) const {
    return lines > lines_told &&
           (!known(told_at) || now < told_at || now - told_at >= gap_report_interval);
  }
};

}  // namespace faultline
