#include "ingest/gpu_processes.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t name_bytes_max = 128;

/// "C", "G", "C+G", "M+C": what a process uses the card for.
bool is_type(std::string_view word) {
  return word == "C" || word == "G" || word == "C+G" || word == "M+C";
}

std::optional<std::uint64_t> mib_of(std::string_view word) {
  if (!word.ends_with("MiB")) return std::nullopt;
  return parse_number<std::uint64_t>(word.substr(0, word.size() - 3));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace

std::optional<GpuHolderRow> gpu_holder_row(std::string_view row) {
  constexpr std::size_t words_min = 5;  // index, pid, type, name, memory
  const auto words = words_of(row);
  if (words.size() < words_min) return std::nullopt;
  const auto index = parse_number<std::size_t>(words.front());
  const auto mib = mib_of(words.back());
  if (!index || !mib) return std::nullopt;
  for (std::size_t at = 1; at + 3 < words.size(); ++at) {
    if (!parse_number<std::uint64_t>(words[at]) || !is_type(words[at + 1])) continue;
    // A program's name may have blanks.
    const char* begin = words[at + 2].data();
    const std::string_view last = words[words.size() - 2];
    const auto length = static_cast<std::size_t>(last.data() + last.size() - begin);
    return GpuHolderRow{*index, {words[at], {begin, length}, *mib}};
  }
  return std::nullopt;
}

Fields HeldGpu::told_of(const GpuHolder& holder) const {
  const bool most = memory_mib > 0 && holder.mib * 2 >= memory_mib;
  if (!parse_number<std::uint64_t>(holder.pid) || (!most && mode.empty())) return {};
  Fields fields;
  fields[std::string(holder_pid_field)] = holder.pid;
  fields[std::string(holder_name_field)] = printable(holder.name, name_bytes_max);
  fields[std::string(held_mib_field)] = std::to_string(holder.mib);
  fields[std::string(memory_mib_field)] = std::to_string(memory_mib);
  if (!mode.empty()) fields[std::string(compute_mode_field)] = mode;
  return fields;
}

std::string exclusive_mode(std::string_view printed) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> modes = {{
      {"E. Process", "exclusive_process"},
      {"Exclusive_Process", "exclusive_process"},
      {"E. Thread", "exclusive_thread"},
      {"Exclusive_Thread", "exclusive_thread"},
      {"Prohibited", "prohibited"},
  }};
  for (const auto& [word, mode] : modes) {
    if (printed == word) return std::string(mode);
  }
  return {};
}

}  // namespace faultline
