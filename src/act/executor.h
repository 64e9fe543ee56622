// Executor: carries actions out once. Intent, act, outcome; unknown is settled by asking; failures
// that changed nothing are retried with back-off up to a named limit. A node test leaves nothing to
// ask for: one that was interrupted is run again, and in the end it has no result, which is
// unknown.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "act/actuator.h"
#include "act/journal.h"
#include "base/clock.h"
#include "base/counters.h"

namespace faultline {

inline constexpr int execute_attempts_max = 5;

/// Each kind of work has a thread of its own: a drain takes a moment and waits neither for a
/// requeue, which may take a minute, nor for a site's node test, which takes minutes. What concerns
/// one node, or one job, is one kind of work, so that it stays in order.
enum class Work { nodes, jobs, tests };
inline constexpr std::array all_work = {Work::nodes, Work::jobs, Work::tests};
inline Work work_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::requeue_excluding:
    case ActionKind::hold_job: return Work::jobs;
    case ActionKind::test_node: return Work::tests;
    case ActionKind::drain_node:
    case ActionKind::return_node:
    case ActionKind::notify: return Work::nodes;
  }
  return Work::nodes;
}

class Executor {
 public:
  /// All must outlive the executor.
  /// `recovery_window`: an intent that did not happen is still carried out by recover() this long
  /// after it was recorded, if that is longer than the action's own deadline; a scheduler that
  /// restarts must not cost a drain.
  Executor(Journal& journal, Actuator& actuator, const Clock& clock, Counters& counters,
           Duration recovery_window = Duration{0});

  /// Journals the intent and executes; a dry run journals nothing and reports the commands. Returns
  /// the outcome, which is journalled too. An action already journalled is inspected instead of
  /// repeated. Several threads may run different actions.
  Outcome run(const Action& action);

  /// Settles what an earlier life left open: inspects each open intent, executes those that did not
  /// happen and are still within their deadline, finishes those that were begun whatever their
  /// deadline, and journals the rest as failed with the reason. Returns their outcomes. Cheap when
  /// nothing is open: call it at start and again every minute or so. Each kind of work is for the
  /// thread that runs it: the others' are not open but under way.
  /// What is no longer `wanted` (its verdict was taken back meanwhile) is not begun. What this life
  /// `may_not` carry out is left as it is.
  using Asks = std::function<bool(const Action&)>;
  std::vector<Outcome> recover(Work work = Work::nodes, const Asks& wanted = {},
                               const Asks& may_not = {});

 private:
  Outcome execute_with_retries(const Action& action);
  Outcome settle(const Action& action);
  void journal_outcome(const Outcome& outcome);

  Journal& journal_;
  Actuator& actuator_;
  const Clock& clock_;
  Counters& counters_;
  Duration recovery_window_;
};

}  // namespace faultline
