#include "apps/run_step.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t looked_at_bytes_max = 4096;
constexpr std::string_view line_ends = "\r\n";  // progress bars end their lines with the former
constexpr std::string_view between = " \t=:#\"'[(";
constexpr std::size_t between_bytes_max = 24;
constexpr std::array<std::string_view, 3> words = {"step", "iteration", "iter"};

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// The whole number that `text` begins with after at least one mark.
std::optional<std::uint64_t> number_after_marks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(between);
  if (begin == 0 || begin == std::string_view::npos || begin > between_bytes_max)
    return std::nullopt;
  text.remove_prefix(begin);
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool goes_on = end < text.size() && (letter(text[end]) || text[end] == '%');
  const bool fraction = end + 1 < text.size() && text[end] == '.' && digit(text[end + 1]);
  return goes_on || fraction ? std::nullopt : parse_number<std::uint64_t>(text.substr(0, end));
}

}  // namespace

std::optional<std::uint64_t> step_in(std::string_view line) {
  const std::string text = to_lower(line);
  std::optional<std::uint64_t> found;
  std::size_t found_at = 0;
  for (const std::string_view word : words) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      if (at > 0 && letter(text[at - 1])) continue;
      const auto number = number_after_marks(std::string_view(text).substr(at + word.size()));
      if (!number || at < found_at) continue;
      found = number;
      found_at = at;
    }
  }
  return found;
}

void StepWatch::output(std::string_view bytes) {
  const bool cut = bytes.size() > looked_at_bytes_max;
  if (cut) bytes.remove_prefix(bytes.size() - looked_at_bytes_max);
  std::string text = cut ? std::string() : std::exchange(rest_, {});
  text += bytes;
  std::size_t end = text.find_last_of(line_ends);
  rest_ = text.substr(end == std::string::npos ? 0 : end + 1);
  if (rest_.size() > looked_at_bytes_max) rest_.clear();
  while (end != std::string::npos) {
    const std::size_t before = end == 0 ? std::string::npos : text.find_last_of(line_ends, end - 1);
    // What stands first may be the end of a longer line.
    if (before == std::string::npos && cut) return;
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (const auto step = step_in(std::string_view(text).substr(begin, end - begin))) {
      last_ = step;
      return;
    }
    end = before;
  }
}

}  // namespace faultline
