// A write-ahead log that is damaged in its midst: SQLite takes what is before the damage, and says
// nothing.
#include "store/write_ahead_log.h"

#include <set>

#include "base/rng.h"
#include "base/small_file.h"
#include "store/sqlite.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t head_bytes = 32;
constexpr std::size_t frame_bytes = 24 + 4096;

class WriteAheadLogTest : public StoreTest {
 protected:
  static constexpr std::size_t event_count = 10;  // each a commit

  void SetUp() override {
    StoreTest::SetUp();
    open().reset();  // the schema is in the database, so that the log holds the commits alone
    store_ = open();
    for (std::size_t i = 0; i < event_count; ++i)
      ASSERT_TRUE(store_->append_events({event(static_cast<int>(i))}).ok());
    database_ = bytes_of(file_);
    log_ = bytes_of(log_of(file_));
  }
  static std::string bytes_of(const fs::path& file) {
    return read_small_file(file, 64 << 20).value();
  }
  /// What SQLite takes of this log.
  std::size_t events_with(const std::string& log) {
    const fs::path copy = folder_ / "copy.db";
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy.string() + suffix);
    EXPECT_TRUE(write_small_file(copy, database_, false).ok());
    EXPECT_TRUE(write_small_file(log_of(copy), log, false).ok());
    const auto store = Store::open(copy, Access::read_write);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return store.ok() ? (*store)->events({}).value().size() : 0;
  }
  std::string with_damage(std::size_t at) const {
    std::string damaged = log_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    return damaged;
  }

  std::unique_ptr<Store> store_;  // open, or the log would be gone
  std::string database_, log_;
};

TEST_F(WriteAheadLogTest, WhatIsWholeOrCutAtItsEndIsWell) {
  EXPECT_FALSE(read_log(log_).damage);
  for (std::size_t bytes = 0; bytes < log_.size(); bytes += 1000)
    EXPECT_FALSE(read_log(std::string_view(log_).substr(0, bytes)).damage) << bytes;
  EXPECT_FALSE(read_log(std::string(10'000, '\0')).damage);
}

// Wherever a byte changes, whoever loses more than the last commit hears of it, and nobody else.
TEST_F(WriteAheadLogTest, DamageAnywhereIsFoundIfItHidesMoreThanTheLastCommit) {
  Rng rng(11);
  std::set<std::size_t> places{0, 5, 8, 16, 24, 31};
  for (std::size_t at = head_bytes; at < log_.size(); at += 3 * frame_bytes)
    places.insert({at, at + 4, at + 8, at + 16, at + 24});
  for (int i = 0; i < 30; ++i) places.insert(rng.below(log_.size()));
  int found_count = 0;
  for (const std::size_t at : places) {
    SCOPED_TRACE(at);
    const std::string damaged = with_damage(at);
    const auto found = read_log(damaged).damage;
    const std::size_t lost = event_count - events_with(damaged);
    if (lost > 2) {
      ASSERT_TRUE(found);
    }
    if (!found) continue;
    ++found_count;
    EXPECT_GE(lost, found->commits);
    EXPECT_LE(lost, found->commits + 1);  // that with the damage
    EXPECT_EQ(found->frame, at < head_bytes ? 0 : (at - head_bytes) / frame_bytes + 1);
  }
  EXPECT_GT(found_count, 20);
}

TEST_F(WriteAheadLogTest, WhatIsLeftOfAnEarlierUseIsNoDamage) {
  auto database = sqlite::Database::open(file_, false);
  ASSERT_TRUE((*database)->execute("PRAGMA wal_checkpoint(RESTART)").ok());
  ASSERT_TRUE((*database)->execute("PRAGMA user_version = 3").ok());  // from the start of the log
  const std::string log = bytes_of(log_of(file_));
  ASSERT_EQ(log.size(), log_.size());
  ASSERT_NE(log, log_);
  EXPECT_FALSE(read_log(log).damage);
}

TEST_F(WriteAheadLogTest, ADamagedLogIsKeptAndSaidOnce) {
  const std::string damaged = with_damage(head_bytes + frame_bytes + 100);
  const fs::path copy = folder_ / "copy.db";
  ASSERT_TRUE(write_small_file(copy, database_, false).ok());
  EXPECT_EQ(examine_log(copy, Examine::keep).text, "");  // no log
  ASSERT_TRUE(write_small_file(log_of(copy), log_, false).ok());
  EXPECT_EQ(examine_log(copy, Examine::keep).text, "");
  ASSERT_TRUE(write_small_file(log_of(copy), damaged, false).ok());
  const auto [found_damage, said] = examine_log(copy, Examine::keep);
  EXPECT_TRUE(found_damage);
  EXPECT_NE(said.find("copy.db-wal is damaged in its record 2"), std::string::npos) << said;
  EXPECT_NE(said.find("commits after it are lost"), std::string::npos) << said;
  EXPECT_NE(said.find("kept as " + log_of(copy).string() + ".damaged"), std::string::npos) << said;
  EXPECT_EQ(bytes_of(log_of(copy).string() + ".damaged"), damaged);
}

TEST_F(WriteAheadLogTest, AfterADamagedLogWasKeptTheNextKillsFindNothingNew) {
  const fs::path copy = folder_ / "copy.db";
  const std::string damaged = with_damage(log_.size() / frame_bytes / 2 * frame_bytes + 100);
  ASSERT_TRUE(write_small_file(copy, database_, false).ok());
  ASSERT_TRUE(write_small_file(log_of(copy), damaged, false).ok());
  ASSERT_TRUE(examine_log(copy, Examine::keep).damaged);
  std::string database, log;
  for (int kill = 0; kill < 3; ++kill) {
    {
      const auto store = Store::open(copy, Access::read_write);
      ASSERT_TRUE(store.ok()) << store.error().message;
      EXPECT_EQ(examine_log(copy, Examine::look).text, "") << "while it is open";
      ASSERT_TRUE((*store)->append_events({event(100 + kill)}).ok());
      EXPECT_EQ(examine_log(copy, Examine::look).text, "") << "after a commit";
      database = bytes_of(copy);
      log = bytes_of(log_of(copy));
    }
    ASSERT_TRUE(write_small_file(copy, database, false).ok());
    ASSERT_TRUE(write_small_file(log_of(copy), log, false).ok());
    EXPECT_EQ(examine_log(copy, Examine::keep).text, "") << kill;
  }
  EXPECT_EQ(bytes_of(log_of(copy).string() + ".damaged"), damaged);
}

TEST_F(WriteAheadLogTest, NoKeptLogReplacesAnother) {
  const fs::path copy = folder_ / "copy.db";
  const auto said_of = [&](std::size_t at) {
    EXPECT_TRUE(write_small_file(log_of(copy), with_damage(at), false).ok());
    return examine_log(copy, Examine::keep).text;
  };
  const std::size_t first = head_bytes + frame_bytes + 100;
  const std::string name = "kept as " + log_of(copy).string() + ".damaged";
  EXPECT_NE(said_of(first).find(name + ")"), std::string::npos);
  EXPECT_NE(said_of(first).find(name + ")"), std::string::npos) << "the same again";
  for (std::size_t i = 2; i <= 9; ++i)
    EXPECT_NE(said_of(first + i).find(name + "." + std::to_string(i) + ")"), std::string::npos);
  EXPECT_NE(said_of(first + 10).find("could not be kept: there are 9"), std::string::npos);
  EXPECT_FALSE(log_is_kept(copy));
  EXPECT_EQ(bytes_of(log_of(copy).string() + ".damaged"), with_damage(first));
  said_of(first + 9);
  EXPECT_TRUE(log_is_kept(copy));
}

TEST_F(WriteAheadLogTest, OneLostCommitIsNotCommits) {
  const fs::path copy = folder_ / "copy.db";
  std::string said;
  // From the end on: the first damage that is told hides one commit behind its own.
  for (std::size_t at = log_.size() - 100; said.empty(); at -= frame_bytes) {
    ASSERT_TRUE(write_small_file(log_of(copy), with_damage(at), false).ok());
    said = examine_log(copy, Examine::look).text;
  }
  EXPECT_NE(said.find("at least 1 commit after it is lost, "), std::string::npos) << said;
}

TEST_F(WriteAheadLogTest, WhoOnlyLooksIsToldOfTheSameDamageAndLeavesNothingBehind) {
  const fs::path copy = folder_ / "copy.db";
  ASSERT_TRUE(
      write_small_file(log_of(copy), with_damage(head_bytes + frame_bytes + 100), false).ok());
  const auto [found_damage, said] = examine_log(copy, Examine::look);
  EXPECT_TRUE(found_damage);
  EXPECT_NE(said.find("copy.db-wal is damaged in its record 2"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(log_of(copy).string() + ".damaged"));
  EXPECT_EQ(examine_log(file_, Examine::look).text, "") << "beside the one who writes";
}

TEST_F(WriteAheadLogTest, CommitsThatAreTakenAreCounted) {
  EXPECT_EQ(read_log(log_).commits, event_count);
  EXPECT_EQ(read_log(std::string_view(log_).substr(0, log_.size() - 1)).commits, event_count - 1);
  EXPECT_EQ(read_log({}).commits, 0U);
}

/// A store that was never written back: one empty page, and all that it knows in its log.
TEST_F(StoreTest, AYoungStoreWhoseLogWasCutToNothingIsSaid) {
  auto store = open();
  const std::string page = read_small_file(file_, 1 << 20).value();
  const std::string log = read_small_file(log_of(file_), 1 << 20).value();
  const fs::path copy = folder_ / "copy.db";
  const auto said_with = [&](std::string_view left) {
    EXPECT_TRUE(write_small_file(copy, page, false).ok());
    EXPECT_TRUE(write_small_file(log_of(copy), left, false).ok());
    return examine_log(copy, Examine::look);
  };
  ASSERT_TRUE(begins_in_its_log(file_));
  EXPECT_EQ(said_with(log).text, "");
  for (const std::size_t bytes : {0, 16, 32, 1000, 4119}) {
    const auto [found_damage, said] = said_with(std::string_view(log).substr(0, bytes));
    EXPECT_FALSE(found_damage);
    EXPECT_EQ(said.find("there is nothing in " + copy.string()), 0U) << bytes << said;
    EXPECT_NE(said.find("faultline store backup"), std::string::npos) << said;
  }
  store.reset();  // written back: the log is gone, and nothing is missing
  EXPECT_FALSE(begins_in_its_log(file_));
  EXPECT_EQ(examine_log(file_, Examine::look).text, "");
  ASSERT_TRUE(write_small_file(log_of(file_), "", false).ok());
  EXPECT_EQ(examine_log(file_, Examine::look).text, "");
  EXPECT_EQ(examine_log(folder_ / "none.db", Examine::look).text, "");
}

TEST_F(WriteAheadLogTest, ADamagedLogThatCannotBeKeptIsStillSaid) {
  const fs::path copy = folder_ / "copy.db";
  ASSERT_TRUE(
      write_small_file(log_of(copy), with_damage(head_bytes + frame_bytes + 100), false).ok());
  fs::create_directory(log_of(copy).string() + ".damaged");  // takes the place of the copies
  for (int i = 2; i <= 9; ++i)
    fs::create_directory(log_of(copy).string() + ".damaged." + std::to_string(i));
  const auto [found_damage, said] = examine_log(copy, Examine::keep);
  EXPECT_TRUE(found_damage);
  EXPECT_NE(said.find("could not be kept: "), std::string::npos) << said;
}

TEST_F(WriteAheadLogTest, ALogThatCannotBeLookedAtIsSaidAndNotCalledDamaged) {
  const auto expect_not_looked_at = [](const fs::path& database) {
    const auto [found_damage, said] = examine_log(database, Examine::keep);
    EXPECT_FALSE(found_damage);
    EXPECT_EQ(said.find("not looked at for damage: "), 0U) << said;
    EXPECT_NE(said.find(log_of(database).string()), std::string::npos) << said;
  };
  const fs::path folder = folder_ / "folder.db";
  fs::create_directory(log_of(folder));
  expect_not_looked_at(folder);
  const fs::path large = folder_ / "large.db";
  ASSERT_TRUE(write_small_file(log_of(large), log_, false).ok());
  fs::resize_file(log_of(large), 64ULL << 20);  // with a hole: it takes no room
  EXPECT_EQ(examine_log(large, Examine::keep).text, "");
  fs::resize_file(log_of(large), (64ULL << 20) + 1);
  expect_not_looked_at(large);
}

}  // namespace
}  // namespace faultline
