#include "store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/sqlite_store.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("faultline-store-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "faultline.db";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Store> open() {
    auto store = Store::open(file_, Access::read_write);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }

  static Event event(int number) {
    Event event;
    event.source = EventSource::kernel_log;
    event.reporter = "n3";
    event.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    event.attempt = AttemptId{"7_2", 1};
    event.observed_at = Instant{seconds{1000 + number}};
    event.received_at = Instant{seconds{2000 + number}};
    event.signature = "xid.48";
    event.fields = {{"xid", "48"}, {"odd", "a\"b\\c\n\xC3\xA9"}};
    event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number), "boot-1", "NVRM: Xid ..."};
    event.id = make_event_id(event);
    return event;
  }
  static Verdict verdict(const std::string& id, VerdictStatus status) {
    Verdict verdict;
    verdict.id = id;
    verdict.detector = "node_fault";
    verdict.cause = "gpu.ecc_uncorrectable";
    verdict.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    verdict.status = status;
    verdict.confidence = 0.95;
    verdict.updated_at = Instant{seconds{3000}};
    verdict.evidence = {event(1).id};
    verdict.witnesses = {EventSource::kernel_log};
    return verdict;
  }
  static Action action(const std::string& id) {
    Action action;
    action.id = id;
    action.decision = "d-1";
    action.kind = ActionKind::requeue_excluding;
    action.subject = Subject::of_job("7_2");
    action.attempt = AttemptId{"7_2", 1};
    action.nodes = {"n3"};
    action.dry_run = false;
    return action;
  }
  static Outcome outcome(const std::string& id, OutcomeStatus status, bool retryable = false) {
    return {id, status, Instant{seconds{5000}}, "seen", {"scontrol update"}, retryable};
  }

  fs::path folder_, file_;
};

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

TEST_F(StoreTest, RetentionKeepsTheEvidenceOfVerdicts) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1), event(2)}).ok());
  ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::confirmed)).ok());
  EXPECT_EQ(store->retain(Instant{seconds{2002}} + hours{1}, hours{1}).value(),
            0u);  // boundary: exactly `keep` old
  EXPECT_EQ(store->retain(Instant{seconds{2003}} + hours{1}, hours{1}).value(), 1u);
  EXPECT_TRUE(store->event(event(1).id).value().has_value());
  EXPECT_FALSE(store->event(event(2).id).value().has_value());
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

TEST_F(StoreTest, AFullDiskLosesNothingAndSaysSo) {
  open();
  auto database = sqlite::Database::open(file_, false);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE((*database)->execute("PRAGMA max_page_count = 60").ok());
  SqliteStore store(std::move(database).value());
  int taken = 0;
  Result<std::vector<Event>> last = std::vector<Event>{};
  while (taken < 5000) {
    last = store.append_events({event(taken)});
    if (!last) break;
    ++taken;
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, ErrorCode::exhausted);
  EXPECT_NE(last.error().message.find("free space"), std::string::npos);
  EXPECT_EQ(store.events({10000, {}}).value().size(), static_cast<std::size_t>(taken));
}

// A database cut at any byte either opens with what was committed, or is refused as damaged; it
// never crashes and never gives half a noun.
TEST_F(StoreTest, ADatabaseCutAnywhereIsRefusedOrWhole) {
  {
    auto store = open();
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(store->append_events({event(i)}).ok());
    ASSERT_TRUE(store->record_intent(action("a-1"), Instant{seconds{1}}).ok());
  }
  std::ifstream in(file_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(bytes.size(), 4096u);
  const fs::path cut = folder_ / "cut.db";
  int refused = 0;
  for (std::size_t length = 1; length < bytes.size(); length += 997) {
    fs::remove(cut);
    fs::remove(cut.string() + "-wal");
    std::ofstream(cut, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(length));
    const auto store = Store::open(cut, Access::read_write);
    if (!store) {
      ++refused;
      EXPECT_EQ(store.error().code, ErrorCode::corrupt) << length << ": " << store.error().message;
      continue;
    }
    const auto events = (*store)->events({});
    if (events) {
      EXPECT_LE(events->size(), 30u);
    }
  }
  EXPECT_GT(refused, 0);
}

// The write-ahead log cut anywhere: a prefix of the commits is there, in order.
TEST_F(StoreTest, AWriteAheadLogCutAnywhereLeavesAPrefix) {
  auto store = open();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->append_events({event(i)}).ok());
  std::ifstream main_in(file_, std::ios::binary), wal_in(file_.string() + "-wal", std::ios::binary);
  const std::string main_bytes((std::istreambuf_iterator<char>(main_in)), {});
  const std::string wal_bytes((std::istreambuf_iterator<char>(wal_in)), {});
  ASSERT_FALSE(wal_bytes.empty());
  const fs::path cut = folder_ / "cut.db";
  std::size_t most = 0;
  for (std::size_t length = 0; length <= wal_bytes.size(); length += 7919) {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(cut.string() + suffix);
    std::ofstream(cut, std::ios::binary) << main_bytes;
    std::ofstream(cut.string() + "-wal", std::ios::binary)
        .write(wal_bytes.data(), static_cast<std::streamsize>(length));
    const auto reopened = Store::open(cut, Access::read_write);
    ASSERT_TRUE(reopened.ok()) << length << ": " << reopened.error().message;
    const auto events = (*reopened)->events({});
    ASSERT_TRUE(events.ok());
    for (std::size_t i = 0; i < events->size(); ++i)
      EXPECT_EQ((*events)[i].id, event(static_cast<int>(i)).id);
    EXPECT_GE(events->size(), most);
    most = events->size();
  }
}

TEST_F(StoreTest, ARequestIsOpenUntilItIsAnswered) {
  auto store = open();
  const auto number =
      store->put_request({0, "return", "n3", "root(0)", Instant{seconds{1}}, {}}).value();
  ASSERT_EQ(store->open_requests().value().size(), 1u);
  ASSERT_TRUE(store->answer_request(number, "act: done").ok());
  EXPECT_TRUE(store->open_requests().value().empty());
  EXPECT_EQ(store->request(number).value()->answer, "act: done");
}

}  // namespace
}  // namespace faultline
