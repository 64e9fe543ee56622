// SlurmScheduler: the cluster as slurmctld sees it, from sinfo, squeue and scontrol. Needs no
// slurmdbd; where there is one, sacct tells the end of attempts that slurmctld has forgotten.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "adapters/slurm/slurm_accounting.h"
#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/ports.h"

namespace faultline {

inline constexpr std::size_t remembered_attempts_max = 2000;
inline constexpr Duration remembered_attempts_age_max = std::chrono::hours{1};
inline constexpr Duration topology_age_max = std::chrono::minutes{5};

inline constexpr int json_failures_max = 3;

class SlurmScheduler final : public Scheduler {
 public:
  /// The clock and counters must outlive the scheduler. `runner` is for tests.
  SlurmScheduler(const SlurmOptions& options, const Clock& clock, Counters& counters);
  SlurmScheduler(SlurmOptions options, const Clock& clock, Counters& counters,
                 CommandRunner runner);

  SlurmScheduler(const SlurmScheduler&) = delete;
  SlurmScheduler& operator=(const SlurmScheduler&) = delete;

  /// Not thread-safe: it remembers earlier attempts, as slurmctld forgets them with the requeue.
  Result<ClusterView> view() override;
  /// The moment at which the slurmctld that answers was started; a backup has one of its own.
  Result<std::string> daemon_id() override;

 private:
  Status find_version();
  Result<std::vector<SlurmNode>> read_nodes();
  Result<std::vector<SlurmJob>> read_jobs();
  template <class Value, class Parse, class AsText>
  Result<std::vector<Value>> read(const std::vector<std::string>& argv, Parse parse,
                                  AsText as_text);
  void read_topology();
  void add_nodes(std::vector<SlurmNode>&& nodes, ClusterView& view);
  void add_attempts(const std::vector<SlurmJob>& jobs, ClusterView& view);
  void add_forgotten(const std::map<std::string, Attempt, std::less<>>& listed);
  void remember_ended(Attempt attempt, Instant now);

  SlurmCommand command_;
  const Clock& clock_;
  Counters& counters_;
  SlurmAccounting accounting_;
  std::string version_;
  bool new_json_ =
      false;  // 23.02 and later: scontrol --json; sinfo --json means something else there
  int json_failures_ =
      0;  // in a row while text worked; at the limit JSON is not asked for any more
  Instant topology_read_at_;
  std::map<std::string, std::string> leaf_switch_;
  std::map<std::string, Attempt, std::less<>> current_;  // by job: its latest attempt
  std::deque<Attempt> earlier_;                          // attempts that a requeue ended
};

}  // namespace faultline
