#include "agent/spool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "agent/full_disk_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = (fs::temp_directory_path() / "spool-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    limits_.sync = false;
  }
  ~SpoolTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Spool> open(const fs::path& folder) {
    auto spool = Spool::open(folder, limits_, counters_);
    EXPECT_TRUE(spool.ok());
    return std::move(spool).value();
  }
  std::unique_ptr<Spool> open() { return open(folder_); }
  static std::vector<std::string> all(Spool& spool) {
    std::vector<std::string> records;
    while (true) {
      const Spool::Batch batch = spool.read(3, 1000);
      if (batch.records.empty()) return records;
      records.insert(records.end(), batch.records.begin(), batch.records.end());
      spool.acknowledge(batch);
    }
  }
  fs::path only_segment(const fs::path& folder) const {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".seg") return entry.path();
    }
    return {};
  }

  fs::path folder_;
  Spool::Limits limits_;
  Counters counters_;
};

TEST_F(SpoolTest, CrcIsThePublishedOne) { EXPECT_EQ(crc32_of("123456789"), 0xCBF43926U); }

TEST_F(SpoolTest, GivesBackInOrderAndDeletesWhatIsAcknowledged) {
  auto spool = open();
  ASSERT_TRUE(spool->append({"a", "", "ccc"}).ok());
  ASSERT_TRUE(spool->append({"d"}).ok());
  EXPECT_EQ(spool->pending(), 4U);
  EXPECT_EQ(all(*spool), (std::vector<std::string>{"a", "", "ccc", "d"}));
  EXPECT_EQ(spool->pending(), 0U);
  EXPECT_EQ(only_segment(folder_), fs::path());
  ASSERT_TRUE(spool->append({"e"}).ok());
  EXPECT_EQ(all(*spool), std::vector<std::string>{"e"});
}

TEST_F(SpoolTest, SurvivesARestartAndRemembersWhatWasAcknowledged) {
  {
    auto spool = open();
    ASSERT_TRUE(spool->append({"a", "b", "c"}).ok());
    const auto batch = spool->read(2, 1000);
    spool->acknowledge(batch);
  }
  auto spool = open();
  EXPECT_EQ(all(*spool), std::vector<std::string>{"c"});
  spool.reset();
  spool = open();
  ASSERT_TRUE(spool->append({"d"}).ok());
  EXPECT_EQ(all(*spool), std::vector<std::string>{"d"});
}

TEST_F(SpoolTest, WhatWasReadButNotAcknowledgedComesAgain) {
  auto spool = open();
  ASSERT_TRUE(spool->append({"a", "b"}).ok());
  EXPECT_EQ(spool->read(10, 1000).records.size(), 2U);
  EXPECT_EQ(spool->read(10, 1000).records.size(), 2U);
}

TEST_F(SpoolTest, BatchesObeyBothLimitsButNeverStandStill) {
  auto spool = open();
  ASSERT_TRUE(
      spool->append({std::string(100, 'a'), std::string(100, 'b'), std::string(5000, 'c')}).ok());
  EXPECT_EQ(spool->read(10, 150).records.size(), 1U);
  EXPECT_EQ(spool->read(1, 10000).records.size(), 1U);
  EXPECT_EQ(spool->read(10, 10000).records.size(), 3U);
  auto batch = spool->read(2, 10000);
  spool->acknowledge(batch);
  EXPECT_EQ(spool->read(10, 10).records.size(), 1U);
}

/// A crash at any byte of the last write leaves all earlier records, and never half of one.
TEST_F(SpoolTest, CutAtEveryByte) {
  {
    auto spool = open();
    ASSERT_TRUE(spool->append({"first", "second"}).ok());
    ASSERT_TRUE(spool->append({"third record", ""}).ok());
  }
  const fs::path segment = only_segment(folder_);
  const auto size = fs::file_size(segment);
  const std::vector<std::string> full = {"first", "second", "third record", ""};
  for (std::uintmax_t cut = 0; cut <= size; ++cut) {
    const fs::path copy = folder_ / "copy";
    fs::remove_all(copy);
    fs::create_directory(copy);
    fs::copy_file(segment, copy / segment.filename());
    fs::resize_file(copy / segment.filename(), cut);
    auto spool = open(copy);
    ASSERT_TRUE(spool->append({"after"}).ok());
    std::vector<std::string> expected;
    std::uintmax_t end = 0;
    for (const std::string& record : full) {
      end += 8 + record.size();
      if (end <= cut) expected.push_back(record);
    }
    expected.push_back("after");
    ASSERT_EQ(all(*spool), expected) << "cut at " << cut;
  }
  EXPECT_GT(counters_.get("agent_spool_torn_total"), 0U);
}

/// A flipped bit anywhere is noticed; what came before it is kept.
TEST_F(SpoolTest, DamageAtEveryByte) {
  {
    auto spool = open();
    ASSERT_TRUE(spool->append({"first", "second", "third"}).ok());
  }
  const fs::path segment = only_segment(folder_);
  const auto size = fs::file_size(segment);
  for (std::uintmax_t at = 0; at < size; ++at) {
    const fs::path copy = folder_ / "copy";
    fs::remove_all(copy);
    fs::create_directory(copy);
    fs::copy_file(segment, copy / segment.filename());
    std::fstream file(copy / segment.filename(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    auto spool = open(copy);
    const auto records = all(*spool);
    ASSERT_LT(records.size(), 3U) << at;
    for (std::size_t i = 0; i < records.size(); ++i)
      ASSERT_EQ(records[i], i == 0 ? "first" : "second") << at;
  }
}

TEST_F(SpoolTest, BeyondItsLimitTheOldestGoAndAreCounted) {
  limits_.segment_bytes_max = 100;
  limits_.bytes_max = 500;
  auto spool = open();
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(spool->append({"record " + std::to_string(i) + std::string(20, '.')}).ok());
  const std::uint64_t dropped = spool->take_dropped();
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(spool->take_dropped(), 0U);
  const auto rest = all(*spool);
  EXPECT_EQ(rest.size() + dropped, 40U);
  EXPECT_EQ(rest.back().substr(0, 9), "record 39");
}

TEST_F(SpoolTest, ForeignFilesAreLeftAlone) {
  std::ofstream(folder_ / "notes.seg") << "hello";
  std::ofstream(folder_ / "zzzzzzzzzzzzzzzz.seg") << "hello";
  auto spool = open();
  EXPECT_EQ(spool->pending(), 0U);
  EXPECT_TRUE(fs::exists(folder_ / "notes.seg"));
}

TEST_F(SpoolTest, WhileTheDiskRefusesEventsStayInMemoryAndInOrder) {
  auto spool = open();
  fs::remove_all(folder_);  // the next segment cannot be made
  EXPECT_FALSE(spool->append({"a"}).ok());
  EXPECT_TRUE(spool->append({"b"}).ok()) << "complains once";
  EXPECT_EQ(spool->pending(), 2U);
  fs::create_directory(folder_);
  EXPECT_TRUE(spool->append({"c"}).ok());
  EXPECT_EQ(all(*spool), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(SpoolTest, ADiskThatIsFullAtAnyByteTearsAndLosesNothing) {
  constexpr std::uint64_t first_bytes = 8 + 5;
  constexpr std::uint64_t batch_bytes = 8 + 6 + 8 + 5;
  for (std::uint64_t room = 0; room < batch_bytes; ++room) {
    fs::remove_all(folder_);
    auto spool = open();
    ASSERT_TRUE(spool->append({"first"}).ok());
    Status refused = ok_status();
    {
      const FullDisk full(first_bytes + room);
      refused = spool->append({"second", "third"});
    }
    ASSERT_FALSE(refused.ok()) << room;
    EXPECT_FALSE(spool->durable()) << room;
    EXPECT_EQ(fs::file_size(only_segment(folder_)), first_bytes) << room;
    if (room % 2 == 0) {  // the agent goes on; else it is killed here
      ASSERT_TRUE(spool->append({"fourth"}).ok());
      EXPECT_TRUE(spool->durable());
      ASSERT_EQ(all(*spool), (std::vector<std::string>{"first", "second", "third", "fourth"}));
    } else {
      spool = open();
      ASSERT_EQ(all(*spool), std::vector<std::string>{"first"}) << "what memory had, is read again";
    }
  }
  EXPECT_EQ(counters_.get("agent_spool_torn_total"), 0U);
}

TEST_F(SpoolTest, ADamagedAcknowledgementNeverCostsAnEvent) {
  {
    auto spool = open();
    ASSERT_TRUE(spool->append({"a", "b", "c", "d"}).ok());
    spool->acknowledge(spool->read(2, 1000));
  }
  const fs::path segment = only_segment(folder_);
  for (const std::string content : {"", "1", "2", "3", "x", "-1", "3 3", "6", "9000",
                                    "99999999999999999999", "18446744073709551615"}) {
    const fs::path copy = folder_ / "copy";
    fs::remove_all(copy);
    fs::create_directory(copy);
    fs::copy_file(segment, copy / segment.filename());
    std::ofstream(copy / "acknowledged") << content;
    auto spool = open(copy);
    ASSERT_TRUE(spool->append({"e"}).ok());
    const auto records = all(*spool);
    ASSERT_GE(records.size(), 3U) << content;
    EXPECT_EQ(std::vector<std::string>(records.end() - 3, records.end()),
              (std::vector<std::string>{"c", "d", "e"}))
        << content;
  }
}

TEST_F(SpoolTest, MuchAtOnceIsSeveralSegmentsThatAreReadAgain) {
  limits_.segment_bytes_max = 100;
  const std::vector<std::string> large(4, std::string(600 * 1024, 'x'));
  {
    auto spool = open();
    ASSERT_TRUE(spool->append(large).ok());
  }
  EXPECT_EQ(all(*open()), large);
  EXPECT_EQ(counters_.get("agent_spool_torn_total"), 0U);
}

TEST_F(SpoolTest, ASegmentThatTheDiskDoesNotGiveStopsNobody) {
  fs::create_directory(folder_ / "0000000000000001.seg");  // it can be opened, and not be read
  auto spool = open();
  EXPECT_EQ(counters_.get("agent_spool_unreadable_total"), 1U);
  ASSERT_TRUE(spool->append({"a"}).ok());
  spool.reset();
  spool = open();
  EXPECT_EQ(all(*spool), std::vector<std::string>{"a"});
}

TEST_F(SpoolTest, MemoryHasALimitToo) {
  limits_.memory_bytes_max = 100;
  auto spool = open();
  fs::remove_all(folder_);
  for (int i = 0; i < 10; ++i) static_cast<void>(spool->append({std::string(30, 'x')}).ok());
  EXPECT_EQ(spool->pending(), 3U);
  EXPECT_EQ(spool->take_dropped(), 7U);
  EXPECT_EQ(all(*spool).size(), 3U);
}

}  // namespace
}  // namespace faultline
