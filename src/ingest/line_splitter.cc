#include "ingest/line_splitter.h"

#include <algorithm>
#include <cstring>

namespace faultline {
namespace {

constexpr char escape = '\x1b';

bool contains(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

/// Where the next line end is, looking for '\n' only once for all the '\r' before it: a progress
/// bar without '\n' would otherwise be searched to its end for each of its frames.
class LineEnds {
 public:
  explicit LineEnds(std::string_view bytes) : bytes_(bytes) {}

  std::size_t next(std::size_t from) {
    if (newline_ == unset || newline_ < from)
      newline_ = std::min(bytes_.find('\n', from), bytes_.size());
    const auto carriage_return = bytes_.substr(0, newline_).find('\r', from);
    if (carriage_return != std::string_view::npos) return carriage_return;
    return newline_ == bytes_.size() ? std::string_view::npos : newline_;
  }

 private:
  static constexpr std::size_t unset = std::string_view::npos;
  std::string_view bytes_;
  std::size_t newline_ = unset;
};

/// Length of the escape sequence at the start of `text` (ECMA-48 5.4 and the xterm string
/// sequences).
std::size_t escape_bytes(std::string_view text) {
  std::size_t at = 1;
  const auto skip = [&](char low, char high) {
    while (at < text.size() && text[at] >= low && text[at] <= high) ++at;
  };
  if (at < text.size() && text[at] == '[') {
    ++at;
    skip('0', '?');  // parameters
    skip(' ', '/');  // intermediates
    return std::min(at + 1, text.size());
  }
  if (at < text.size() && text[at] == ']') {
    // A title or link, closed by BEL or ESC '\'. Without an end only its introducer goes: nobody
    // can hide a line with it.
    const auto end = text.find_first_of("\x07\x1b", at + 1);
    if (end == std::string_view::npos) return 2;
    return text[end] == escape ? std::min(end + 2, text.size()) : end + 1;
  }
  skip(' ', '/');
  return std::min(at + 1, text.size());
}

/// Copies `text` without terminal escape sequences (colours, cursor moves) into `out`.
void remove_escapes(std::string_view text, std::string& out) {
  out.clear();
  while (!text.empty()) {
    const auto start = text.find(escape);
    out.append(text.substr(0, start));
    if (start == std::string_view::npos) return;
    text.remove_prefix(start);
    text.remove_prefix(escape_bytes(text));
  }
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, std::uint64_t offset, const Sink& sink) {
  if (offset != next_offset_) finish(sink);
  next_offset_ = offset + bytes.size();
  const bool any_nul = contains(bytes, '\0');
  LineEnds ends(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = ends.next(at);
    const auto part = bytes.substr(at, end == std::string_view::npos ? end : end - at);
    if (!unfinished_) line_offset_ = offset + at;
    if (end == std::string_view::npos) {
      keep(part);
      return;
    }
    if (!unfinished_ && !any_nul && part.size() <= line_bytes_) {
      give(part, sink);  // the usual case: nothing is copied
    } else {
      keep(part);
      finish(sink);
    }
    at = end + 1;
  }
}

void LineSplitter::keep(std::string_view bytes) {
  unfinished_ = true;
  while (!bytes.empty()) {
    const auto nul = bytes.find('\0');
    const auto part = bytes.substr(0, nul);
    const std::size_t room = line_bytes_ - partial_.size();
    partial_.append(part.substr(0, room));
    line_dropped_ += part.size() - std::min(part.size(), room);
    bytes.remove_prefix(part.size());
    // A hole of NUL bytes is what a power cut leaves in a log. The line behind it may be the one
    // that matters.
    const auto nul_bytes = std::min(bytes.find_first_not_of('\0'), bytes.size());
    line_nul_bytes_ += nul_bytes;
    bytes.remove_prefix(nul_bytes);
  }
}

void LineSplitter::finish(const Sink& sink) {
  if (!unfinished_) return;
  unfinished_ = false;
  if (line_dropped_ > 0) {
    ++totals_.too_long_lines;
    totals_.too_long_bytes += line_dropped_;
  }
  if (line_nul_bytes_ > 0) {
    ++totals_.binary_lines;
    totals_.binary_bytes += line_nul_bytes_;
  }
  line_dropped_ = 0;
  line_nul_bytes_ = 0;
  give(partial_, sink);
  partial_.clear();
}

void LineSplitter::give(std::string_view text, const Sink& sink) {
  if (contains(text, escape)) {
    remove_escapes(text, scratch_);
    text = scratch_;
  }
  if (text.empty()) return;
  ++totals_.lines;
  sink(Line{text, line_offset_});
}

}  // namespace faultline
