// Ranks as a short text: "0-3,8", "0-28:4,5" (every fourth from 0 to 28).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace faultline {

/// In the order in which they are given; in several texts if one would be longer than `bytes_max`.
std::vector<std::string> rank_ranges(std::span<const std::int32_t> ranks, std::size_t bytes_max);

}  // namespace faultline
