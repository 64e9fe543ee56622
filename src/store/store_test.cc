#include "store/store.h"

#include <fstream>

#include "base/clock.h"
#include "store/sqlite.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;

TEST_F(StoreTest, KeepsEveryFieldOfAnEvent) {
  auto store = open();
  ASSERT_EQ(store->append_events({event(1)}).value().size(), 1u);
  EXPECT_EQ(store->event(event(1).id).value(), event(1));
}

TEST_F(StoreTest, IgnoresAnEventThatItHas) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1), event(2)}).ok());
  const auto fresh = store->append_events({event(2), event(3), event(3)}).value();
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].id, event(3).id);
  EXPECT_EQ(store->events({}).value().size(), 3u);
}

TEST_F(StoreTest, FindsTheEventsOfAnAttemptAlone) {
  auto store = open();
  Event other = event(4);
  other.attempt = AttemptId{"7_2", 2};
  ASSERT_TRUE(store->append_events({event(1), other}).ok());
  const auto found = store->events_of_attempt(AttemptId{"7_2", 1}, {}).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, event(1).id);
}

TEST_F(StoreTest, KeepsTheNewestVerdictAndItsHistory) {
  auto store = open();
  ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::suspected)).ok());
  ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::confirmed)).ok());
  EXPECT_EQ(store->verdict("v-1").value()->status, VerdictStatus::confirmed);
  const auto history = store->verdict_history("v-1").value();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].status, VerdictStatus::suspected);
  EXPECT_FALSE(store->verdict("v-2").value().has_value());
}

TEST_F(StoreTest, AnIntentIsRecordedOnce) {
  auto store = open();
  ASSERT_TRUE(store->record_intent(action("a-1"), Instant{seconds{1}}).ok());
  const auto again = store->record_intent(action("a-1"), Instant{seconds{2}});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_EQ(store->open_intents().value(), std::vector{action("a-1")});
}

TEST_F(StoreTest, AnUnknownOutcomeStaysOpenAndADoneOneIsFinal) {
  auto store = open();
  ASSERT_TRUE(store->record_intent(action("a-1"), Instant{seconds{1}}).ok());
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::unknown)).ok());
  EXPECT_EQ(store->open_intents().value().size(), 1u);
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::failed, true)).ok());
  EXPECT_EQ(store->open_intents().value().size(), 1u);
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::done)).ok());
  EXPECT_TRUE(store->open_intents().value().empty());
  EXPECT_FALSE(store->record_outcome(outcome("a-1", OutcomeStatus::failed)).ok());
  EXPECT_EQ(store->action("a-1").value()->outcome->status, OutcomeStatus::done);
}

TEST_F(StoreTest, WhatCameUndoneIsOpenAgain) {
  const Instant t0{seconds{1}};
  const Instant later = t0 + seconds{5};
  auto store = open();
  ASSERT_TRUE(store->record_intent(action("a-1"), t0).ok());
  EXPECT_EQ(store->reopen_action("a-1", later).error().code, ErrorCode::conflict) << "open still";
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::done)).ok());
  ASSERT_TRUE(store->reopen_action("a-1", later).ok());
  EXPECT_EQ(store->open_intents().value(), std::vector{action("a-1")});
  EXPECT_EQ(store->action("a-1").value()->intended_at, later);
  EXPECT_FALSE(store->action("a-1").value()->outcome);
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::failed)).ok());
  EXPECT_FALSE(store->reopen_action("a-1", t0).ok()) << "a final failure stays";
  EXPECT_FALSE(store->reopen_action("a-2", t0).ok());
}

TEST_F(StoreTest, ANodeTestThatHasNoResultIsClosed) {
  auto store = open();
  Action test = action("a-1");
  test.kind = ActionKind::test_node;
  ASSERT_TRUE(store->record_intent(test, Instant{seconds{1}}).ok());
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::unknown, true)).ok());
  EXPECT_EQ(store->open_intents().value().size(), 1u);
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::unknown)).ok());
  EXPECT_TRUE(store->open_intents().value().empty());
}

TEST_F(StoreTest, AnOutcomeWithoutAnIntentIsRefused) {
  auto store = open();
  EXPECT_EQ(store->record_outcome(outcome("a-9", OutcomeStatus::done)).error().code,
            ErrorCode::conflict);
}

TEST_F(StoreTest, AStoreOfTheFirstVersionIsBroughtForward) {
  {
    auto store = open();
    ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::confirmed)).ok());
    for (const auto state : {AttemptState::running, AttemptState::failed}) {
      Attempt run = attempt(state == AttemptState::running ? "1" : "2", state);
      ASSERT_TRUE(store->put_attempt(run).ok());
    }
  }
  {
    auto database = sqlite::Database::open(file_, false);
    ASSERT_TRUE((*database)
                    ->execute("DROP INDEX history_at; ALTER TABLE history DROP COLUMN at; "
                              "DROP VIEW out_of_service; DROP INDEX attempts_ended; "
                              "ALTER TABLE attempts DROP COLUMN ended_at; "
                              "PRAGMA application_id = 0; PRAGMA user_version = 1")
                    .ok());
  }
  auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(fs::exists(file_.string() + ".before-v3"));
  const auto alive = store->attempts_alive_since(Instant{seconds{9000}}, 10).value();
  ASSERT_EQ(alive.size(), 1u);
  EXPECT_EQ(alive[0].id.job, "1");
  // What has no time of its own is as old as the migration, so it does not go at once.
  ASSERT_TRUE(store->retain(SystemClock().now(), {hours{1}}).ok());
  EXPECT_EQ(store->verdict_history("v-1")->size(), 1u);
  ASSERT_TRUE(store->retain(SystemClock().now() + hours{2}, {hours{1}}).ok());
  EXPECT_TRUE(store->verdict_history("v-1")->empty());
}

TEST_F(StoreTest, AnIntentOfAnOlderProgramHasNoNodesToKeep) {
  ASSERT_TRUE(open()->record_intent(action("a-1"), Instant{seconds{1}}).ok());
  {
    auto database = sqlite::Database::open(file_, false);
    ASSERT_TRUE((*database)->execute("UPDATE actions SET body = json_remove(body, '$.keep')").ok());
  }
  Action expected = action("a-1");
  expected.keep.clear();
  EXPECT_EQ(open()->open_intents().value(), std::vector{expected});
}

TEST_F(StoreTest, ReadsWhileAnotherProcessWouldWrite) {
  auto writer = open();
  ASSERT_TRUE(writer->append_events({event(1)}).ok());
  auto reader = Store::open(file_, Access::read_only);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(writer->append_events({event(2)}).ok());
  EXPECT_EQ((*reader)->events({}).value().size(), 2u);
  EXPECT_FALSE((*reader)->append_events({event(3)}).ok());
}

TEST_F(StoreTest, AMissingStoreSaysWhereToLook) {
  const auto store = Store::open(file_, Access::read_only);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::not_found);
  EXPECT_NE(store.error().message.find("--store"), std::string::npos);
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(StoreTest, WhatIsNoFileOrHasNoTablesSaysSo) {
  for (const Access access : {Access::read_only, Access::read_write}) {
    EXPECT_EQ(Store::open(folder_, access).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(Store::open("", access).error().code, ErrorCode::invalid_argument);
  }
  std::ofstream(file_) << "";
  const auto empty = Store::open(file_, Access::read_only);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::not_found);
  EXPECT_NE(empty.error().message.find("`faultline serve`"), std::string::npos);
  EXPECT_TRUE(Store::open(file_, Access::read_write).ok());
}

// A run of months lies behind thousands that came and went since.
TEST_F(StoreTest, FindsWhatRunsAmongAllThatRan) {
  auto store = open();
  ASSERT_TRUE(store->put_attempt(attempt("long", AttemptState::running)).ok());
  for (const char* job : {"1", "2", "3"}) {
    Attempt over = attempt(job, AttemptState::completed);
    over.started_at = Instant{seconds{5000}};
    over.ended_at = Instant{seconds{6000}};
    ASSERT_TRUE(store->put_attempt(over).ok());
  }
  EXPECT_EQ(store->attempts_alive_since(Instant{seconds{6000}}, 10)->size(), 4u) << "boundary";
  const auto alive = store->attempts_alive_since(Instant{seconds{6001}}, 1).value();
  ASSERT_EQ(alive.size(), 1u);
  EXPECT_EQ(alive[0].id.job, "long");
  ASSERT_TRUE(store->put_attempt(attempt("long", AttemptState::failed)).ok());
  EXPECT_TRUE(store->attempts_alive_since(Instant{seconds{6001}}, 10)->empty()) << "it ended";
}

TEST_F(StoreTest, RefusesAStoreOfANewerProgram) {
  open();
  {
    auto database = sqlite::Database::open(file_, false);
    ASSERT_TRUE((*database)->execute("PRAGMA user_version = 99").ok());
  }
  const auto store = Store::open(file_, Access::read_write);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::unavailable);
  EXPECT_NE(store.error().message.find("upgrade"), std::string::npos);
}

TEST_F(StoreTest, ABackupIsAWholeStore) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1)}).ok());
  ASSERT_TRUE(store->backup(folder_ / "copy.db").ok());
  ASSERT_TRUE(store->append_events({event(2)}).ok());
  auto copy = Store::open(folder_ / "copy.db", Access::read_only);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ((*copy)->events({}).value().size(), 1u);
}

TEST_F(StoreTest, ABackupIsItsOwnersAlone) {
  ASSERT_TRUE(open()->backup(folder_ / "copy.db").ok());
  EXPECT_EQ(fs::status(folder_ / "copy.db").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StoreTest, ABackupCanBeReadInAFolderThatCannotBeWritten) {
  const fs::path shelf = folder_ / "shelf";
  fs::create_directory(shelf);
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1)}).ok());
  ASSERT_TRUE(store->backup(shelf / "copy.db").ok());
  fs::permissions(shelf / "copy.db", fs::perms{0444});
  fs::permissions(shelf, fs::perms{0555});
  const bool root = ::geteuid() == 0;
  if (root) {  // which can write everywhere
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto copy = Store::open(shelf / "copy.db", Access::read_only);
  const auto events = copy ? (*copy)->events({}) : Result<std::vector<Event>>(copy.error());
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(shelf, fs::perms::owner_all);
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_EQ(events->size(), 1u);
}

// The newest requests are those that say what holds now.
TEST_F(StoreTest, GivesTheNewestRequestsInTheirOrder) {
  auto store = open();
  for (const char* target : {"n1", "n2", "n3"})
    ASSERT_TRUE(
        store
            ->put_request({0, RequestKind::return_node, target, "root(0)", Instant{seconds{1}}, {}})
            .ok());
  const auto requests = store->requests({2, {}}).value();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].target, "n2");
  EXPECT_EQ(requests[1].target, "n3");
}

TEST_F(StoreTest, ARequestIsOpenUntilItIsAnswered) {
  auto store = open();
  const auto number =
      store->put_request({0, RequestKind::return_node, "n3", "root(0)", Instant{seconds{1}}, {}})
          .value();
  ASSERT_EQ(store->open_requests().value().size(), 1u);
  ASSERT_TRUE(store->answer_request(number, {AnswerKind::act, "done"}).ok());
  EXPECT_TRUE(store->open_requests().value().empty());
  EXPECT_EQ(store->request(number).value()->answer, (PersonAnswer{AnswerKind::act, "done"}));
}

}  // namespace
}  // namespace faultline
