// What one look at the jobs means for a requeue: which of them it concerns, and what each lacks.
// Nothing here changes anything.
#pragma once

#include <string>
#include <vector>

#include "adapters/slurm/slurm_documents.h"
#include "model/action.h"

namespace faultline {

/// Why Slurm will not run the job again, "" if it will.
std::string why_not_again(const SlurmJob& job);
std::string where_it_runs(const SlurmJob& job);

class SlurmRequeueRules {
 public:
  /// `action` must outlive it.
  explicit SlurmRequeueRules(const Action& action) : action_(action) {}

  /// Any component stands for the whole heterogeneous set.
  [[nodiscard]] bool is_target(const SlurmJob& job) const;
  [[nodiscard]] bool excludes(const SlurmJob& job) const;
  /// The job's own exclusions and the action's.
  [[nodiscard]] std::vector<std::string> merged_exclusions(const SlurmJob& job) const;
  [[nodiscard]] bool on_excluded_node(const SlurmJob& job) const;
  /// Those of the action's nodes that the job's own user asked for; "" if none.
  [[nodiscard]] std::string asked_for(const SlurmJob& job) const;

  /// A waiting task of the same array that could still be put on one of the nodes.
  [[nodiscard]] bool lacks_exclusion(const SlurmJob& job) const;
  /// A task of the same array that runs on one of the nodes and can be requeued.
  [[nodiscard]] bool is_brought_away(const SlurmJob& job) const;
  /// A task that was requeued may stand for a moment in the one record of the tasks that wait; it
  /// is held then, and must not be left so.
  [[nodiscard]] bool stands_in_tail(const std::vector<SlurmJob>& jobs) const;
  /// Which tasks of the array go on without the nodes; "" if none does.
  [[nodiscard]] std::string kept_away(const std::vector<SlurmJob>& jobs) const;
  /// Which tasks of the array run on the nodes and have to stay there, and why.
  [[nodiscard]] std::string staying(const std::vector<SlurmJob>& jobs) const;

 private:
  const Action& action_;
};

}  // namespace faultline
