// The hand-written backward pass against finite differences, and what the fault file may say.

#include "model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "corpus.h"
#include "fault.h"

namespace train_lm {
namespace {

TEST(ModelTest, GradientIsTheSlopeOfTheLoss) {
  const ModelShape shape{.vocabulary = 5, .context = 3, .embedding = 4, .hidden = 6};
  const std::vector<std::uint8_t> sample = {1, 4, 1, 2};
  std::vector<float> parameters = initial_parameters(shape, 7);
  Model model(shape);
  std::vector<float> gradient(parameters.size()), unused(parameters.size());
  model.add_gradient(parameters, sample.data(), gradient);

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr float kDelta = 1e-2F;
    const float value = parameters[i];
    parameters[i] = value + kDelta;
    const double above = model.add_gradient(parameters, sample.data(), unused);
    parameters[i] = value - kDelta;
    const double below = model.add_gradient(parameters, sample.data(), unused);
    parameters[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * static_cast<double>(kDelta)), 2e-4) << i;
  }
}

TEST(CorpusTest, SamplesDependOnSeedStepAndIndexAlone) {
  const Corpus one(1, 4096), same(1, 4096);
  EXPECT_EQ(std::vector<std::uint8_t>(one.sample(3, 5, 24), one.sample(3, 5, 24) + 25),
            std::vector<std::uint8_t>(same.sample(3, 5, 24), same.sample(3, 5, 24) + 25));
  EXPECT_NE(one.sample(3, 5, 24), one.sample(4, 5, 24));
  EXPECT_NE(one.sample(3, 5, 24), one.sample(3, 6, 24));
}

TEST(FaultTest, NamesHostKindAndStep) {
  constexpr std::string_view kText = "# a comment\n\nn3 ecc step=25\n* slow ms=200\n";
  EXPECT_EQ(parse_fault(kText, "n3", 24)->kind, FaultKind::kSlow);
  EXPECT_EQ(parse_fault(kText, "n3", 25)->kind, FaultKind::kEcc);
  EXPECT_EQ(parse_fault(kText, "n30", 25)->kind, FaultKind::kSlow);
  EXPECT_EQ(parse_fault(kText, "n1", 0)->slow_ms, 200);
  EXPECT_FALSE(parse_fault("n3 hang", "n1", 0));
  EXPECT_FALSE(read_fault("/nonexistent/fault", "n1", 0));
}

TEST(FaultTest, ATypingErrorIsRefused) {
  for (const char* text : {"n3", "n3 ec", "n3 ecc step=", "n3 ecc step=1x", "n3 slow 200"}) {
    EXPECT_THROW(parse_fault(text, "n1", 0), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace train_lm
