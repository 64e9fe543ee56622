// LocalJobs: starts and ends the keepers of attempts, and finds out what became of them. All it
// knows is in the folder and in the attempt, so that a next life goes on where this one ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/local/attempt_files.h"
#include "adapters/local/local_state.h"
#include "adapters/local/state_folder.h"
#include "base/clock.h"
#include "base/counters.h"

namespace faultline {

class LocalJobs {
 public:
  LocalJobs(const StateFolder& folder, std::string program, Duration grace, const Clock& clock,
            Counters& counters);

  /// Before an attempt is written down as begun: removes what an older cluster in the same folder
  /// may have left of one of the same name.
  void clear(const LocalTask& task);
  /// Starts the keeper of the task's latest attempt and writes it into the attempt. An error ends
  /// the attempt.
  Status start(LocalTask& task);
  /// The end of the latest attempt, or nullopt while it runs.
  std::optional<LocalEnd> look(LocalTask& task);
  /// Asks the keeper to end the job; asked long enough ago, ends both by force. Call it again until
  /// look() sees the end.
  void stop(LocalTask& task);
  /// Removes the files of attempts that are forgotten; the outputs stay.
  void forget(const LocalTask& task);
  /// Takes leave of keepers that are ending.
  void reap();

 private:
  [[nodiscard]] std::filesystem::path file(const LocalTask& task, std::string_view suffix) const;
  [[nodiscard]] std::optional<RunFile> run_file(const LocalTask& task) const;
  [[nodiscard]] std::optional<LocalEnd> exit_file(const LocalTask& task) const;
  Result<LaunchFile> launch_of(const LocalTask& task) const;

  const StateFolder& folder_;
  std::string program_;
  Duration grace_;
  const Clock& clock_;
  Counters& counters_;
  std::vector<ProcessId> leaving_;
};

}  // namespace faultline
