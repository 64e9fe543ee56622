// JSON objects out of bytes in any chunking: what `journalctl -o json`, `dmesg --json` and NCCL's
// Inspector write, one object a line or indented, in an array or not. Only finds where an object
// begins and ends; what it holds is for a JSON parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace faultline {

inline constexpr std::size_t json_record_bytes_max = std::size_t{1} << 20U;  // unless told

/// Not thread-safe. Memory: at most `bytes_max`, whatever comes.
class JsonRecords {
 public:
  enum class Depth {
    outermost,  // objects that stand in no other one
    innermost,  // objects that hold no other one: also those inside {"dmesg": [...]}
  };
  struct Totals {
    std::uint64_t broken = 0;    // begun and never closed, as a writer leaves it that was killed
    std::uint64_t too_long = 0;  // left out
  };
  using Sink = std::function<void(std::string_view record, std::uint64_t offset)>;

  explicit JsonRecords(Depth depth, std::size_t bytes_max = json_record_bytes_max)
      : depth_(depth), bytes_max_(bytes_max) {}

  /// Gives every object that is complete to `sink`; the text is valid until that returns. `offset`
  /// is where the first byte lies in the file; after a jump an unfinished object is dropped.
  void feed(std::string_view bytes, std::uint64_t offset, const Sink& sink);
  /// Nothing more comes.
  void finish();

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void take(char c, std::uint64_t offset, const Sink& sink);
  void keep(std::string_view bytes);
  void open(std::uint64_t offset);
  void close(const Sink& sink);
  void drop();

  Depth depth_;
  std::size_t bytes_max_;
  std::string record_;
  std::uint64_t record_offset_ = 0;
  std::uint64_t next_offset_ = 0;
  std::size_t open_braces_ = 0;
  bool recording_ = false;
  bool overflowed_ = false;
  bool in_text_ = false;
  bool escaped_ = false;
  bool line_start_ = true;
  Totals totals_;
};

}  // namespace faultline
