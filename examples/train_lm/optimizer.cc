#include "optimizer.h"

#include <cmath>
#include <utility>

#include "sha256.h"

namespace train_lm {

TrainingState::TrainingState(std::vector<float> initial)
    : parameters(std::move(initial)),
      first_moment(parameters.size()),
      second_moment(parameters.size()) {}

void adam_step(TrainingState& state, std::span<const float> gradient, double learning_rate) {
  constexpr float kDecay1 = 0.9F, kDecay2 = 0.99F, kEpsilon = 1e-8F;
  ++state.step;
  const auto t = static_cast<double>(state.step);
  const double correction = std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.9, t));
  const auto rate = static_cast<float>(learning_rate * correction);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float g = gradient[i];
    float& m = state.first_moment[i];
    float& v = state.second_moment[i];
    m = kDecay1 * m + (1 - kDecay1) * g;
    v = kDecay2 * v + (1 - kDecay2) * g * g;
    state.parameters[i] -= rate * m / (std::sqrt(v) + kEpsilon);
  }
}

double norm(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

std::string parameter_digest(const TrainingState& state) {
  return sha256(std::as_bytes(std::span(state.parameters))).substr(0, 16);
}

}  // namespace train_lm
