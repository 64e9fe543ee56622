// What is open again although it ended well: the next look at the open intents finishes it.
#include <spdlog/spdlog.h>

#include "controller/controller.h"

namespace faultline {

/// The scheduler put a job back by itself, with what the act could not take off it while it ran.
void Controller::reopen_half_done(const std::vector<ActionId>& acts) {
  if (options_.mode == Mode::observe) return;
  for (const auto& id : acts) {
    const auto record = store_.action(id);
    if (record && !*record) counters_.add("controller_half_done_unknown_total");
    if (!record || !*record) continue;
    // Refused while it is still on its way.
    if (!store_.reopen_action(id, clock_.now())) continue;
    counters_.add("controller_half_done_total");
    spdlog::info("the scheduler shows {} half done; finishing it", id);
    settle_soon(work_of((*record)->action.kind));
  }
}

void Controller::settle_soon(Work work) {
  const std::lock_guard lock(mutex_);
  line_of(work).settle_now = true;
  line_of(work).wake.notify_one();
}

}  // namespace faultline
