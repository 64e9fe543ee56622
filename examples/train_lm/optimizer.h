// What training changes and a checkpoint holds, and Adam, which changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace train_lm {

/// The same on every rank after every step; a difference is a silent fault.
struct TrainingState {
  std::uint64_t step = 0;  // steps done
  std::vector<float> parameters;
  std::vector<float> first_moment;   // Adam's running mean of the gradient
  std::vector<float> second_moment;  // ... and of its square

  explicit TrainingState(std::vector<float> initial = {});
};

/// One step with the mean gradient; counts the step.
void adam_step(TrainingState& state, std::span<const float> gradient, double learning_rate);

double norm(std::span<const float> values);

/// The first 16 hexadecimal digits of the SHA-256 of all parameters.
std::string parameter_digest(const TrainingState& state);

}  // namespace train_lm
