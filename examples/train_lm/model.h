// A language model small enough to read: the last characters are embedded, joined, passed through
// one hidden layer, and give the odds of the next character (after Bengio et al., 2003).
//
//   x = [embedding(c1) ... embedding(cN)]     h = tanh(x W1 + b1)     odds = softmax(h W2 + b2)
//
// All parameters lie in one flat array: one all-reduce sums the gradient, one slice is a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace train_lm {

struct ModelShape {
  int vocabulary = 0;
  int context = 24;
  int embedding = 32;
  int hidden = 256;

  [[nodiscard]] std::size_t parameter_count() const;
};

std::vector<float> initial_parameters(const ModelShape& shape, std::uint64_t seed);

/// Adds the gradient of one sample (context + 1 characters) to `gradient` and returns its loss, in
/// nats. The order of all sums is fixed: same input, same bits.
class Model {
 public:
  explicit Model(const ModelShape& shape);
  double add_gradient(std::span<const float> parameters, const std::uint8_t* sample,
                      std::span<float> gradient);

 private:
  void forward(std::span<const float> parameters, const std::uint8_t* sample);
  void backward(std::span<const float> parameters, const std::uint8_t* sample,
                std::span<float> gradient);

  ModelShape shape_;
  // Values of the sample in hand, kept between forward and backward.
  std::vector<float> input_, hidden_, odds_, input_gradient_, hidden_gradient_;
};

}  // namespace train_lm
