// How far a training is, by a line of its log: trainers count steps, iterations, or batches of an
// epoch, each in words of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace faultline {

/// The step that a line counts ("iteration 120/ 5000", "step: 7", "| 12/500 [", "Epoch: [3]
/// [ 120/5004]"); nullopt if it does not. Of one trainer's lines the further has the larger number;
/// those of an epoch count it in the high bits.
std::optional<std::int64_t> counted_step(std::string_view words);

}  // namespace faultline
