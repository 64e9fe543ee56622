// One Slurm client command: run, and its failure put into a class that says whether trying again
// can help.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/process/process.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

struct SlurmOptions {
  std::string bin_folder;  // of scontrol, squeue, sinfo; "" = search the usual folders
  std::string conf;  // slurm.conf; "" = the SLURM_CONF of our own environment, or Slurm's default
  /// Idle nodes that count as spares: of this reservation, or with this feature. Both empty: every
  /// idle node.
  std::string spare_reservation;
  std::string spare_feature;
  std::vector<std::string>
      test_command;  // the site's own node test; the node's name is in FAULTLINE_NODE
  Duration command_deadline{std::chrono::seconds{10}};  // of one client command
  Duration poll_interval{std::chrono::milliseconds{100}};
  /// A job that is released sooner after it left its nodes may meet its own revoked credential
  /// there, and die.
  Duration requeue_settle{std::chrono::milliseconds{1500}};
  /// How long a released job is kept tied to the nodes that it had. A scheduler of a busy site
  /// looks every few seconds; what is not free then is somebody else's.
  Duration placement_wait{std::chrono::seconds{5}};
};

/// Runs a command line within a deadline; `extra_environment` is NAME=VALUE. A seam for tests.
using CommandRunner =
    std::function<Result<ProcessResult>(const std::vector<std::string>& argv, Duration deadline,
                                        const std::vector<std::string>& extra_environment)>;

/// The real one, with Slurm's variables of our own environment and no others.
CommandRunner process_runner(const SlurmOptions& options);

/// What an error text of a Slurm client means:
///   unavailable        slurmctld was not reached; nothing was changed
///   deadline_exceeded  it was reached or may have been; whether it happened is unknown
///   not_found, permission_denied, conflict, invalid_argument   it refused
ErrorCode classify_slurm_error(std::string_view text);

/// Runs scontrol, squeue, sinfo. Holds no state; thread-safe if the runner is.
class SlurmCommand {
 public:
  SlurmCommand(SlurmOptions options, CommandRunner runner);

  /// argv without the folder, e.g. {"scontrol", "show", "topology"}. Returns stdout. The deadline
  /// is that of the options, or `deadline`.
  [[nodiscard]] Result<std::string> run(std::vector<std::string> argv,
                                        std::optional<Duration> deadline = {}) const;
  /// The same with a deadline and an environment of its own; the exit code is the caller's
  /// business.
  [[nodiscard]] Result<ProcessResult> run_foreign(
      const std::vector<std::string>& argv, Duration deadline,
      const std::vector<std::string>& environment) const;
  [[nodiscard]] const SlurmOptions& options() const { return options_; }

 private:
  SlurmOptions options_;
  CommandRunner runner_;
};

}  // namespace faultline
