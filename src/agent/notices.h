// What happens to a log again and again is said at once and then counted: one line of each kind in
// each interval. A job can do such things to its log as often as it likes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace faultline {

/// What one line stands for.
struct Tally {
  std::uint64_t times = 0;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

/// Not thread-safe; one for each log, of the agent's thread. It holds a tally of each kind: kinds
/// are the program's own words, never a log's.
class Notices {
 public:
  struct Due {
    std::string kind;
    Tally tally;
  };

  explicit Notices(Duration interval) : interval_(interval) {}

  void add(std::string_view kind, std::uint64_t lines, std::uint64_t bytes);
  /// What is to be said now; `now` is monotonic. What is held back comes with a later call.
  std::vector<Due> take_due(Duration now);
  /// Likewise, however long ago it was last said: there is no later.
  std::vector<Due> take_all();

 private:
  struct Kind {
    Tally held;
    std::optional<Duration> said_at;
  };
  std::vector<Due> take(std::optional<Duration> now);

  Duration interval_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace faultline
