#include "ingest/rank_ranges.h"

#include <algorithm>

namespace faultline {
namespace {

/// How many ranks at the front are equally far apart, each above the one before. Two ranks are two
/// ranks and no pattern.
std::size_t run_length(std::span<const std::int32_t> ranks) {
  if (ranks.size() < 2 || ranks[1] <= ranks[0]) return 1;
  const std::int64_t step = std::int64_t{ranks[1]} - ranks[0];
  std::size_t length = 2;
  while (length < ranks.size() && std::int64_t{ranks[length]} - ranks[length - 1] == step) ++length;
  return length == 2 ? 1 : length;
}

std::string run_text(std::span<const std::int32_t> run) {
  std::string text = std::to_string(run.front());
  if (run.size() == 1) return text;
  text += '-' + std::to_string(run.back());
  const std::int64_t step = std::int64_t{run[1]} - run[0];
  return step == 1 ? text : text + ':' + std::to_string(step);
}

}  // namespace

std::vector<std::string> rank_ranges(std::span<const std::int32_t> ranks, std::size_t bytes_max) {
  std::vector<std::string> texts;
  while (!ranks.empty()) {
    const std::size_t length = run_length(ranks);
    const std::string run = run_text(ranks.first(length));
    if (texts.empty() || texts.back().size() + 1 + run.size() > bytes_max) {
      texts.push_back(run);
    } else {
      texts.back() += ',' + run;
    }
    ranks = ranks.subspan(length);
  }
  return texts;
}

}  // namespace faultline
