#include "act/executor.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant start{std::chrono::hours{24 * 365 * 50}};

/// Where a controller can be killed: the test abandons it there by throwing.
struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

/// Durable: survives the executor.
class FakeJournal final : public Journal {
 public:
  explicit FakeJournal(const Clock& clock) : clock_(clock) {}

  Status record_intent(const Action& action) override {
    if (on_intent) on_intent();
    if (fail_writes) return Error{ErrorCode::unavailable, "disk full"};
    if (find(action.id) != nullptr) return Error{ErrorCode::conflict, "journalled already"};
    records.push_back({action, clock_.now(), {}});
    if (after_intent) after_intent();
    return ok_status();
  }
  Status record_outcome(const Outcome& outcome) override {
    if (on_outcome) on_outcome();
    if (fail_writes) return Error{ErrorCode::unavailable, "disk full"};
    auto* record = find(outcome.action);
    if (record == nullptr) return Error{ErrorCode::not_found, "no intent"};
    if (!final(*record)) record->outcome = outcome;
    return ok_status();
  }
  Result<std::vector<Action>> open_intents() override {
    std::vector<Action> open;
    for (const auto& record : records) {
      if (!final(record)) open.push_back(record.action);
    }
    return open;
  }
  std::optional<Instant> intended_at(const ActionId& action) override {
    const auto* record = find(action);
    return record != nullptr && knows_times ? std::optional(record->at) : std::nullopt;
  }

  struct Record {
    Action action;
    Instant at;
    std::optional<Outcome> outcome;
  };
  static bool final(const Record& record) {
    const auto& outcome = record.outcome;
    if (!outcome || outcome->retryable) return false;
    return outcome->status != OutcomeStatus::unknown || work_of(record.action.kind) == Work::tests;
  }
  Record* find(const ActionId& id) {
    for (auto& record : records) {
      if (record.action.id == id) return &record;
    }
    return nullptr;
  }

  std::vector<Record> records;
  bool fail_writes = false;
  bool knows_times = true;
  std::function<void()> on_intent;
  std::function<void()> after_intent;
  std::function<void()> on_outcome;

 private:
  const Clock& clock_;
};

/// A cluster that counts how often each act took effect.
class FakeActuator final : public Actuator {
 public:
  Result<Outcome> execute(const Action& action) override {
    ++executes;
    if (before_effect) before_effect();
    if (!answers.empty()) {
      auto answer = answers.front();
      answers.pop_front();
      if (answer.effect) apply(action);
      if (answer.error) return *answer.error;
      if (answer.outcome) {
        answer.outcome->action = action.id;
        return *answer.outcome;
      }
    } else if (!action.dry_run) {
      apply(action);
    }
    if (after_effect) after_effect();
    Outcome outcome{action.id, OutcomeStatus::done, {}, "done", {"command"}, false};
    return outcome;
  }
  Result<Outcome> inspect(const Action& action) override {
    ++inspects;
    if (inspect_error) return *inspect_error;
    if (half_done.contains(action.id))
      return Outcome{action.id, OutcomeStatus::unknown, {}, "half done", {}, true};
    const bool there = effects[action.id] > 0;
    return Outcome{action.id, there ? OutcomeStatus::done : OutcomeStatus::failed, {}, "looked", {},
                   !there};
  }

  struct Answer {
    bool effect = false;
    std::optional<Error> error;
    std::optional<Outcome> outcome;
  };
  std::deque<Answer> answers;
  std::map<ActionId, int> effects;
  std::set<ActionId> half_done;
  std::optional<Error> inspect_error;
  std::function<void()> before_effect;
  std::function<void()> after_effect;
  int executes = 0;
  int inspects = 0;

 private:
  void apply(const Action& action) {
    // Idempotent by id, as the port demands: a second time changes nothing.
    ++effects[action.id];
    half_done.erase(action.id);
  }
};

class ExecutorTest : public ::testing::Test {
 protected:
  Executor executor() { return {journal_, actuator_, clock_, counters_}; }
  static Action action(const std::string& id = "a-1") {
    Action action;
    action.id = id;
    action.kind = ActionKind::drain_node;
    action.subject = Subject::of_node("n3");
    action.dry_run = false;
    return action;
  }
  static Outcome failed(bool retryable) {
    return {"", OutcomeStatus::failed, {}, "no", {}, retryable};
  }
  static Outcome unknown() { return {"", OutcomeStatus::unknown, {}, "?", {}, false}; }
  std::optional<Outcome> journalled() {
    return journal_.records.empty() ? std::nullopt : journal_.records[0].outcome;
  }

  ManualClock clock_{start};
  Counters counters_;
  FakeJournal journal_{clock_};
  FakeActuator actuator_;
};

TEST_F(ExecutorTest, JournalsTheIntentBeforeTheAct) {
  bool journalled_first = false;
  actuator_.before_effect = [&] {
    journalled_first = journal_.records.size() == 1 && !journal_.records[0].outcome;
  };
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_TRUE(journalled_first);
  ASSERT_TRUE(journalled());
  EXPECT_EQ(journalled()->status, OutcomeStatus::done);
}

TEST_F(ExecutorTest, DryRunJournalsAndChangesNothing) {
  Action dry = action();
  dry.dry_run = true;
  const auto outcome = executor().run(dry);
  EXPECT_EQ(outcome.commands, std::vector<std::string>{"command"});
  EXPECT_TRUE(journal_.records.empty());
  EXPECT_TRUE(actuator_.effects.empty());
}

TEST_F(ExecutorTest, DoesNotActWithoutADurableIntent) {
  journal_.fail_writes = true;
  const auto outcome = executor().run(action());
  EXPECT_EQ(outcome.status, OutcomeStatus::failed);
  EXPECT_TRUE(outcome.retryable);
  EXPECT_EQ(actuator_.executes, 0);
  EXPECT_EQ(counters_.get("act_journal_errors_total"), 1U);
}

TEST_F(ExecutorTest, ADuplicateIsInspectedAndNotRepeated) {
  executor().run(action());
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.executes, 1);
  EXPECT_EQ(actuator_.inspects, 1);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
}

TEST_F(ExecutorTest, RetriesFailuresThatChangedNothingUpToTheLimit) {
  for (int i = 0; i < execute_attempts_max - 1; ++i)
    actuator_.answers.push_back({false, {}, failed(true)});
  actuator_.answers.push_back({true, {}, {}});
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.executes, execute_attempts_max);

  for (int i = 0; i < execute_attempts_max; ++i) {
    actuator_.answers.push_back(
        {false, Error{ErrorCode::unavailable, "slurmctld does not answer"}, {}});
  }
  const auto outcome = executor().run(action("a-2"));
  EXPECT_EQ(outcome.status, OutcomeStatus::failed);
  EXPECT_TRUE(outcome.retryable);
  EXPECT_NE(outcome.detail.find("after 5 tries"), std::string::npos) << outcome.detail;
}

TEST_F(ExecutorTest, DoesNotRetryAFinalFailure) {
  actuator_.answers.push_back({false, {}, failed(false)});
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::failed);
  EXPECT_EQ(actuator_.executes, 1);
  actuator_.answers.push_back({false, Error{ErrorCode::conflict, "theirs"}, {}});
  EXPECT_FALSE(executor().run(action("a-2")).retryable);
  EXPECT_EQ(actuator_.executes, 2);
}

TEST_F(ExecutorTest, StopsRetryingAtTheDeadline) {
  Action hasty = action();
  hasty.deadline = milliseconds{600};  // the pauses are 250 and 500 ms
  for (int i = 0; i < execute_attempts_max; ++i)
    actuator_.answers.push_back({false, {}, failed(true)});
  EXPECT_EQ(executor().run(hasty).status, OutcomeStatus::failed);
  EXPECT_EQ(actuator_.executes, 2);
  EXPECT_LE(clock_.monotonic(), hasty.deadline);
}

TEST_F(ExecutorTest, SettlesAnUnknownOutcomeByAsking) {
  // It happened, though the answer was lost.
  actuator_.answers.push_back({true, Error{ErrorCode::deadline_exceeded, "Socket timed out"}, {}});
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.executes, 1);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
  // It did not: then it is done again.
  actuator_.answers.push_back({false, {}, unknown()});
  EXPECT_EQ(executor().run(action("a-2")).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.effects["a-2"], 1);
}

TEST_F(ExecutorTest, StaysUnknownAndUnrepeatedWhileNobodyAnswers) {
  actuator_.answers.push_back({true, Error{ErrorCode::deadline_exceeded, "Socket timed out"}, {}});
  actuator_.inspect_error = Error{ErrorCode::unavailable, "down"};
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::unknown);
  EXPECT_EQ(actuator_.executes, 1);
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::unknown);
  actuator_.inspect_error.reset();
  clock_.advance(std::chrono::hours{5});
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::done);
  EXPECT_TRUE(executor().recover().empty());
  EXPECT_EQ(actuator_.effects["a-1"], 1);
}

TEST_F(ExecutorTest, FinishesWhatWasBegunEvenAfterTheDeadline) {
  ASSERT_TRUE(journal_.record_intent(action()).ok());
  actuator_.half_done.insert("a-1");
  clock_.advance(std::chrono::hours{5});
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
}

TEST_F(ExecutorTest, WhatIsNoLongerWantedIsNotBegunButWhatWasBegunIsFinished) {
  ASSERT_TRUE(journal_.record_intent(action()).ok());
  ASSERT_TRUE(journal_.record_intent(action("a-2")).ok());
  actuator_.half_done.insert("a-2");
  const auto nobody = [](const Action&) { return false; };
  const auto everybody = [](const Action&) { return true; };
  EXPECT_TRUE(executor().recover(Work::nodes, nobody, everybody).empty()) << "left as it is";
  const auto outcomes = executor().recover(Work::nodes, nobody);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].status, OutcomeStatus::failed);
  EXPECT_FALSE(outcomes[0].retryable);
  EXPECT_EQ(actuator_.effects["a-1"], 0);
  EXPECT_EQ(outcomes[1].status, OutcomeStatus::done) << "a job must not stay held half way";
  EXPECT_TRUE(executor().recover(Work::nodes, nobody).empty());
}

TEST_F(ExecutorTest, AnIntentPastItsDeadlineIsClosedAndNotExecuted) {
  ASSERT_TRUE(journal_.record_intent(action()).ok());
  clock_.advance(action().deadline);
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::done)
      << "exactly at the deadline is in time";
  ASSERT_TRUE(journal_.record_intent(action("a-2")).ok());
  clock_.advance(action().deadline + milliseconds{1});
  const auto late = executor().recover();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].status, OutcomeStatus::failed);
  EXPECT_FALSE(late[0].retryable);
  EXPECT_EQ(actuator_.effects["a-2"], 0);
  EXPECT_TRUE(executor().recover().empty());
}

TEST_F(ExecutorTest, AnIntentOfUnknownAgeIsNotExecuted) {
  journal_.knows_times = false;
  ASSERT_TRUE(journal_.record_intent(action()).ok());
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::failed);
  EXPECT_EQ(actuator_.executes, 0);
}

TEST_F(ExecutorTest, AnActWhoseOutcomeCouldNotBeWrittenIsSettledLater) {
  journal_.on_outcome = [&] { journal_.fail_writes = true; };
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_FALSE(journalled());
  journal_.on_outcome = nullptr;
  journal_.fail_writes = false;
  EXPECT_EQ(executor().recover().at(0).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
}

Action node_test(const std::string& id = "a-1") {
  Action action;
  action.id = id;
  action.kind = ActionKind::test_node;
  action.subject = Subject::of_node("n3");
  action.deadline = std::chrono::minutes{10};
  action.dry_run = false;
  return action;
}

TEST_F(ExecutorTest, ATestWithoutAResultIsUnknownAndNotRunAgain) {
  actuator_.answers.push_back({false, {}, unknown()});
  EXPECT_EQ(executor().run(node_test()).status, OutcomeStatus::unknown);
  EXPECT_EQ(actuator_.executes, 1);
  EXPECT_TRUE(executor().recover(Work::tests).empty()) << "it is closed";
  actuator_.answers.push_back({false, Error{ErrorCode::deadline_exceeded, "no answer"}, {}});
  EXPECT_EQ(executor().run(node_test("a-2")).status, OutcomeStatus::unknown);
  EXPECT_EQ(actuator_.executes, 2);
  EXPECT_TRUE(executor().recover(Work::tests).empty());
}

TEST_F(ExecutorTest, ATestThatWasInterruptedIsRunAgainWhileItIsInTimeAndUnknownAfterwards) {
  ASSERT_TRUE(journal_.record_intent(node_test()).ok());
  clock_.advance(node_test().deadline);
  EXPECT_EQ(executor().recover(Work::tests).at(0).status, OutcomeStatus::done);
  ASSERT_TRUE(journal_.record_intent(node_test("a-2")).ok());
  clock_.advance(node_test().deadline + milliseconds{1});
  const auto late = executor().recover(Work::tests);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].status, OutcomeStatus::unknown)
      << "a failure would say that the node is broken";
  EXPECT_EQ(actuator_.effects["a-2"], 0);
  EXPECT_TRUE(executor().recover(Work::tests).empty());
}

TEST_F(ExecutorTest, ATestThatNobodyCanLookAtIsRunAgain) {
  ASSERT_TRUE(journal_.record_intent(node_test()).ok());
  actuator_.inspect_error = Error{ErrorCode::unavailable, "down"};
  EXPECT_EQ(executor().recover(Work::tests).at(0).status, OutcomeStatus::done);
}

TEST_F(ExecutorTest, EachThreadRecoversItsOwnWork) {
  ASSERT_TRUE(journal_.record_intent(node_test("a-test")).ok());
  ASSERT_TRUE(journal_.record_intent(action("a-drain")).ok());
  Action requeue = action("a-requeue");
  requeue.kind = ActionKind::requeue_excluding;
  requeue.subject = Subject::of_job("7");
  ASSERT_TRUE(journal_.record_intent(requeue).ok());
  EXPECT_EQ(executor().recover(Work::nodes).at(0).action, "a-drain");
  EXPECT_EQ(actuator_.effects["a-test"], 0) << "it may be running right now";
  EXPECT_EQ(actuator_.effects["a-requeue"], 0) << "it may be running right now";
  EXPECT_EQ(executor().recover(Work::jobs).at(0).action, "a-requeue");
  EXPECT_EQ(actuator_.effects["a-test"], 0);
  EXPECT_EQ(executor().recover(Work::tests).at(0).action, "a-test");
}

/// Killed at every step between intent and outcome, then started again: the act takes effect
/// exactly once, and is never carried out without an intent on disk.
class KilledAt : public ExecutorTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledAt, ActsOnceAndNeverUnjournalled) {
  const std::string point = GetParam();
  const auto kill = [] { throw Killed(); };
  if (point == "before intent") journal_.on_intent = kill;
  if (point == "after intent") journal_.after_intent = kill;
  if (point == "before effect") actuator_.before_effect = kill;
  if (point == "after effect") actuator_.after_effect = kill;
  if (point == "before outcome") journal_.on_outcome = kill;
  EXPECT_THROW(executor().run(action()), Killed);
  journal_.on_intent = journal_.after_intent = journal_.on_outcome = nullptr;
  actuator_.before_effect = actuator_.after_effect = nullptr;

  clock_.advance(seconds{5});
  const auto recovered = executor().recover();
  if (point == "before intent") {
    EXPECT_TRUE(recovered.empty());
    EXPECT_EQ(actuator_.effects["a-1"], 0);
    return;
  }
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
  EXPECT_TRUE(executor().recover().empty());
  EXPECT_EQ(executor().run(action()).status, OutcomeStatus::done);
  EXPECT_EQ(actuator_.effects["a-1"], 1);
}

INSTANTIATE_TEST_SUITE_P(EveryStep, KilledAt,
                         ::testing::Values("before intent", "after intent", "before effect",
                                           "after effect", "before outcome"));

}  // namespace
}  // namespace faultline
