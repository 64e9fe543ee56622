#include "diagnose/rank_file_name.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

/// A number that tells runs apart, and not hosts.
constexpr auto run_words =
    std::to_array<std::string_view>({"run", "job", "attempt", "exp", "try", "trial"});
constexpr auto output_words = std::to_array<std::string_view>({"stdout", "stderr", "out", "err"});

std::string without_outputs(std::string_view stem) {
  std::string text = to_lower(stem);
  for (const std::string_view word : output_words) {
    if (const auto at = text.find(word); at != std::string::npos)
      return text.erase(at, word.size());
  }
  return text;
}

/// "n12-" and "n7-" are the same shape.
std::string shape_of(std::string_view stem) {
  std::string shape;
  for (const char c : stem) {
    if (!is_digit(c))
      shape += c;
    else if (shape.empty() || shape.back() != '#')
      shape += '#';
  }
  return shape;
}

bool names_runs(std::string_view stem) {
  return std::any_of(run_words.begin(), run_words.end(), [&](std::string_view word) {
    return stem.find(word) != std::string_view::npos;
  });
}

}  // namespace

RankFileName rank_file_name(std::string_view name, std::int32_t rank) {
  RankFileName found{"", std::string(name)};
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_digit(name[at]) || (at > 0 && is_digit(name[at - 1]))) continue;
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (parse_number<std::int32_t>(name.substr(at, end - at)) != rank) continue;
    found = {std::string(name.substr(0, at)), std::string(name.substr(end))};
    const std::string before = to_lower(found.stem);
    if (before.ends_with("rank") || before.ends_with("rank_") || before.ends_with("rank-")) break;
  }
  return found;
}

bool name_other_runs(std::string_view stem, std::string_view other) {
  const std::string a = without_outputs(stem), b = without_outputs(other);
  if (a == b) return false;
  return shape_of(a) != shape_of(b) || names_runs(a);
}

}  // namespace faultline
