// What befalls the file: replaced, another program's, a full disk, cut at any byte.
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <set>
#include <string_view>

#include "base/rng.h"
#include "store/sqlite.h"
#include "store/sqlite_store.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string read_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
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

void remove_log(const fs::path& file) { fs::remove(file.string() + "-wal"); }
void replace_log(const fs::path& file) {
  const std::string log = file.string() + "-wal";
  fs::copy_file(log, log + ".copy");
  fs::rename(log + ".copy", log);
}

INSTANTIATE_TEST_SUITE_P(
    Mishaps, ReplacedStore,
    ::testing::Values(
        remove_log, replace_log, [](const fs::path& file) { fs::remove(file); },
        [](const fs::path& file) { fs::rename(file, file.string() + ".away"); },
        [](const fs::path& file) { fs::rename(file.parent_path() / "other.db", file); },
        [](const fs::path& file) {
          fs::rename(file.parent_path(), file.parent_path().string() + "-away");
          fs::create_directories(file.parent_path());
          fs::remove_all(file.parent_path().string() + "-away");
        }));

TEST_F(StoreTest, ATextIsAnotherProgramsFileAndNoDamagedStore) {
  const auto code_of = [&](const std::string& bytes) {
    std::ofstream(file_, std::ios::binary) << bytes;
    const auto store = Store::open(file_, Access::read_only);
    EXPECT_FALSE(store.ok());
    EXPECT_EQ(read_bytes(file_), bytes) << "left as it is";
    return store.ok() ? ErrorCode::internal : store.error().code;
  };
  EXPECT_EQ(code_of("#!/bin/sh\nexec faultline serve\n"), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of("x = 1\n"), ErrorCode::invalid_argument);
  // Bytes are what became of a store, and so is the beginning of its own head.
  EXPECT_EQ(code_of(std::string(5000, '\x01')), ErrorCode::corrupt);
  EXPECT_EQ(code_of("SQLite form"), ErrorCode::corrupt);
}

TEST_F(StoreTest, ACopyWithoutItsLogIsNoNewStore) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1)}).ok());
  const fs::path copy = folder_ / "copy.db";
  fs::copy_file(file_, copy);
  const std::string before = read_bytes(copy);
  for (const Access access : {Access::read_only, Access::read_write}) {
    const auto opened = Store::open(copy, access);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
    EXPECT_NE(opened.error().message.find("copy.db-wal, which is not there"), std::string::npos);
    EXPECT_NE(opened.error().message.find("faultline store backup"), std::string::npos);
  }
  EXPECT_EQ(read_bytes(copy), before);
  fs::copy_file(file_.string() + "-wal", copy.string() + "-wal");
  const auto whole = Store::open(copy, Access::read_write);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ((*whole)->events({})->size(), 1U);
}

TEST(StoreError, WhatSqliteSaysInLinesIsOneLine) {
  const std::string said = sqlite::damaged("*** in database main ***\nPage 142: is cut").message;
  EXPECT_NE(said.find("(*** in database main ***; Page 142: is cut)"), std::string::npos) << said;
}

TEST_F(StoreTest, ALinkToAStoreHasItsLog) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1)}).ok());
  const fs::path link = folder_ / "link.db";
  fs::create_symlink(file_, link);
  const auto opened = Store::open(link, Access::read_only);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->events({})->size(), 1U);
}

TEST_F(StoreTest, AFileThatIsPutBackIsTheSameStore) {
  auto store = open();
  fs::rename(file_, folder_ / "away.db");
  EXPECT_FALSE(store->append_events({event(1)}).ok());
  fs::rename(folder_ / "away.db", file_);
  EXPECT_TRUE(store->append_events({event(1)}).ok());
}

class ForeignDatabase : public StoreTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ForeignDatabase, IsRefusedAndLeftAsItIs) {
  {
    auto database = sqlite::Database::open(file_, false);
    ASSERT_TRUE((*database)->execute(GetParam()).ok());
  }
  const std::string before = read_bytes(file_);
  fs::permissions(file_, fs::perms::group_read, fs::perm_options::add);
  for (const Access access : {Access::read_write, Access::read_only}) {
    const auto store = Store::open(file_, access);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(store.error().message.find("another program"), std::string::npos);
    EXPECT_NE(store.error().message.find(file_.string()), std::string::npos);
  }
  EXPECT_EQ(read_bytes(file_), before);
  EXPECT_NE(fs::status(file_).permissions() & fs::perms::group_read, fs::perms::none);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ForeignDatabase,
    ::testing::Values("CREATE TABLE bookmarks (url TEXT)",
                      "CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 2",
                      "CREATE TABLE events (id TEXT); PRAGMA user_version = 1",
                      "CREATE TABLE bookmarks (url TEXT); PRAGMA application_id = 7; "
                      "PRAGMA user_version = 3",
                      "CREATE TABLE events (id TEXT); CREATE TABLE node_states (node TEXT); "
                      "CREATE TABLE named_values (name TEXT); PRAGMA user_version = 3"));

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

constexpr std::size_t page_bytes = 4096;              // SQLite's default
constexpr std::size_t wal_head_bytes = 32;            // of the write-ahead log
constexpr std::size_t frame_bytes = 24 + page_bytes;  // of the log: a page and its head

/// Where to cut a file of `size` bytes whose records of `record` bytes end at `first_end` and on:
/// around each end, around the numbers of the format at its start, and at `random_count` other
/// bytes.
std::set<std::size_t> cut_lengths(std::size_t size, std::size_t first_end, std::size_t record,
                                  int random_count) {
  std::set<std::size_t> lengths{0,  1,   2,   15,  16,  17,       28,  31,
                                99, 100, 101, 511, 512, size - 1, size};
  for (std::size_t end = first_end; end <= size; end += record)
    lengths.insert({end - 1, end, end + 1});
  Rng rng(7);
  for (int i = 0; i < random_count; ++i) lengths.insert(rng.below(size));
  while (*lengths.rbegin() > size) lengths.erase(std::prev(lengths.end()));
  return lengths;
}

/// What is found in a store that was cut.
enum class Left { refused, prefix };

class CutStoreTest : public StoreTest {
 protected:
  static constexpr std::size_t event_count = 10;

  /// event(0), event(1), ... one by one, and then an intent: each a commit.
  void write_all(Store& store) {
    for (std::size_t i = 0; i < event_count; ++i)
      ASSERT_TRUE(store.append_events({event(static_cast<int>(i))}).ok());
    ASSERT_TRUE(store.record_intent(action("a-1"), Instant{seconds{1}}).ok());
  }

  /// Opens a store of these bytes. What it gives must be the first commits, whole; their number is
  /// then in `commits_`.
  Left open_cut(std::string_view database, std::string_view log) {
    const fs::path cut = folder_ / "cut.db";
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(cut.string() + suffix);
    std::ofstream(cut, std::ios::binary) << database;
    if (!log.empty()) std::ofstream(cut.string() + "-wal", std::ios::binary) << log;
    const auto store = Store::open(cut, Access::read_write);
    if (!store) {
      EXPECT_EQ(store.error().code, ErrorCode::corrupt) << store.error().message;
      EXPECT_NE(store.error().message.find("faultline store backup"), std::string::npos);
      return Left::refused;
    }
    const auto events = (*store)->events({}).value();
    const auto intents = (*store)->open_intents().value();
    for (std::size_t i = 0; i < events.size(); ++i)
      EXPECT_EQ(events[i], event(static_cast<int>(i))) << i;
    if (!intents.empty()) {
      EXPECT_EQ(events.size(), event_count) << "the intent is there without what led to it";
      EXPECT_EQ(intents, std::vector{action("a-1")});
    }
    commits_ = events.size() + intents.size();
    return Left::prefix;
  }

  std::size_t commits_ = 0;
};

// Nothing at all is a new store; all else that is short is refused.
TEST_F(CutStoreTest, ADatabaseCutAnywhereIsRefused) {
  write_all(*open());
  const std::string bytes = read_bytes(file_);
  ASSERT_GT(bytes.size(), page_bytes);
  ASSERT_EQ(bytes.size() % page_bytes, 0u);
  for (const std::size_t length : cut_lengths(bytes.size(), page_bytes, page_bytes, 200)) {
    SCOPED_TRACE(length);
    const bool whole = length == 0 || length == bytes.size();
    EXPECT_EQ(open_cut(std::string_view(bytes).substr(0, length), {}),
              whole ? Left::prefix : Left::refused);
    if (whole) {
      EXPECT_EQ(commits_, length == 0 ? 0 : event_count + 1);
    }
  }
}

// A prefix of the commits is there, and no more than the commit that was cut is lost.
TEST_F(CutStoreTest, AWriteAheadLogCutAnywhereLeavesAPrefix) {
  open().reset();  // the schema is in the database, so that the log holds the commits alone
  const auto store = open();
  write_all(*store);
  const std::string database = read_bytes(file_);
  const std::string log = read_bytes(file_.string() + "-wal");
  ASSERT_EQ((log.size() - wal_head_bytes) % frame_bytes, 0u);
  std::size_t before = 0;
  for (const std::size_t length : cut_lengths(log.size(), wal_head_bytes, frame_bytes, 50)) {
    SCOPED_TRACE(length);
    ASSERT_EQ(open_cut(database, std::string_view(log).substr(0, length)), Left::prefix);
    EXPECT_TRUE(commits_ == before || commits_ == before + 1) << before << ", then " << commits_;
    before = commits_;
  }
  EXPECT_EQ(before, event_count + 1);
  // Without its database the log would be thrown away.
  EXPECT_EQ(open_cut({}, log), Left::refused);
}

}  // namespace
}  // namespace faultline
