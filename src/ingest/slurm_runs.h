// Records of runs as Slurm's clients print them, and the events that they make. Shared by the
// decoders of sacct and scontrol.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/attempt.h"
#include "model/event.h"

namespace faultline {

/// One run of a job. `attempt.id.restart` is set by SlurmRuns.
struct SlurmRun {
  Attempt attempt;
  std::optional<std::uint32_t> restart;  // if the record says it
  bool ran = false;                      // it had nodes or a start
  std::string node_list;                 // as Slurm wrote it, "n[1-4]"
  std::string cancelled_by;
  std::string reason;
  std::string failed_node;  // that ended it, where Slurm says which
  std::string steps;        // "batch 1:0 n1; 0 0:9 n[1-4]"
  RawLine raw;
};

/// A step of a run.
struct SlurmStep {
  std::string name;  // "batch", "0"
  std::string exit;  // "0:9"
  std::optional<std::int32_t> exit_code;
  std::string node_list;
};

/// Splits "123_4", "123+1" into the parts that Attempt has; false if it is no id of one job, as the
/// tail of an array ("123_[5-9]") is none.
bool set_slurm_job(std::string_view id, Attempt& attempt);

/// Not thread-safe.
class SlurmRuns {
 public:
  void add(SlurmRun run);
  /// To the run of that job that was added last; false if there is none.
  bool add_step(const std::string& job, const SlurmStep& step);
  /// attempt_started and attempt_ended of every run, in the order in which they were added.
  [[nodiscard]] std::vector<Event> events() &&;

 private:
  void number_restarts();

  std::vector<SlurmRun> runs_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> of_job_;
  std::map<std::pair<std::string, Instant>, std::size_t> by_start_;
  std::map<std::string, std::size_t, std::less<>> last_;  // added, of each job
};

}  // namespace faultline
