#include "ingest/nvidia_smi_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ingest/time_shape.h"

namespace faultline {
namespace {

constexpr std::size_t levels_max = 16;
constexpr std::size_t cells_of_card = 5;  // with what stands before the first and behind the last
constexpr std::string_view unread = "ERR!";
constexpr std::string_view gpu_head = "GPU ";
constexpr std::string_view no_handle = "Unable to determine the device handle for ";

/// "Key      : value"; a section has no value.
std::pair<std::string_view, std::string_view> key_and_value(std::string_view text) {
  const auto colon = text.find(" :");
  if (colon == std::string_view::npos) return {trim(text), {}};
  return {trim(text.substr(0, colon)), trim(text.substr(colon + 2))};
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

/// "Tue Nov 17 10:22:31 2026", the line above the table.
bool is_time(std::string_view text) {
  TextCursor cursor(text);
  return take_ctime(cursor) && cursor.done();
}

}  // namespace

std::vector<Event> NvidiaSmiTextDecoder::feed(std::string_view bytes, std::uint64_t offset) {
  lines_.feed(bytes, offset, [this](const Line& line) { take_line(line); });
  return report_.take();
}

std::vector<Event> NvidiaSmiTextDecoder::finish() {
  lines_.finish([this](const Line& line) { take_line(line); });
  report_.end_gpu();
  return report_.take();
}

void NvidiaSmiTextDecoder::take_line(const Line& line) {
  const GpuReport::Place place{line.offset, line.text};
  const std::size_t indent = line.text.find_first_not_of(" \t");
  if (indent == std::string_view::npos) return;
  if (line.text.find("NVSMI LOG") != std::string_view::npos) {
    in_gpu_ = false;
    return report_.begin_report();
  }
  if (take_unreachable(line.text, place) || take_table_row(trim(line.text), place)) return;
  const auto [key, value] = key_and_value(line.text);
  if (indent == 0) {
    levels_.clear();
    in_gpu_ = key.starts_with(gpu_head) && value.empty();
    if (in_gpu_) report_.begin_gpu(key.substr(gpu_head.size()), place);
    if (key == "Timestamp") report_.set_time(value);
    if (key == "Attached GPUs") report_.set_attached(value);
    if (is_time(trim(line.text))) {
      report_.begin_report();
      report_.set_time(trim(line.text));
    }
    return;
  }
  if (!in_gpu_) return;
  while (!levels_.empty() && levels_.back().indent >= indent) levels_.pop_back();
  if (!value.empty()) report_.read(section(), report_key(key), value, place);
  if (levels_.size() < levels_max) levels_.push_back({indent, report_key(key)});
}

/// "|   3  NVIDIA H100 80GB HBM3  On  |   00000000:B7:00.0 Off |                    0 |", then a
/// row or two of readings, then a line of dashes.
bool NvidiaSmiTextDecoder::take_table_row(std::string_view text, const GpuReport::Place& place) {
  if (text.starts_with('+') && std::exchange(in_table_, false)) report_.end_gpu();
  if (!text.starts_with('|')) return false;
  in_gpu_ = false;
  const auto cells = split(text, '|');  // one before the first and one after the last bar
  const std::string_view address = cells.size() == cells_of_card ? first_word(trim(cells[2])) : "";
  if (address.find(':') != std::string_view::npos && address.find('.') != std::string_view::npos) {
    report_.begin_gpu(address, place);
    in_table_ = true;
    report_.read("ecc_errors/volatile", "total_uncorrectable", trim(cells[3]), place);
  } else if (in_table_) {
    take_readings(cells, place);
  } else if (const auto row = gpu_holder_row(cells.size() == 3 ? cells[1] : "")) {
    report_.holder(row->index, row->holder, place);
  }
  return true;
}

/// "| N/A   34C    P0   112W / 700W |   1MiB /  81559MiB |      0%      Default |"; power and fan
/// may fail to be read of a card that is well, its memory not.
void NvidiaSmiTextDecoder::take_readings(const std::vector<std::string_view>& cells,
                                         const GpuReport::Place& place) {
  if (place.text.find(unread) != std::string_view::npos)
    report_.read("table", "row", unread, place);
  if (cells.size() != cells_of_card) return;
  const std::string_view memory = trim(cells[2]), usage = trim(cells[3]);
  if (memory.find("MiB") == std::string_view::npos && !memory.empty()) {
    report_.read("table", "memory", memory, place);  // "GPU is lost", "Unknown Error"
    for (const std::string_view word : split(place.text, ' ')) {
      if (word.ends_with(unread)) report_.read("table", "reading", unread, place);
    }
  }
  if (const auto slash = memory.find('/'); slash != std::string_view::npos)
    report_.read("fb_memory_usage", "total", trim(memory.substr(slash + 1)), place);
  if (const auto gap = usage.find("  "); gap != std::string_view::npos)
    report_.read("", "compute_mode", trim(usage.substr(gap)), place);
}

/// "Unable to determine the device handle for GPU 0000:CB:00.0: Unknown Error"; with and without
/// the blank, with the GPU's number before ("GPU4: 0000:CB:00.0: ..."), and in place of the whole
/// report or of one GPU.
bool NvidiaSmiTextDecoder::take_unreachable(std::string_view text, const GpuReport::Place& place) {
  text = trim(text);
  if (!text.starts_with(no_handle)) return false;
  text.remove_prefix(no_handle.size());
  if (text.starts_with("gpu") || text.starts_with("GPU")) text.remove_prefix(3);
  if (text.starts_with(' ')) text.remove_prefix(1);
  const auto index = text.find(": ");
  if (index != std::string_view::npos && parse_number<unsigned>(text.substr(0, index)))
    text.remove_prefix(index + 2);
  const auto end = text.find(": ");
  if (end != std::string_view::npos)
    report_.unreachable(text.substr(0, end), trim(text.substr(end + 2)), place);
  in_gpu_ = false;
  return true;
}

std::string NvidiaSmiTextDecoder::section() const {
  std::string path;
  for (const Level& level : levels_) {
    if (!path.empty()) path += '/';
    path += level.key;
  }
  return path;
}

}  // namespace faultline
