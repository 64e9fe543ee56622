// The text that is learned: made-up sentences from a small grammar, so that nothing is downloaded,
// and every machine has the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace train_lm {

/// splitmix64: one well-mixed number for every (seed, counter). Nothing here keeps a generator's
/// state, so a checkpoint need not hold any: sample 7 of step 40 is the same after each restart.
std::uint64_t mix(std::uint64_t seed, std::uint64_t counter);

class Corpus {
 public:
  Corpus(std::uint64_t seed, int length);

  [[nodiscard]] int vocabulary() const { return static_cast<int>(alphabet_.size()); }

  /// `context` characters and the one that follows them, as indices into the alphabet.
  [[nodiscard]] const std::uint8_t* sample(std::uint64_t step, int index, int context) const;

 private:
  std::uint64_t seed_;
  std::string alphabet_;
  std::vector<std::uint8_t> text_;
};

}  // namespace train_lm
