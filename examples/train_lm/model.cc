#include "model.h"

#include <algorithm>
#include <cmath>

#include "corpus.h"

namespace train_lm {
namespace {

// Where each array starts in the flat one.
struct Layout {
  std::size_t embedding, w1, b1, w2, b2, end;

  explicit Layout(const ModelShape& s) {
    const auto size = [](int rows, int columns) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    embedding = 0;
    w1 = embedding + size(s.vocabulary, s.embedding);
    b1 = w1 + size(s.context * s.embedding, s.hidden);
    w2 = b1 + size(1, s.hidden);
    b2 = w2 + size(s.hidden, s.vocabulary);
    end = b2 + size(1, s.vocabulary);
  }
};

// out += x * W, row by row of W: the inner loop is one the compiler may vectorise without changing
// the order of any sum.
void add_product(std::span<const float> x, const float* w, std::span<float> out) {
  for (const float factor : x) {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += factor * w[j];
    w += out.size();
  }
}

// The reverse of add_product: given d(loss)/d(out), adds to the gradient of W and sets that of x.
void back_product(std::span<const float> x, const float* w, std::span<const float> out_gradient,
                  float* w_gradient, std::span<float> x_gradient) {
  const std::size_t columns = out_gradient.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) w_gradient[j] += x[i] * out_gradient[j];
    // Four partial sums: still one fixed order, but not one long chain of dependent additions.
    float sum[4] = {};
    for (std::size_t j = 0; j < columns; ++j) sum[j % 4] += w[j] * out_gradient[j];
    x_gradient[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    w += columns;
    w_gradient += columns;
  }
}

void softmax(std::span<float> values) {
  const float largest = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& v : values) sum += v = std::exp(v - largest);
  for (float& v : values) v /= sum;
}

}  // namespace

std::size_t ModelShape::parameter_count() const { return Layout(*this).end; }

std::vector<float> initial_parameters(const ModelShape& shape, std::uint64_t seed) {
  const Layout at(shape);
  std::vector<float> parameters(at.end, 0.0F);
  const auto fill = [&](std::size_t begin, std::size_t end, float scale) {
    for (std::size_t i = begin; i < end; ++i) {
      const double unit = static_cast<double>(mix(seed, i) >> 11) * 0x1p-53;  // [0, 1)
      parameters[i] = scale * static_cast<float>(2 * unit - 1);
    }
  };
  fill(at.embedding, at.w1, 1.0F);
  fill(at.w1, at.b1, 1.5F / std::sqrt(static_cast<float>(shape.context * shape.embedding)));
  fill(at.w2, at.b2, 1.0F / std::sqrt(static_cast<float>(shape.hidden)));
  return parameters;
}

Model::Model(const ModelShape& shape)
    : shape_(shape),
      input_(static_cast<std::size_t>(shape.context * shape.embedding)),
      hidden_(static_cast<std::size_t>(shape.hidden)),
      odds_(static_cast<std::size_t>(shape.vocabulary)),
      input_gradient_(input_.size()),
      hidden_gradient_(hidden_.size()) {}

void Model::forward(std::span<const float> parameters, const std::uint8_t* sample) {
  const Layout at(shape_);
  const auto width = static_cast<std::size_t>(shape_.embedding);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape_.context); ++c) {
    const float* row = parameters.data() + at.embedding + sample[c] * width;
    std::copy_n(row, width, input_.data() + c * width);
  }
  std::copy_n(parameters.data() + at.b1, hidden_.size(), hidden_.data());
  add_product(input_, parameters.data() + at.w1, hidden_);
  for (float& h : hidden_) h = std::tanh(h);

  std::copy_n(parameters.data() + at.b2, odds_.size(), odds_.data());
  add_product(hidden_, parameters.data() + at.w2, odds_);
  softmax(odds_);
}

void Model::backward(std::span<const float> parameters, const std::uint8_t* sample,
                     std::span<float> gradient) {
  const Layout at(shape_);
  // d(loss)/d(score) is odds - 1 for the true character, and odds for the others.
  std::vector<float>& score_gradient = odds_;
  score_gradient[sample[shape_.context]] -= 1;
  for (std::size_t j = 0; j < score_gradient.size(); ++j) gradient[at.b2 + j] += score_gradient[j];
  back_product(hidden_, parameters.data() + at.w2, score_gradient, gradient.data() + at.w2,
               hidden_gradient_);

  for (std::size_t j = 0; j < hidden_.size(); ++j)
    hidden_gradient_[j] *= 1 - hidden_[j] * hidden_[j];
  for (std::size_t j = 0; j < hidden_.size(); ++j) gradient[at.b1 + j] += hidden_gradient_[j];
  back_product(input_, parameters.data() + at.w1, hidden_gradient_, gradient.data() + at.w1,
               input_gradient_);

  const auto width = static_cast<std::size_t>(shape_.embedding);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape_.context); ++c) {
    float* row = gradient.data() + at.embedding + sample[c] * width;
    for (std::size_t j = 0; j < width; ++j) row[j] += input_gradient_[c * width + j];
  }
}

double Model::add_gradient(std::span<const float> parameters, const std::uint8_t* sample,
                           std::span<float> gradient) {
  forward(parameters, sample);
  const double loss = -std::log(static_cast<double>(odds_[sample[shape_.context]]));
  backward(parameters, sample, gradient);
  return loss;
}

}  // namespace train_lm
