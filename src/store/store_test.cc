#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
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
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '-');  // of a test with parameters
    folder_ =
        fs::temp_directory_path() / ("faultline-store-" + std::to_string(::getpid()) + "-" + name);
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

// The newest state of a noun is never old; the earlier ones go with the events of their time.
TEST_F(StoreTest, RetentionCoversHistory) {
  auto store = open();
  const auto put = [&](VerdictStatus status, int at) {
    Verdict state = verdict("v-1", status);
    state.updated_at = Instant{seconds{at}};
    ASSERT_TRUE(store->put_verdict(state).ok());
  };
  put(VerdictStatus::suspected, 1000);
  put(VerdictStatus::confirmed, 2000);
  ASSERT_TRUE(
      store->put_node_state({"n3", NodePhase::drained, Instant{seconds{1000}}, {}, {}, {}, {}, {}})
          .ok());
  ASSERT_TRUE(store->retain(Instant{seconds{1000}} + hours{1}, hours{1}).ok());  // boundary
  EXPECT_EQ(store->verdict_history("v-1")->size(), 2u);
  ASSERT_TRUE(store->retain(Instant{seconds{1001}} + hours{1}, hours{1}).ok());
  ASSERT_EQ(store->verdict_history("v-1")->size(), 1u);
  EXPECT_EQ(store->verdict_history("v-1")->front().status, VerdictStatus::confirmed);
  ASSERT_TRUE(store->retain(Instant{seconds{3000}} + hours{1}, hours{1}).ok());
  EXPECT_TRUE(store->verdict_history("v-1")->empty());
  EXPECT_TRUE(store->node_history("n3")->empty());
  EXPECT_EQ(store->verdict("v-1").value()->status, VerdictStatus::confirmed);
  EXPECT_EQ(store->node_states()->front().phase, NodePhase::drained);
}

TEST_F(StoreTest, AStoreOfTheFirstVersionIsBroughtForward) {
  {
    auto store = open();
    ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::confirmed)).ok());
  }
  {
    auto database = sqlite::Database::open(file_, false);
    ASSERT_TRUE((*database)
                    ->execute("DROP INDEX history_at; ALTER TABLE history DROP COLUMN at; "
                              "PRAGMA user_version = 1")
                    .ok());
  }
  auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(fs::exists(file_.string() + ".before-v2"));
  // What has no time of its own is as old as the migration, so it does not go at once.
  ASSERT_TRUE(store->retain(SystemClock().now(), hours{1}).ok());
  EXPECT_EQ(store->verdict_history("v-1")->size(), 1u);
  ASSERT_TRUE(store->retain(SystemClock().now() + hours{2}, hours{1}).ok());
  EXPECT_TRUE(store->verdict_history("v-1")->empty());
}

/// What an operator may do to a file that is open.
using Mishap = void (*)(const fs::path&);
class ReplacedStore : public StoreTest, public ::testing::WithParamInterface<Mishap> {};

TEST_P(ReplacedStore, IsNoticedAtTheNextWriteAndRead) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1)}).ok());
  fs::copy_file(file_, folder_ / "other.db");
  GetParam()(file_);
  for (const Status& status : {Status(store->append_events({event(2)}) ? ok_status() : Error{}),
                               store->put_verdict(verdict("v-1", VerdictStatus::confirmed)),
                               store->record_intent(action("a-1"), Instant{seconds{1}}),
                               store->put_value("scheduler.nodes", "[]")}) {
    EXPECT_FALSE(status.ok());
  }
  const auto intent = store->record_intent(action("a-1"), Instant{seconds{1}});
  ASSERT_FALSE(intent.ok());
  // Not conflict, which would mean that the intent is on record.
  EXPECT_EQ(intent.error().code, ErrorCode::unavailable);
  EXPECT_NE(intent.error().message.find("replaced or deleted"), std::string::npos);
  EXPECT_NE(intent.error().message.find("restart"), std::string::npos);
  EXPECT_FALSE(store->events({}).ok());
}

INSTANTIATE_TEST_SUITE_P(Mishaps, ReplacedStore,
                         ::testing::Values([](const fs::path& file) { fs::remove(file); },
                                           [](const fs::path& file) {
                                             fs::rename(file, file.string() + ".away");
                                           },
                                           [](const fs::path& file) {
                                             fs::rename(file.parent_path() / "other.db", file);
                                           },
                                           [](const fs::path& file) {
                                             fs::rename(file.parent_path(),
                                                        file.parent_path().string() + "-away");
                                             fs::create_directories(file.parent_path());
                                             fs::remove_all(file.parent_path().string() + "-away");
                                           }));

TEST_F(StoreTest, AFileThatIsPutBackIsTheSameStore) {
  auto store = open();
  fs::rename(file_, folder_ / "away.db");
  EXPECT_FALSE(store->append_events({event(1)}).ok());
  fs::rename(folder_ / "away.db", file_);
  EXPECT_TRUE(store->append_events({event(1)}).ok());
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

/// While it lives, no file of this process grows beyond `bytes`: a write stops in its midst.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

// The log of a commit that stops half way, at any byte: that commit is refused, those before it
// stay, and once there is room the store goes on.
TEST_F(StoreTest, AWriteThatStopsHalfWayLosesNothing) {
  for (const rlim_t room : {1, 24, 2000, 4119, 4120, 4121, 9000}) {
    SetUp();
    auto store = open();
    ASSERT_TRUE(store->append_events({event(1)}).ok());
    {
      const FileSizeLimit limit(fs::file_size(file_.string() + "-wal") + room);
      Status last = ok_status();
      for (int i = 2; i < 50 && last.ok(); ++i)
        last = store->record_intent(action("a-" + std::to_string(i)), Instant{seconds{1}});
      ASSERT_FALSE(last.ok()) << room;
      EXPECT_NE(last.error().code, ErrorCode::conflict) << "which would say that it is on record";
    }
    const auto intents = store->open_intents().value().size();
    EXPECT_EQ(store->events({}).value().size(), 1u) << room;
    EXPECT_EQ(store->append_events({event(2)}).value().size(), 1u) << room;
    store.reset();
    store = open();
    ASSERT_NE(store, nullptr) << room;
    EXPECT_EQ(store->events({}).value().size(), 2u) << room;
    EXPECT_EQ(store->open_intents().value().size(), intents) << room;
  }
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

// The newest requests are those that say what holds now.
TEST_F(StoreTest, GivesTheNewestRequestsInTheirOrder) {
  auto store = open();
  for (const char* target : {"n1", "n2", "n3"})
    ASSERT_TRUE(store->put_request({0, "return", target, "root(0)", Instant{seconds{1}}, {}}).ok());
  const auto requests = store->requests({2, {}}).value();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].target, "n2");
  EXPECT_EQ(requests[1].target, "n3");
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
