// The one place where a scheduler adapter is chosen.
#pragma once

#include <memory>

#include "act/actuator.h"
#include "apps/serve_command.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/ports.h"

namespace faultline {

class SchedulerChoice {
 public:
  virtual ~SchedulerChoice() = default;
  virtual Scheduler& scheduler() = 0;
  virtual Actuator& actuator() = 0;
};

/// slurm or local, by options.scheduler. invalid_argument for anything else, or when what it needs
/// is not given.
Result<std::unique_ptr<SchedulerChoice>> choose_scheduler(const ServeOptions& options,
                                                          const Clock& clock, Counters& counters);

/// nullptr without webhooks.
Result<std::unique_ptr<Notifier>> make_notifier(const ServeOptions& options, const Clock& clock,
                                                Counters& counters);

}  // namespace faultline
