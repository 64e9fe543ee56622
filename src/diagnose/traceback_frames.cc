#include "diagnose/traceback_frames.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "ingest/stack_frames.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t tail_bytes = std::size_t{16} << 10U;
constexpr std::size_t lines_above_max = 32;  // the frame's source, its marks, and what others say
constexpr std::size_t traceback_lines_max = 256;
constexpr std::size_t frame_bytes_max = 160;
constexpr std::string_view frame_opening = "  File \"";

/// "main.py:70 in main" of `File "/srv/main.py", line 70, in main`; "" of anything else.
std::string frame_in(std::string_view line) {
  constexpr std::string_view between = "\", line ", before_name = ", in ";
  line.remove_prefix(line.find(frame_opening) + frame_opening.size());
  const auto end = line.find(between);
  if (end == std::string_view::npos) return {};
  std::string_view path = line.substr(0, end);
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  line.remove_prefix(end + between.size());
  const auto name = line.find(before_name);
  const std::string_view number = line.substr(0, name);
  if (name == std::string_view::npos || number.empty() ||
      number.find_first_not_of("0123456789") != std::string_view::npos)
    return {};
  return printable(std::string(path) + ":" + std::string(number) + " in " +
                       std::string(trim(line.substr(name + before_name.size()))),
                   frame_bytes_max);
}

/// The file of a frame's line, which begins with its opening.
std::string_view path_in(std::string_view frame) {
  frame.remove_prefix(frame_opening.size());
  return frame.substr(0, frame.find('"'));
}

std::string_view line_at(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

/// Of lines with that beginning, only indented ones stand between a frame and its exception.
bool belong_together(const std::vector<std::string_view>& between, std::string_view beginning) {
  return std::all_of(between.begin(), between.end(), [&](std::string_view line) {
    if (!line.starts_with(beginning)) return true;
    const std::string_view rest = line.substr(beginning.size());
    return rest.empty() || rest.starts_with("  ");
  });
}

/// "10.0.0.3" of "RayTaskError(RuntimeError): ray::Actor.step() (pid=71, ip=10.0.0.3, actor_id=..";
/// "" of anything else.
std::string ray_address_in(std::string_view line) {
  constexpr std::string_view task = "ray::", process = "(pid=", address = ", ip=";
  for (const std::string_view part : {task, process, address}) {
    const auto at = line.find(part);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + part.size());
  }
  line = line.substr(0, line.find_first_of(",)"));
  return valid_node_name(line) ? std::string(line) : std::string();
}

std::size_t line_before(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at - 1).rfind('\n');
  return before == std::string_view::npos ? 0 : before + 1;
}

}  // namespace

std::string ray_address_above(std::string_view text, std::size_t at) {
  if (at > text.size()) return {};
  const std::string_view error = line_at(text, at);
  std::optional<std::string_view> beginning;  // of the frames
  for (std::size_t lines = 0; at > 0 && lines < traceback_lines_max; ++lines) {
    at = line_before(text, at);
    const std::string_view line = line_at(text, at);
    const auto opening = line.find(frame_opening);
    if (!beginning && opening != std::string_view::npos &&
        error.starts_with(line.substr(0, opening)))
      beginning = line.substr(0, opening);
    if (!beginning || !line.starts_with(*beginning)) continue;
    const std::string_view rest = line.substr(beginning->size());
    if (!rest.empty() && !rest.starts_with("  ")) return ray_address_in(rest);
  }
  return {};
}

namespace {

/// Of the frames from the line at `at` upwards the first outside of libraries: there the program's
/// author reads. The first of all if the program has none.
std::string own_frame_from(std::string_view text, std::size_t at, std::string_view beginning) {
  std::string innermost;
  for (std::size_t lines = 0; lines < traceback_lines_max; ++lines) {
    const std::string_view line = line_at(text, at);
    if (line.starts_with(beginning)) {
      const std::string_view rest = line.substr(beginning.size());
      if (rest.starts_with(frame_opening)) {
        std::string frame = frame_in(line);
        if (!is_library_file(path_in(rest))) return frame;
        if (innermost.empty()) innermost = std::move(frame);
      } else if (!rest.starts_with("  ")) {
        break;
      }
    }
    if (at == 0) break;
    at = line_before(text, at);
  }
  return innermost;
}

}  // namespace

std::string frame_above(std::string_view text, std::size_t at) {
  if (at > text.size()) return {};
  const std::string_view error = line_at(text, at);
  std::vector<std::string_view> between;
  while (at > 0 && between.size() < lines_above_max) {
    at = line_before(text, at);
    const std::string_view line = line_at(text, at);
    const auto opening = line.find(frame_opening);
    const std::string_view beginning = line.substr(0, opening);
    if (opening != std::string_view::npos && error.starts_with(beginning))
      return belong_together(between, beginning) ? own_frame_from(text, at, beginning) : "";
    between.push_back(line);
  }
  return {};
}

void TracebackFrames::add_frames(std::vector<Event>& events, std::string_view text,
                                 std::uint64_t offset) const {
  for (Event& event : events) {
    const std::uint64_t at = event.raw.offset;
    if (event.kind != EventKind::log_signature || at < offset || at - offset >= text.size())
      continue;
    std::string frame = frame_above(text, static_cast<std::size_t>(at - offset));
    if (frame.empty()) continue;
    event.fields.emplace(frame_field, std::move(frame));
    // Ray prints a task's traceback where its result was asked for, and says where it ran.
    if (!event.subject.node.empty() || !event.field("host").empty()) continue;
    std::string host = ray_address_above(text, static_cast<std::size_t>(at - offset));
    if (!host.empty()) event.fields.emplace("host", std::move(host));
  }
}

std::vector<Event> TracebackFrames::feed(std::string_view bytes, std::uint64_t offset) {
  std::vector<Event> events = inner_->feed(bytes, offset);
  if (tail_.empty()) tail_offset_ = offset;
  // Lines of the chunk's beginning have their frames in the tail.
  const std::size_t seam = tail_.size() + std::min(bytes.size(), tail_bytes);
  tail_ += bytes.substr(0, std::min(bytes.size(), tail_bytes));
  add_frames(events, tail_, tail_offset_);
  if (bytes.size() > tail_bytes) {
    add_frames(events, bytes, offset);
    tail_ = bytes.substr(bytes.size() - tail_bytes);
    tail_offset_ = offset + bytes.size() - tail_bytes;
  } else if (seam > 2 * tail_bytes) {
    tail_offset_ += tail_.size() - tail_bytes;
    tail_.erase(0, tail_.size() - tail_bytes);
  }
  return events;
}

std::vector<Event> TracebackFrames::finish() {
  std::vector<Event> events = inner_->finish();
  add_frames(events, tail_, tail_offset_);
  return events;
}

}  // namespace faultline
