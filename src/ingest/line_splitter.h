// Bytes in any chunking -> lines. A log is written by whoever wants to: lines may have no end,
// contain anything, or be progress bars that redraw themselves a million times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace faultline {

/// What is kept of a line where nobody says otherwise.
inline constexpr std::size_t line_bytes_max = std::size_t{16} << 10U;

struct Line {
  /// Without line end, NUL bytes and colour escapes; valid until the sink returns.
  std::string_view text;
  /// Of its first byte in the log.
  std::uint64_t offset = 0;
};

/// What was odd since the splitter was made.
struct SplitterTotals {
  std::uint64_t lines = 0;
  std::uint64_t too_long_lines = 0;  // cut at the limit
  std::uint64_t too_long_bytes = 0;  // dropped by that
  std::uint64_t binary_lines = 0;    // contained NUL bytes, which were dropped
  std::uint64_t binary_bytes = 0;    // the NUL bytes
};

/// '\n', "\r\n" and '\r' end a line: what a progress bar redraws is a line of its own. Empty lines
/// are not given on. The lines are the same however the bytes are cut. Memory: at most
/// `line_bytes`, whatever comes. Not thread-safe.
class LineSplitter {
 public:
  using Sink = std::function<void(const Line&)>;

  explicit LineSplitter(std::size_t line_bytes = line_bytes_max) : line_bytes_(line_bytes) {}

  /// Gives every line that is complete to `sink`. `offset` is where the first byte lies in the log;
  /// if it is not where the last call ended, the unfinished line is given first, as it is.
  void feed(std::string_view bytes, std::uint64_t offset, const Sink& sink);

  /// Gives the unfinished line, if there is one.
  void finish(const Sink& sink);

  [[nodiscard]] const SplitterTotals& totals() const { return totals_; }
  /// What it holds on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return partial_.capacity() + scratch_.capacity();
  }

 private:
  void keep(std::string_view bytes);
  void give(std::string_view text, const Sink& sink);

  std::size_t line_bytes_;         // the limit
  std::string partial_;            // of the unfinished line, at most line_bytes_, without NUL bytes
  bool unfinished_ = false;        // there is one, even if nothing of it was kept
  std::uint64_t line_offset_ = 0;  // where it starts
  std::uint64_t next_offset_ = 0;  // where the next byte is expected
  std::uint64_t line_dropped_ = 0;  // bytes of it beyond the limit
  std::uint64_t line_nul_bytes_ = 0;
  std::string scratch_;
  SplitterTotals totals_;
};

}  // namespace faultline
