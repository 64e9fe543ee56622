// The controller's memory of what was decided, done and asked for: ActionHistory kept current from
// the store, and the intent journal bound to it.
#pragma once

#include <optional>

#include "act/journal.h"
#include "base/clock.h"
#include "model/cluster_view.h"
#include "store/store.h"

namespace faultline {

/// act's Journal on the store.
class StoreJournal final : public Journal {
 public:
  StoreJournal(Store& store, const Clock& clock) : store_(store), clock_(clock) {}
  Status record_intent(const Action& action) override {
    return store_.record_intent(action, clock_.now());
  }
  Status record_outcome(const Outcome& outcome) override { return store_.record_outcome(outcome); }
  Result<std::vector<Action>> open_intents() override { return store_.open_intents(); }
  std::optional<Instant> intended_at(const ActionId& id) override;

 private:
  Store& store_;
  const Clock& clock_;
};

/// Reads the history that policy needs: actions decided since `since`, and the people's answers.
Result<ActionHistory> load_history(Store& store, Instant since);

/// The silences that hold at `now`, as the store has them.
Result<std::vector<Silence>> load_silences(Store& store, Instant now);

/// What a person said about a decision; the last word counts.
void remember_answer(ActionHistory& history, bool approved, const std::string& decision,
                     const std::string& who);

/// Sets the outcome of the newest entry of this action.
void set_outcome(ActionHistory& history, const Outcome& outcome);

/// Drops entries that no guard looks at any more.
void forget_old(ActionHistory& history, Instant before);

}  // namespace faultline
