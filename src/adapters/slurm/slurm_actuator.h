// SlurmActuator: drains, requeues, holds and returns through scontrol. It looks before it acts and
// again afterwards; what somebody else drained, held or reserved it leaves alone.
//
// Known window: between the look before a drain and scontrol's update (some 10 ms) an operator may
// drain the same node. Slurm keeps one reason and has no compare-and-set, so theirs would be
// replaced; a later one of theirs is kept.
#pragma once

#include <string>
#include <vector>

#include "act/actuator.h"
#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "base/clock.h"
#include "base/counters.h"

namespace faultline {

class SlurmActuator final : public Actuator {
 public:
  /// The clock and counters must outlive the actuator. Thread-safe: it keeps no state of its own.
  SlurmActuator(const SlurmOptions& options, const Clock& clock, Counters& counters);
  SlurmActuator(SlurmOptions options, const Clock& clock, Counters& counters, CommandRunner runner);

  Result<Outcome> execute(const Action& action) override;
  Result<Outcome> inspect(const Action& action) override;

 private:
  Result<Outcome> drain(const Action& action);
  Result<Outcome> return_node(const Action& action);
  Result<Outcome> test(const Action& action);
  Result<Outcome> hold(const Action& action);
  Result<Outcome> inspect_drain(const Action& action);
  Result<Outcome> inspect_return(const Action& action);
  Result<Outcome> inspect_hold(const Action& action);
  [[nodiscard]] Outcome dry_run(const Action& action) const;
  [[nodiscard]] Outcome not_now(const Action& action, std::string detail) const;
  [[nodiscard]] Outcome outcome(const Action& action, OutcomeStatus status,
                                std::string detail) const;

  SlurmCommand command_;
  const Clock& clock_;
  Counters& counters_;
};

}  // namespace faultline
