// What cluster.json holds: the nodes, the tasks (a job, or one task of an array) and the attempts
// of each. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/process/process.h"
#include "base/result.h"
#include "base/time.h"
#include "model/attempt.h"

namespace faultline {

struct LocalNode {
  std::string name;
  bool spare = false;  // takes part only when the others do not suffice, or in the place of one
                       // that was taken out
  bool drained = false;
  std::string drain_reason;
  std::string drain_owner;
};

struct LocalAttempt {
  std::uint32_t restart = 0;
  AttemptState state = AttemptState::pending;
  Instant started_at;
  Instant ended_at;
  std::vector<std::string> nodes;  // in the order of the ranks
  std::optional<std::int32_t> exit_code;
  std::optional<ProcessId> keeper;  // empty while running: it was about to be started
  Instant stop_asked_at;            // when the keeper was told to end the job
  std::string detail;               // "its keeper was killed; the exit code is lost"
};

inline bool live(const LocalAttempt& attempt) {
  return attempt.state == AttemptState::running || attempt.state == AttemptState::completing;
}

struct LocalTask {
  std::string job;        // "7", or "7_2" for a task of an array
  std::string array_job;  // "7" for "7_2", else ""
  std::uint32_t array_task = 0;
  std::uint32_t array_limit = 0;  // tasks of the array that may run at once; 0: all
  std::string name;
  std::string user;
  std::uint32_t node_count = 1;
  std::vector<std::string> excluded;
  std::string held_by;  // "" while it may start
  bool cancelled = false;
  std::string requeued_by;  // the action that is stopping its latest attempt, "" if none
  std::vector<std::string> requeue_acts;  // actions that requeued it, newest last
  Instant submitted_at;
  std::vector<LocalAttempt> attempts;  // never empty; the last is the one that counts

  [[nodiscard]] const LocalAttempt& latest() const { return attempts.back(); }
  [[nodiscard]] LocalAttempt& latest() { return attempts.back(); }
  /// The number that the whole array shares.
  [[nodiscard]] const std::string& base_job() const { return array_job.empty() ? job : array_job; }
  [[nodiscard]] bool excludes(std::string_view node) const;
  void exclude(const std::vector<std::string>& nodes);
  [[nodiscard]] bool latest_on_any(const std::vector<std::string>& nodes) const;
};

struct LocalState {
  std::vector<LocalNode> nodes;
  std::vector<LocalTask> tasks;  // in the order of their submission

  [[nodiscard]] LocalNode* node(std::string_view name);
  [[nodiscard]] const LocalNode* node(std::string_view name) const;
  [[nodiscard]] LocalTask* task(std::string_view job);
  [[nodiscard]] const LocalTask* task(std::string_view job) const;
  /// The tasks of an array by its number, or the one task of that id.
  [[nodiscard]] std::vector<LocalTask*> tasks_of(std::string_view job);
  /// Node name -> job that runs on it.
  [[nodiscard]] std::map<std::string, std::string, std::less<>> busy_nodes() const;
  [[nodiscard]] std::uint64_t highest_job() const;
};

std::string state_text(const LocalState& state);
/// corrupt, with the key that is wrong, for anything that state_text cannot have written.
Result<LocalState> parse_state(std::string_view text);

}  // namespace faultline
