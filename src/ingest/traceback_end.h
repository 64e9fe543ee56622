// The exception that ends a Python traceback, whatever its name. Those that are called ...Error a
// signature knows anywhere; "queue.Empty", "Exception: no data", "botocore.errorfactory.NoSuchKey:
// ..." are exceptions only where the frames above them say so.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "ingest/line_prefix.h"

namespace faultline {

/// The words of our own behind such a line, for the signature that waits for them; whatever else
/// is known of the line is found in it as before.
inline constexpr std::string_view raised_words = " (ends a traceback)";
/// Of that signature; its events are given as those of the other, which they are like in all else.
inline constexpr std::string_view raised_signature = "python.raised";
inline constexpr std::string_view raised_as_signature = "python.exception";

/// Sees a job's lines one after the other. Memory: bounded. Not thread-safe.
class TracebackEnd {
 public:
  /// A traceback has begun and not ended: every line has to be seen, not only those that say
  /// something bad.
  [[nodiscard]] bool is_awaited() const { return !open_.empty(); }
  /// True if the line ends a traceback with an exception that no other signature knows.
  bool take(const LinePrefix& prefix, std::string_view body);

 private:
  struct Open {
    bool has_frames = false;
    std::size_t lines = 0;  // of whomever, since its first
  };
  void open(std::string key);
  void age();

  std::map<std::string, Open, std::less<>> open_;  // by who prints it
};

}  // namespace faultline
