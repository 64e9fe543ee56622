#include "corpus.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace train_lm {
namespace {

constexpr std::array<std::string_view, 8> kSubjects = {
    "the scheduler", "a quiet node", "the last rank", "our cluster",
    "one slow link", "the operator", "every switch",  "a spare machine"};
constexpr std::array<std::string_view, 8> kVerbs = {
    "waits for", "restarts", "forgets", "trusts", "measures", "talks about", "drains", "repairs"};
constexpr std::array<std::string_view, 8> kObjects = {
    "a broken cable", "the checkpoint", "its neighbours", "the long job",
    "that old fan",   "the night run",  "the gradient",   "a lost packet"};
constexpr std::array<std::string_view, 4> kEndings = {". ", " again. ", " at dawn. ",
                                                      ", then stops. "};

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& words, std::uint64_t number) {
  return words[number % N];
}

std::string make_text(std::uint64_t seed, std::size_t length) {
  std::string text;
  for (std::uint64_t sentence = 0; text.size() < length; ++sentence) {
    const std::uint64_t number = mix(seed, sentence);
    text += pick(kSubjects, number);
    text += ' ';
    text += pick(kVerbs, number >> 16);
    text += ' ';
    text += pick(kObjects, number >> 32);
    text += pick(kEndings, number >> 48);
  }
  text.resize(length);
  return text;
}

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

Corpus::Corpus(std::uint64_t seed, int length) : seed_(seed) {
  const std::string text = make_text(seed, static_cast<std::size_t>(length));
  alphabet_ = text;
  std::sort(alphabet_.begin(), alphabet_.end());
  alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
  text_.reserve(text.size());
  for (const char c : text) text_.push_back(static_cast<std::uint8_t>(alphabet_.find(c)));
}

const std::uint8_t* Corpus::sample(std::uint64_t step, int index, int context) const {
  const std::uint64_t number = mix(mix(seed_, step), static_cast<std::uint64_t>(index));
  return text_.data() + number % (text_.size() - static_cast<std::size_t>(context));
}

}  // namespace train_lm
