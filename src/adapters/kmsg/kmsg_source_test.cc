#include "adapters/kmsg/kmsg_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace faultline {
namespace {

/// The kernel's ring: records by sequence number, the oldest of which may be overwritten.
struct Ring {
  std::map<std::uint64_t, std::string> records;
  void add(std::uint64_t sequence, const std::string& text) {
    records[sequence] = "3," + std::to_string(sequence) + ",1000,-;" + text + "\n";
  }
};

class FakeDevice final : public KmsgDevice {
 public:
  explicit FakeDevice(Ring& ring, int open_error = 0) : ring_(ring), open_error_(open_error) {}
  int open() override { return open_error_; }
  ssize_t read(char* buffer, std::size_t bytes) override {
    const auto it = ring_.records.lower_bound(next_);
    if (it == ring_.records.end()) return -EAGAIN;
    if (it->first > next_ && next_ != 0) {
      next_ = it->first;
      return -EPIPE;
    }
    next_ = it->first + 1;
    const std::size_t size = std::min(bytes, it->second.size());
    std::copy_n(it->second.data(), size, buffer);
    return static_cast<ssize_t>(size);
  }
  void seek_to_start() override { next_ = 0; }
  void seek_to_end() override {
    next_ = ring_.records.empty() ? 0 : ring_.records.rbegin()->first + 1;
  }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  Ring& ring_;
  int open_error_;
  std::uint64_t next_ = 0;
};

/// A kernel that writes faster than anybody reads.
class EndlessDevice final : public KmsgDevice {
 public:
  int open() override { return 0; }
  ssize_t read(char* buffer, std::size_t) override {
    const std::string record = "3," + std::to_string(next_++) + ",1000,-;x\n";
    std::copy(record.begin(), record.end(), buffer);
    return static_cast<ssize_t>(record.size());
  }
  void seek_to_start() override {}
  void seek_to_end() override {}
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  std::uint64_t next_ = 1;
};

KmsgSource source(Ring& ring, const std::string& boot = "boot-1") {
  return KmsgSource(boot, std::make_unique<FakeDevice>(ring));
}

std::string read(KmsgSource& from, std::string* gaps = nullptr) {
  std::string all;
  const auto chunks = from.poll(1 << 20);
  for (const Chunk& chunk : chunks.value()) {
    all += std::to_string(chunk.offset) + " ";
    if (gaps != nullptr && chunk.gap) *gaps += to_text(*chunk.gap);
  }
  return all;
}

TEST(Kmsg, FirstStartReadsOnlyWhatIsNew) {
  Ring ring;
  ring.add(1, "old");
  auto kmsg = source(ring);
  EXPECT_EQ(read(kmsg), "");
  EXPECT_EQ(kmsg.cursor(), "boot-1:1");
  ring.add(2, "new");
  const auto chunks = kmsg.poll(1 << 20);
  ASSERT_EQ(chunks->size(), 1U);
  EXPECT_EQ(chunks->front().bytes, "3,2,1000,-;new\n");
  EXPECT_EQ(chunks->front().offset, 2U);
  EXPECT_EQ(chunks->front().incarnation, "boot-1");
  EXPECT_EQ(kmsg.cursor(), "boot-1:2");
}

TEST(Kmsg, APollForNoBytesTakesThePlaceAndReadsNothing) {
  Ring ring;
  ring.add(1, "old");
  auto kmsg = source(ring);
  EXPECT_TRUE(kmsg.poll(0)->empty());
  ring.add(2, "new");
  EXPECT_TRUE(kmsg.poll(0)->empty());
  EXPECT_EQ(read(kmsg), "2 ");
}

TEST(Kmsg, KilledBeforeItsFirstRecordItFindsItsPlaceAgain) {
  Ring ring;
  for (std::uint64_t i = 70; i <= 90; ++i) ring.add(i, "old");
  auto killed = source(ring);
  EXPECT_TRUE(killed.poll(0)->empty());
  ring.add(91, "while nobody reads");
  auto kmsg = source(ring);
  kmsg.resume(killed.cursor());
  std::string gaps;
  EXPECT_EQ(read(kmsg, &gaps), "91 ");
  EXPECT_EQ(gaps, "");
}

TEST(Kmsg, WhatWasOverwrittenBeforeTheFirstStartIsNoGap) {
  Ring ring;
  for (const std::uint64_t i : {70, 71, 80, 90}) ring.add(i, "old");
  auto kmsg = source(ring);
  EXPECT_TRUE(kmsg.poll(0)->empty());
  ring.add(91, "new");
  std::string gaps;
  EXPECT_EQ(read(kmsg, &gaps), "91 ");
  EXPECT_EQ(gaps, "");
}

TEST(Kmsg, AKernelThatNeverEndsDoesNotHoldUpTheStart) {
  KmsgSource kmsg("boot-1", std::make_unique<EndlessDevice>());
  EXPECT_TRUE(kmsg.poll(0)->empty());
  EXPECT_EQ(kmsg.cursor(), "boot-1:1000000");
}

TEST(Kmsg, KilledBeforeItsFirstRecordAfterARebootItTakesTheWholeRing) {
  Ring ring;
  for (std::uint64_t i = 1; i <= 3; ++i) ring.add(i, "x");
  auto killed = source(ring, "boot-2");
  killed.resume("boot-1:9000");
  EXPECT_TRUE(killed.poll(0)->empty());
  EXPECT_EQ(killed.cursor(), "") << "the state keeps what it has";
}

TEST(Kmsg, ResumesInTheSameBoot) {
  Ring ring;
  for (std::uint64_t i = 1; i <= 5; ++i) ring.add(i, "x");
  auto kmsg = source(ring);
  kmsg.resume("boot-1:3");
  std::string gaps;
  EXPECT_EQ(read(kmsg, &gaps), "4 5 ");
  EXPECT_EQ(gaps, "");
}

TEST(Kmsg, AfterAResumeAHoleIsAGap) {
  Ring ring;
  for (std::uint64_t i = 10; i <= 12; ++i) ring.add(i, "x");
  auto kmsg = source(ring);
  kmsg.resume("boot-1:3");
  std::string gaps;
  EXPECT_EQ(read(kmsg, &gaps), "10 11 12 ");
  EXPECT_EQ(gaps, "overrun");
}

TEST(Kmsg, AfterARebootTheWholeRingIsNews) {
  Ring ring;
  for (std::uint64_t i = 1; i <= 3; ++i) ring.add(i, "x");
  auto kmsg = source(ring, "boot-2");
  kmsg.resume("boot-1:9000");
  EXPECT_EQ(read(kmsg), "1 2 3 ");
}

TEST(Kmsg, OverrunIsAGap) {
  Ring ring;
  ring.add(1, "x");
  auto kmsg = source(ring);
  read(kmsg);
  ring.add(2, "x");
  read(kmsg);
  for (std::uint64_t i = 3; i <= 20; ++i) ring.add(i, "x");
  ring.records.erase(ring.records.begin(), ring.records.find(15));
  std::string gaps;
  EXPECT_EQ(read(kmsg, &gaps), "15 16 17 18 19 20 ");
  EXPECT_EQ(gaps, "overrun");
}

TEST(Kmsg, SaysWhatToDoWithoutPermission) {
  Ring ring;
  KmsgSource kmsg("boot-1", std::make_unique<FakeDevice>(ring, EPERM));
  const auto error = kmsg.poll(100).error();
  EXPECT_EQ(error.code, ErrorCode::permission_denied);
  EXPECT_NE(error.message.find("CAP_SYSLOG"), std::string::npos);
}

TEST(Kmsg, OddRecordsAndCursorsDoNotStopIt) {
  Ring ring;
  ring.records[1] = "no commas at all\n";
  ring.records[2] = "3,x,1,-;bad number";
  ring.add(3, "fine");
  auto kmsg = source(ring);
  kmsg.resume("boot-0:1");
  EXPECT_EQ(kmsg.poll(1 << 20)->size(), 3U);
  for (const char* cursor : {"", ":", "boot-1:", "boot-1:-5", "boot-1:99999999999999999999999"}) {
    auto other = source(ring);
    other.resume(cursor);
    EXPECT_TRUE(other.poll(100).ok());
  }
}

}  // namespace
}  // namespace faultline
