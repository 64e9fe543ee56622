// Output that gathers for a moment: waking up is most of what a line costs, so the lines of a job
// that prints steadily share one wake-up, one read and two writes. Never where somebody watches,
// never so much that the pipe could fill, and never two streams at once: what gathered is read
// before the line of the other stream that wakes us, so that the log has them as they were written.
#pragma once

#include <cstddef>
#include <optional>

#include "apps/run_log.h"
#include "base/time.h"

namespace faultline {

class OutputGather {
 public:
  using Stream = RunLog::Stream;

  /// How late a line may be read, and be stamped. A tenth of the second within which the order of
  /// two nodes' lines is not trusted anyway, and too short for a person who follows a log.
  static constexpr Duration gather_time_max = std::chrono::milliseconds{100};
  /// A stream that brings so much at once could fill its pipe (1 MiB) while it gathers.
  static constexpr std::size_t bulk_bytes = 128 * 1024;
  /// A smaller pipe could fill with less than that.
  static constexpr int pipe_bytes_min = 4 * bulk_bytes;
  /// So long a stream with bulk is read as it comes. Should each burst hold the job up for a whole
  /// gather_time_max before it is noticed, that is less than 0.2 % of the time.
  static constexpr Duration bulk_time = std::chrono::seconds{60};

  /// This stream is always read as it comes.
  void never(Stream stream) { pace(stream).from = Duration::max(); }
  /// `stream` was read at `now` and had so many bytes. What follows may gather, if this came soon
  /// after what was before: a slow printer would only wake us twice a line.
  void read(Stream stream, std::size_t bytes, Duration now);

  /// The stream that is left alone at the moment. It is to be read at until(), or before anything
  /// else that wakes us.
  [[nodiscard]] std::optional<Stream> stream() const { return stream_; }
  [[nodiscard]] Duration until() const { return until_; }
  /// At each wake-up: nothing is left alone any more. The stream that was, if there is one.
  std::optional<Stream> end();
  /// What the last end() returned.
  [[nodiscard]] std::optional<Stream> gathered() const { return gathered_; }

 private:
  struct Pace {
    Duration from{0};  // before, it is read as it comes
    std::optional<Duration> last_read;
  };
  Pace& pace(Stream stream) { return stream == Stream::out ? out_ : err_; }

  std::optional<Stream> stream_;
  std::optional<Stream> gathered_;
  Duration until_{0};
  Pace out_;
  Pace err_;
};

}  // namespace faultline
