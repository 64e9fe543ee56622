#include "act/executor.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr Duration backoff_first = std::chrono::milliseconds{250};
constexpr Duration backoff_max = std::chrono::seconds{4};

Outcome make_outcome(const Action& action, OutcomeStatus status, Instant at, std::string detail,
                     bool retryable = false) {
  return {action.id, status, at, std::move(detail), {}, retryable};
}

/// Errors that say that nothing was changed and that later may be better.
bool changed_nothing(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::exhausted;
}

/// Errors that leave open whether it happened.
bool leaves_open(ErrorCode code) {
  return code == ErrorCode::deadline_exceeded || code == ErrorCode::internal;
}

Outcome outcome_of(const Action& action, const Error& error, Instant at) {
  if (leaves_open(error.code))
    return make_outcome(action, OutcomeStatus::unknown, at, error.message);
  return make_outcome(action, OutcomeStatus::failed, at, error.message,
                      changed_nothing(error.code));
}

bool begun(const Outcome& outcome) {
  return outcome.status == OutcomeStatus::unknown && outcome.retryable;
}

bool did_not_happen(const Outcome& outcome) {
  return outcome.status == OutcomeStatus::failed && outcome.retryable;
}

}  // namespace

Executor::Executor(Journal& journal, Actuator& actuator, const Clock& clock, Counters& counters,
                   Duration recovery_window)
    : journal_(journal),
      actuator_(actuator),
      clock_(clock),
      counters_(counters),
      recovery_window_(recovery_window) {}

Outcome Executor::run(const Action& action) {
  if (action.dry_run) {
    const auto outcome = actuator_.execute(action);
    counters_.add("act_dry_runs_total");
    return outcome ? *outcome : outcome_of(action, outcome.error(), clock_.now());
  }
  const auto intent = journal_.record_intent(action);
  if (!intent && intent.error().code == ErrorCode::conflict) {
    counters_.add("act_duplicates_total");
    return settle(action);
  }
  if (!intent) {
    // No act without a durable intent: after a crash nobody would know of it.
    counters_.add("act_journal_errors_total");
    return make_outcome(
        action, OutcomeStatus::failed, clock_.now(),
        "not carried out, the intent could not be written: " + intent.error().message, true);
  }
  Outcome outcome = execute_with_retries(action);
  journal_outcome(outcome);
  return outcome;
}

std::vector<Outcome> Executor::recover(Work work, const Asks& wanted, const Asks& may_not) {
  std::vector<Outcome> outcomes;
  const auto open = journal_.open_intents();
  if (!open) {
    counters_.add("act_journal_errors_total");
    return outcomes;
  }
  for (const auto& action : *open) {
    if (work_of(action.kind) != work || (may_not && may_not(action))) continue;
    Outcome outcome = settle(action);
    const auto intended_at = journal_.intended_at(action.id);
    const bool in_time =
        intended_at && clock_.now() - *intended_at <= std::max(action.deadline, recovery_window_);
    // What was begun is finished at any time: a job must not stay held half way.
    if (did_not_happen(outcome) && wanted && !wanted(action)) {
      outcome.retryable = false;
      outcome.detail = "not carried out: what it was for was taken back meanwhile";
    } else if (begun(outcome) || (did_not_happen(outcome) && in_time)) {
      outcome = execute_with_retries(action);
    } else if (did_not_happen(outcome)) {
      outcome.retryable = false;
      // A failed test would say that the node is broken.
      if (work == Work::tests) outcome.status = OutcomeStatus::unknown;
      outcome.detail = "not carried out, its deadline of " + to_text(action.deadline) +
                       " has passed: " + outcome.detail;
      counters_.add("act_deadlines_passed_total");
    }
    journal_outcome(outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Outcome Executor::execute_with_retries(const Action& action) {
  const Duration end = clock_.monotonic() + action.deadline;
  Duration pause = backoff_first;
  for (int attempt = 1;; ++attempt) {
    const auto result = actuator_.execute(action);
    Outcome outcome = result ? *result : outcome_of(action, result.error(), clock_.now());
    if (outcome.status == OutcomeStatus::unknown) {
      counters_.add("act_unknown_outcomes_total");
      if (work_of(action.kind) == Work::tests) return outcome;  // nothing is left to look at
      outcome = settle(action);
    }
    if (!did_not_happen(outcome) && !begun(outcome)) return outcome;
    if (attempt >= execute_attempts_max || clock_.monotonic() + pause >= end) {
      outcome.detail += " (after " + std::to_string(attempt) + (attempt == 1 ? " try)" : " tries)");
      return outcome;
    }
    counters_.add("act_retries_total");
    clock_.sleep(pause);
    pause = std::min(pause * 2, backoff_max);
  }
}

/// Asks whether it happened. An answer that cannot be had is unknown, never a failure; a test
/// without a result stays open.
Outcome Executor::settle(const Action& action) {
  const auto result = actuator_.inspect(action);
  if (result) return *result;
  const bool test = work_of(action.kind) == Work::tests;
  return make_outcome(action, test ? OutcomeStatus::failed : OutcomeStatus::unknown, clock_.now(),
                      "could not be looked at: " + result.error().message, test);
}

void Executor::journal_outcome(const Outcome& outcome) {
  // The act stands whatever the journal says; the intent stays open and is settled by the next
  // recover().
  if (!journal_.record_outcome(outcome)) counters_.add("act_journal_errors_total");
}

}  // namespace faultline
