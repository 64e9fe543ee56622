// torchrun's table of failures, one of each node's agent: an entry for each process, with "time",
// "host", "rank", "exitcode" and "traceback" on lines of their own. Alone they say nothing;
// together they say which rank ended how. Hydra's and Open MPI's boxes are read in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/event.h"

namespace faultline {

/// Not thread-safe; one for each log.
class LauncherTable {
 public:
  /// For the event of a row, which has fields `field` and `value`. The last row of an entry,
  /// "traceback" ("msg" in PyTorch 1.9), gets what the rows before it said: `time`, `rank`,
  /// `local_rank`, `host` (not "localhost"), `exit_code`, `pid`, and `first_failure` = "1" for the
  /// entry that the launcher calls the root cause. True if the event is told by that row and must
  /// not be given.
  bool take(Event& event);

  /// For every other line that hit.
  void pass(std::string_view body);

  /// True for a "hostname:" that does not stand right below Open MPI's words about a lost daemon:
  /// it is anybody's, and must not be given.
  [[nodiscard]] bool is_stray_name(const Event& event);

  /// Gives a line of the traceback that the last row began the `rank`, `local_rank` and `host` of
  /// its entry; and to what Hydra, which writes a box of its own, says of how a process ended,
  /// which it was. To be called for lines that `pass` has seen.
  void place(std::string_view body, Event& event);

 private:
  void keep_place();

  Fields entry_;
  Fields failed_;           // whose traceback follows, or whose end
  std::string_view frame_;  // how the lines begin that follow
  std::string label_;  // the rank that stands before the table's lines, as srun -l puts it there
  bool next_is_first_ = false;
  std::optional<std::uint64_t> lost_daemon_at_;  // where Open MPI's words about one stand
};

/// True if the event is a row of such a table.
bool is_table_row(const Event& event);

/// When it happened by the event's own words, "2026-11-29_19:50:25" of a table or slurmstepd's
/// "2026-11-29T19:50:25", in the second form; "" if they say none. Every agent prints a table of
/// its own node, so that these times alone put the tables of a job in order.
std::string told_time(const Event& event);

}  // namespace faultline
