#include "ingest/stack_frames.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace faultline {
namespace {

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool is_python(std::string_view file) {
  return file.ends_with(".py") || file.starts_with("<stdin>") || file.starts_with("<ipython");
}

/// Also built in place, where no site-packages tells. A user's own folder may be named torch too.
bool is_torch_file(std::string_view file) {
  static constexpr auto folders = std::to_array<std::string_view>(
      {"/torch/_", "/torch/autograd/", "/torch/cuda/", "/torch/distributed/", "/torch/fx/",
       "/torch/nn/", "/torch/optim/", "/torch/utils/"});
  return contains_any(file, folders);
}

std::string frame_text(const RecorderFrame& frame) {
  std::string text = printable(frame.file, recorder_path_bytes_max);
  if (frame.line >= 0) text += ':' + std::to_string(frame.line);
  return frame.function.empty() ? text : text + " in " + printable(frame.function, 256);
}

template <class Wanted>
std::string first_frame(const FlightRecorderDump& dump, const RecorderEntry& entry, Wanted wanted) {
  for (const std::uint32_t index : entry.frames) {
    const RecorderFrame& frame = dump.frames[index];
    if (wanted(frame.file)) return frame_text(frame);
  }
  return {};
}

}  // namespace

bool is_library_file(std::string_view file) {
  static constexpr auto folders = std::to_array<std::string_view>(
      {"site-packages/", "dist-packages/", "/lib/python3", "/lib64/python3"});
  return !is_python(file) || is_torch_file(file) || contains_any(file, folders);
}

std::string own_frame(const FlightRecorderDump& dump, const RecorderEntry& entry) {
  const auto own = [](std::string_view file) { return !is_library_file(file); };
  if (auto text = first_frame(dump, entry, own); !text.empty()) return text;
  const auto not_torch = [](std::string_view file) {
    return is_python(file) && !is_torch_file(file);
  };
  return first_frame(dump, entry, not_torch);
}

std::string stack_text(const FlightRecorderDump& dump, const RecorderEntry& entry,
                       std::size_t bytes_max) {
  std::string text;
  for (const std::uint32_t index : entry.frames) {
    const std::string frame = frame_text(dump.frames[index]);
    if (text.size() + 1 + frame.size() > bytes_max) break;
    if (!text.empty()) text += '\n';
    text += frame;
  }
  return text;
}

}  // namespace faultline
