// What is open again although it ended well: the next look at the open intents finishes it.
#include <spdlog/spdlog.h>

#include "base/contains.h"
#include "base/text.h"
#include "controller/controller.h"

namespace faultline {
namespace {

constexpr std::size_t id_bytes_max = 100;  // in a line of the log

}  // namespace

/// The scheduler put a job back by itself, with what the act could not take off it while it ran.
void Controller::reopen_half_done(const std::vector<ActionId>& acts) {
  if (options_.mode == Mode::observe) return;
  std::erase_if(unknown_acts_, [&](const ActionId& id) { return !contains(acts, id); });
  for (const auto& id : acts) {
    const auto record = store_.action(id);
    if (!record) {
      note_store(record.error(), "half-done act");
    } else if (!*record) {
      note_unknown_act(id);
    } else if (reopen_half_done(id)) {
      settle_soon(work_of((*record)->action.kind));
    }
  }
}

/// Of another store, perhaps. Once, and not as often as the scheduler shows it.
void Controller::note_unknown_act(const ActionId& id) {
  if (!unknown_acts_.insert(id).second) return;
  counters_.add("controller_half_done_unknown_total");
  spdlog::warn("the scheduler shows {} half done, and the store knows no such act: left alone",
               printable(id, id_bytes_max));
}

bool Controller::reopen_half_done(const ActionId& id) {
  const auto reopened = store_.reopen_action(id, clock_.now());
  // It is still on its way.
  if (!reopened && reopened.error().code == ErrorCode::conflict) return false;
  note_store(reopened, "half-done act");
  if (!reopened) return false;
  counters_.add("controller_half_done_total");
  spdlog::info("the scheduler shows {} half done; finishing it", id);
  return true;
}

void Controller::settle_soon(Work work) {
  const std::lock_guard lock(mutex_);
  line_of(work).settle_now = true;
  line_of(work).wake.notify_one();
}

}  // namespace faultline
