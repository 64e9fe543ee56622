#include "ingest/traceback_end.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::string_view first_line = "Traceback (most recent call last):";
constexpr std::string_view frame_start = "File \"";  // behind blanks, of which a label may take one
// Python prints no more than a thousand frames, and cuts repeated ones; other ranks' lines count.
constexpr std::size_t lines_max = 4000;
constexpr std::size_t open_max = 64;
constexpr std::size_t name_bytes_max = 200;

bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/// "pkg.mod.Name" at the start of the line, up to ": " or its end; "" if it begins otherwise.
std::string_view name_of(std::string_view body) {
  const std::string_view line = trim(body);
  std::size_t end = 0;
  while (end < line.size() && (is_word(line[end]) || line[end] == '.')) ++end;
  const bool ends_well =
      end == line.size() || line.substr(end).starts_with(": ") || line.substr(end) == ":";
  if (end == 0 || end > name_bytes_max || !ends_well || is_digit(line.front())) return {};
  return line.substr(0, end);
}

/// As a class is called, or with its module: a log's "WARNING:" and "loss:" are neither.
bool is_class_name(std::string_view name) {
  if (name.starts_with('.') || name.ends_with('.')) return false;
  if (name.find('.') != std::string_view::npos) return true;
  return name.front() >= 'A' && name.front() <= 'Z' &&
         std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Somebody ended the program, or it ended itself.
bool is_wanted_end(std::string_view name) {
  static constexpr auto ends =
      std::to_array<std::string_view>({"KeyboardInterrupt", "SystemExit", "GeneratorExit"});
  return std::find(ends.begin(), ends.end(), name) != ends.end();
}

bool is_known_anyway(std::string_view name) {
  const auto last = name.rfind('.');
  const std::string_view word = last == std::string_view::npos ? name : name.substr(last + 1);
  if (word.front() == '_') return false;
  for (const std::string_view end : {std::string_view("Error"), std::string_view("Exception")}) {
    const auto at = word.find(end);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view rest = word.substr(at + end.size());
    if (rest.empty() || rest.starts_with('_')) return true;
  }
  return false;
}

std::string key_of(const LinePrefix& prefix) {
  return std::string(prefix.host) + '/' + std::to_string(prefix.rank) + '/' +
         std::to_string(prefix.local_rank);
}

}  // namespace

bool TracebackEnd::take(const LinePrefix& prefix, std::string_view body) {
  const bool is_first = body.find(first_line) != std::string_view::npos;
  if (!is_first && open_.empty()) return false;
  age();
  std::string key = key_of(prefix);
  if (is_first) {
    open(std::move(key));
    return false;
  }
  const auto it = open_.find(key);
  if (it == open_.end()) return false;
  // Ray prints the head of a task, "ray::f() (pid=7, ...)", between its frames.
  if (body.empty() || body.front() == ' ' || body.front() == '\t' || body.starts_with("ray::")) {
    it->second.has_frames |= trim(body).starts_with(frame_start);
    return false;
  }
  const bool has_frames = it->second.has_frames;
  open_.erase(it);
  const std::string_view name = name_of(body);
  return has_frames && !name.empty() && is_class_name(name) && !is_wanted_end(name) &&
         !is_known_anyway(name);
}

void TracebackEnd::open(std::string key) {
  if (open_.size() < open_max || open_.contains(key)) open_[std::move(key)] = {};
}

void TracebackEnd::age() {
  for (auto& [key, open] : open_) ++open.lines;
  std::erase_if(open_, [](const auto& entry) { return entry.second.lines > lines_max; });
}

}  // namespace faultline
