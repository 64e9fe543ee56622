// LocalCluster: a scheduler in a folder, for one machine. Its nodes are names, its jobs are
// processes of this machine, and spares stand in for nodes that are taken out. It is what
// `faultline serve --scheduler local` watches and acts on.
//
// The folder is the whole truth: cluster.json (nodes, jobs, attempts), inbox/ (what people ask
// for), jobs/ (outputs and exit codes). Jobs do not belong to the process that started them: each
// runs below a keeper of its own that outlives a restart of the controller and writes the exit code
// down, so that the next life finds the job and its end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "act/actuator.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/ports.h"

namespace faultline {

struct LocalOptions {
  std::string state;                         // the folder that `faultline local init` made
  Duration grace = std::chrono::seconds{5};  // between SIGTERM and SIGKILL of a job
  std::vector<std::string>
      test_command;  // run with FAULTLINE_NODE=name; exit 0: the node is fit. Empty: no test
  std::string program = "/proc/self/exe";  // has the verb `local-keeper`; a test names another
};

class LocalCluster final : public Scheduler, public Actuator {
 public:
  /// Touches nothing yet. The clock and the counters must outlive the cluster.
  LocalCluster(LocalOptions options, const Clock& clock, Counters& counters);
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;
  /// Lets go of the folder; jobs go on.
  ~LocalCluster() override;

  /// Takes the folder: not_found, corrupt, or conflict if another controller has it. view() and the
  /// actuator do it by themselves; a program calls it first to fail early.
  Status open();

  /// Does the housekeeping as well: takes requests, notices ends, starts what can run. Any thread.
  Result<ClusterView> view() override;

  /// Any thread; a requeue blocks until the old attempt is gone, at most the action's deadline.
  Result<Outcome> execute(const Action& action) override;
  Result<Outcome> inspect(const Action& action) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace faultline
