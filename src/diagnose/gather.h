// Streams of bytes -> the events in them. What a stream is follows from its content; each kind has
// its decoder in ingest.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "catalog/catalog.h"
#include "diagnose/conclude.h"
#include "diagnose/input.h"
#include "diagnose/log_databases.h"
#include "diagnose/printed_dates.h"
#include "ingest/content_kind.h"
#include "model/event.h"

namespace faultline {

/// A whole document (a dump, an answer of sacct) is held in memory while it is decoded.
inline constexpr std::size_t document_bytes_max = std::size_t{256} << 20U;
inline constexpr std::size_t read_bytes = std::size_t{1} << 20U;

/// One stream that was read.
struct ReadFile {
  InputFile file;
  ContentKind kind = ContentKind::empty;
  std::uint64_t bytes = 0;
  std::size_t events = 0;
  std::size_t held = 0;      // of the events that were gathered, in the order of the files
  std::size_t left_out = 0;  // of those that share a limit with the other files (event_shares.h)
  PrintedDates dates;
  std::vector<std::string> nodes;  // of a job that prints on which it runs
  bool understood = false;         // its kind is read, and it is what it began as
};

class EventShares;

struct Gathered {
  std::vector<ReadFile> files;
  std::vector<Event> events;  // in the order of the files and their lines
  std::size_t sharing = 0;    // of them, those that share a limit (event_shares.h)
  /// To which all files were thinned last.
  std::size_t share = std::numeric_limits<std::size_t>::max();
  LineNumbers lines;
  std::vector<InputWarning> warnings;
};

/// One for each thread; all of one diagnosis share databases, counters and what events they may
/// keep.
class Gatherer {
 public:
  /// `now` is when it is read: for dates without a year in files without a time.
  /// `progress`, if there is one, is told of so many bytes more, again and again.
  Gatherer(const LogDatabases& databases, Counters& counters, EventShares& shares, Instant now,
           std::function<void(std::size_t)> progress = {})
      : databases_(databases),
        counters_(counters),
        shares_(shares),
        now_(now),
        progress_(std::move(progress)) {}

  void read(const InputFile& file, InputReader& reader);
  void warn(InputWarning warning) { gathered_.warnings.push_back(std::move(warning)); }
  [[nodiscard]] Gathered take() { return std::exchange(gathered_, {}); }

 private:
  /// A whole stream, or what one command of a terminal session printed (shell_prompt.h).
  struct Stretch {
    std::uint64_t offset = 0, lines_before = 0;  // in the stream
    bool of_session = false;
    PrintedDates dates;
  };
  void decode(const InputFile& file, std::string_view head, const Stretch& stretch,
              InputReader& rest);

  const LogDatabases& databases_;
  Counters& counters_;
  EventShares& shares_;
  Instant now_;
  std::function<void(std::size_t)> progress_;
  Gathered gathered_;
  std::string buffer_;
};

/// Appends `from` to `into`.
void merge(Gathered& into, Gathered from);

}  // namespace faultline
