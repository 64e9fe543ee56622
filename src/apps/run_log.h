// The rank's own log: every line with time, node and rank, so that no line is ever without a host
// name. The log is a by-product: whatever goes wrong with it, the job goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace faultline {

/// Cuts a byte stream into lines, each with a prefix. A line longer than `line_bytes_max` is cut
/// into several.
class LineTagger {
 public:
  explicit LineTagger(std::size_t line_bytes_max = 64 * 1024) : line_bytes_max_(line_bytes_max) {}
  /// Appends to `out` every line that `bytes` completes, as prefix + line + '\n'.
  void feed(std::string_view bytes, std::string_view prefix, std::string& out);
  /// Appends the unfinished last line, if there is one.
  void finish(std::string_view prefix, std::string& out);

 private:
  std::size_t line_bytes_max_;
  std::string rest_;
  bool cut_ = false;  // the last thing written was a piece of a longer line
};

class RunLog {
 public:
  enum class Stream { out, err };

  RunLog() = default;  // writes nothing
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  /// Opens {job}-{node}-{rank}.log in `folder` for appending, making the folder if needed. Names
  /// must have been checked.
  Status open(const std::filesystem::path& folder, std::string_view job, std::string_view node,
              std::int32_t rank);
  /// An error is returned once; further ones are only counted.
  Status write(Stream stream, std::string_view bytes, Instant now);
  /// A line of faultline's own, between those of the command.
  Status note(std::string_view text, Instant now);
  /// Writes unfinished lines.
  Status finish(Instant now);

  /// Absolute; empty if not open.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The log's length when it was opened: what is before it belongs to earlier attempts.
  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_; }

 private:
  Status put();
  [[nodiscard]] std::string prefix(Instant now) const;

  int descriptor_ = -1;
  std::filesystem::path path_;
  std::uint64_t start_ = 0;
  std::string tag_;      // "n3 rank3 | "
  std::string pending_;  // reused between writes
  LineTagger out_;
  LineTagger err_;
  bool complained_ = false;
  std::uint64_t lost_bytes_ = 0;
};

/// Writes everything, through short writes and interruptions. The error number, 0 if all was
/// written.
int write_all(int descriptor, std::string_view bytes);

}  // namespace faultline
