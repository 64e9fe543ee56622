#include "ingest/line_unwrapper.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ingest/line_prefix.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::size_t width_min = 60, width_max = 240;
constexpr std::size_t line_bytes_of_width_max = width_max * 4;    // UTF-8
constexpr std::size_t redrawn_bytes_max = std::size_t{1} << 20U;  // a progress bar's frames
constexpr std::size_t just_below = 10;                            // where words are not broken
constexpr std::size_t opening_bytes = 12;
constexpr std::size_t openings_max = 256;
constexpr std::size_t parts_max = 256;  // of one line

struct SeenLine {
  std::string_view text;
  std::size_t width = 0;  // in characters; 0 of what is drawn again and again
};

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // else the rest of a character
  }));
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// A progress bar draws many frames in one line.
bool is_redrawn(std::string_view line) { return line.find('\r') != std::string_view::npos; }

/// Its first word, every number in it the same: "[rank#]:[E#".
std::string opening_of(std::string_view line) {
  std::string opening;
  for (const char c : line.substr(0, line.find_first_of(" \t"))) {
    if (is_digit(c) && opening.ends_with('#')) continue;
    opening += is_digit(c) ? '#' : c;
    if (opening.size() == opening_bytes) break;
  }
  return opening;
}

/// Columns, rulers and boxes are as wide as they were meant to be.
bool is_drawn(std::string_view line) {
  if (line.find("   ") != std::string_view::npos || line.ends_with("  ")) return true;
  return !is_letter(line.front()) && !is_digit(line.front()) && line.front() == line.back();
}

bool has_prefix(std::string_view line) {
  if (parse_system_prefix(line).body > 0) return true;
  const LinePrefix prefix = parse_job_prefix(line, {});
  return prefix.body > 0 || prefix.time_form != TimeForm::none;
}

bool begins_as_line(std::string_view line, const Wrapping& wrapping) {
  constexpr auto openings = std::to_array<std::string_view>(
      {"  ", "\t", "srun: ", "slurmstepd: ", "Traceback (most recent call last)", "[rank",
       "[default", "NVRM: "});
  const auto starts = [&](std::string_view opening) { return line.starts_with(opening); };
  return line.empty() || std::any_of(openings.begin(), openings.end(), starts) ||
         wrapping.openings.contains(opening_of(line)) || has_prefix(line);
}

/// Lines in the order of the text; the last only if it is whole.
std::vector<SeenLine> lines_of(std::string_view head) {
  std::vector<SeenLine> lines;
  for (std::size_t at = 0; at < head.size();) {
    const auto end = head.find('\n', at);
    if (end == std::string_view::npos) break;
    const auto line = without_end(head.substr(at, end - at));
    lines.push_back({line, is_redrawn(line) ? 0 : characters(line)});
    at = end + 1;
  }
  const auto rest = without_end(head.substr(head.rfind('\n') + 1));
  if (characters(rest) > 0 && !is_redrawn(rest)) lines.push_back({rest, characters(rest)});
  return lines;
}

/// Widths at which terminals and mail programs break.
bool is_usual_width(std::size_t width) { return width % 10 == 0 || width == 72 || width == 132; }

/// What lines of the full width, and those that follow them, say.
struct Breaks {
  std::size_t broken = 0, not_broken = 0;
  bool all_others_have_prefix = true;
};

Breaks count_breaks(const std::vector<SeenLine>& lines, const Wrapping& wrapping) {
  Breaks breaks;
  bool goes_on = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    if (!goes_on && !line.empty() && !has_prefix(line)) breaks.all_others_have_prefix = false;
    const bool full = lines[i].width == wrapping.width && i + 1 < lines.size() && !is_drawn(line);
    if (!full) {
      goes_on = false;
      continue;
    }
    goes_on = !begins_as_line(lines[i + 1].text, wrapping);
    ++(goes_on ? breaks.broken : breaks.not_broken);
  }
  return breaks;
}

}  // namespace

std::optional<Wrapping> find_wrapping(std::string_view head) {
  const std::vector<SeenLine> lines = lines_of(head);
  Wrapping wrapping;
  for (const SeenLine& line : lines) wrapping.width = std::max(wrapping.width, line.width);
  if (wrapping.width < width_min || wrapping.width > width_max) return std::nullopt;
  std::size_t full = 0, below = 0;
  bool after_full = false;
  for (const SeenLine& line : lines) {
    const bool begins = !std::exchange(after_full, line.width == wrapping.width);
    full += after_full ? 1 : 0;
    below += !after_full && line.width + just_below >= wrapping.width ? 1 : 0;
    if (begins && wrapping.openings.size() < openings_max && !line.text.empty())
      wrapping.openings.insert(opening_of(line.text));
  }
  if (full < below) return std::nullopt;
  const Breaks breaks = count_breaks(lines, wrapping);
  // One line may be the longest by chance, and what follows it a message of several lines.
  const bool usual = is_usual_width(wrapping.width);
  const std::size_t enough = usual && breaks.all_others_have_prefix ? 1 : usual ? 2 : 3;
  if (breaks.broken < enough || breaks.not_broken * 4 > breaks.broken) return std::nullopt;
  return wrapping;
}

void LineUnwrapper::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && !not_wrapped_) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    bytes.remove_prefix(part.size());
    partial_ += part;
    if (end != std::string_view::npos) {
      take_line(partial_, out);
      partial_.clear();
    } else if (partial_.size() >
               (is_redrawn(partial_) ? redrawn_bytes_max : line_bytes_of_width_max)) {
      give_up(out);
    }
  }
  out += bytes;
}

void LineUnwrapper::take_line(std::string_view line, std::string& out) {
  const std::string_view text = without_end(line);
  const std::size_t width = is_redrawn(text) ? 0 : characters(text);
  if (!may_go_on_ || width > wrapping_.width || begins_as_line(text, wrapping_)) {
    out += std::exchange(ends_, {});
    parts_ = 0;
  }
  out += text;
  ends_ += line.substr(text.size());
  may_go_on_ = width == wrapping_.width && ++parts_ < parts_max && !is_drawn(text);
  if (width > wrapping_.width) give_up(out);
}

void LineUnwrapper::give_up(std::string& out) {
  finish(out);
  not_wrapped_ = true;
}

void LineUnwrapper::finish(std::string& out) {
  const std::string last = std::exchange(partial_, {});
  if (!last.empty() && !last.ends_with('\n')) take_line(last, out);
  out += std::exchange(ends_, {});
  may_go_on_ = false;
}

}  // namespace faultline
