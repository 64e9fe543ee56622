// Puts a job back without a node: Slurm takes a new exclusion only for a job that is not running,
// so the job is requeued into the held state, given the exclusion, tied to its other nodes where it
// can be (slurm_tie.h), and released. Interrupted at any point, running it again goes on from
// there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_requeue_rules.h"
#include "base/clock.h"
#include "model/action.h"

namespace faultline {

class SlurmRequeue {
 public:
  /// All must outlive it. One object carries out one action.
  SlurmRequeue(const SlurmCommand& command, const Clock& clock, const Action& action);

  Result<Outcome> execute();
  /// Looks only. unknown with retryable: begun and not finished, executing again finishes it.
  Result<Outcome> inspect();
  /// The commands for a job that runs now.
  [[nodiscard]] static std::vector<std::string> plan(const Action& action);

 private:
  enum class Progress { done, waiting, refused };
  struct Step {
    Progress progress = Progress::waiting;
    std::string detail;
  };

  Result<Step> advance_all();
  Status exclude_from_waiting_siblings(const std::vector<SlurmJob>& jobs);
  [[nodiscard]] Step without_target(const std::vector<SlurmJob>& jobs, const Step& siblings,
                                    const std::string& refusal) const;
  [[nodiscard]] Outcome inspect_without_target(const std::vector<SlurmJob>& jobs,
                                               const std::string& refusal) const;
  Result<Step> advance(const SlurmJob& job);
  Result<Step> advance_completing(const SlurmJob& job);
  Result<Step> advance_ended(const SlurmJob& job);
  Result<Step> advance_pending(const SlurmJob& job);
  Result<Step> advance_running(const SlurmJob& job);
  Result<Step> requeue(const SlurmJob& job);
  Status exclude(const SlurmJob& job);
  Status take_spares(const SlurmJob& job);
  Status tie(const SlurmJob& job);
  Result<Step> untie(const SlurmJob& job, Progress after);
  [[nodiscard]] bool is_put_back_tied(const SlurmJob& job) const;
  Result<Step> untie_alone(const SlurmJob& job);
  void mark(const SlurmJob& job);
  Status run(std::vector<std::string> argv);

  [[nodiscard]] bool is_set_up(const SlurmJob& job) const;
  [[nodiscard]] bool hold_is_ours(const SlurmJob& job) const;
  [[nodiscard]] bool is_our_requeue(const SlurmJob& job) const;
  [[nodiscard]] bool is_put_off(const SlurmJob& job) const;
  [[nodiscard]] bool may_be_tied(const SlurmJob& job) const;
  [[nodiscard]] bool tie_is_young(const SlurmJob& job) const;
  [[nodiscard]] Outcome outcome(OutcomeStatus status, std::string detail,
                                bool retryable = false) const;

  const SlurmCommand& command_;
  const Clock& clock_;
  const Action& action_;
  const SlurmRequeueRules rules_;
  Duration end_{};                              // of this life's try
  bool set_up_ = false;                         // in the latest look
  bool target_on_excluded_ = false;             // a component of it, in the latest look
  std::set<std::string> requeued_;              // leaders' or jobs' numbers requeued by this object
  std::map<std::string, Duration> pending_at_;  // by job number: since when it is off its nodes
  std::map<std::string, Duration> tied_at_;     // by job number
  std::set<std::string> supplied_;              // numbers of the jobs that spares were looked for
  std::string spare_trouble_;  // why no spare could be taken, "" if one was or none was needed
  std::vector<std::string> commands_;
};

}  // namespace faultline
