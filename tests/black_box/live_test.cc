// A black box on disk that is written while it is read, by one writer as it should be, and by two
// that do not know of each other.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "adapters/rings/ring_file.h"
#include "tests/fixtures/ring_story.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class LiveRingTest : public testing::Test {
 protected:
  LiveRingTest()
      : path_(fs::temp_directory_path() / ("live-" + std::to_string(::getpid()) + ".ring")) {
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(ringfmt::ring_bytes)), 0);
    ring_ = static_cast<ringfmt::Ring*>(
        ::mmap(nullptr, ringfmt::ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
    make_header(ring_->header);
    ring_->header.uid = ::getuid();
    trace::Writer first = writer();
    trace::write_anchor(first, 0);
  }
  ~LiveRingTest() override {
    ::munmap(ring_, ringfmt::ring_bytes);
    fs::remove(path_);
  }
  [[nodiscard]] trace::Writer writer() const {
    trace::Writer made{};
    made.ring = made.mapped = ring_;
    made.pid = ring_->header.pid;
    made.anchor_interval_ticks = 1'000'000;  // often, so that anchors are read in their midst, too
    return made;
  }
  void write(std::uint64_t from, std::uint32_t flags) {
    trace::Writer mine = writer();
    trace::CommunicatorFacts facts;
    facts.flags = flags;
    const auto world = trace::open_communicator(mine, facts);
    for (std::uint64_t i = from; !done_; ++i) {
      const auto handle = trace::start_operation(mine, world, StoryRing::facts_of(i, 1));
      trace::start_channel(mine, handle, 0, 1);
      trace::stop_channel(mine, handle, 0, 2);
    }
  }

  const fs::path path_;
  ringfmt::Ring* ring_ = nullptr;
  std::atomic<bool> done_{false};
};

TEST_F(LiveRingTest, WhatIsWholeIsNeverAMixture) {
  std::thread one([&] { write(0, 0); });
  std::thread two([&] { write(1'000'000'000, ringfmt::communicator_shared); });
  std::size_t whole = 0;
  for (int i = 0; i < 50; ++i) {
    const auto ring = read_ring_file(path_);
    ASSERT_TRUE(ring.ok());
    check_limits(*ring);
    EXPECT_EQ(mixtures_in(*ring, &whole), 0U);
    EXPECT_EQ(ring->problems.count("wild_generations"), 0U);
  }
  done_ = true;
  one.join();
  two.join();
  EXPECT_GT(whole, 1000U);
}

TEST_F(LiveRingTest, TwoWritersThatDoNotKnowOfEachOtherBreakNoReader) {
  trace::Writer setup = writer();
  const auto world = trace::open_communicator(setup, {});
  const auto careless = [&](std::uint64_t from) {
    trace::Writer mine = writer();
    for (std::uint64_t i = from; !done_; ++i) {
      const auto handle = trace::start_operation(mine, world, StoryRing::facts_of(i, 1));
      trace::stop_channel(mine, handle, 0, 2);
    }
  };
  std::thread one(careless, 0);
  std::thread two(careless, 1'000'000'000);
  for (int i = 0; i < 50; ++i) {
    const auto ring = read_ring_file(path_);
    ASSERT_TRUE(ring.ok());
    check_limits(*ring);
  }
  done_ = true;
  one.join();
  two.join();
}

TEST_F(LiveRingTest, OnlyFilesAreOpenedAndLinksAreNotFollowed) {
  const fs::path link = path_.string() + ".link";
  fs::create_symlink(path_, link);
  EXPECT_EQ(read_ring_file(link).error().code, ErrorCode::invalid_argument);
  fs::remove(link);
  ::mkfifo(link.c_str(), 0600);
  EXPECT_EQ(read_ring_file(link).error().code, ErrorCode::invalid_argument)
      << "and it does not wait";
  fs::remove(link);
  EXPECT_EQ(read_ring_file(fs::temp_directory_path()).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(read_ring_file(link).error().code, ErrorCode::not_found);
  ring_->header.uid = 12345;
  const auto foreign = read_ring_file(path_);
  ASSERT_TRUE(foreign.ok());
  EXPECT_THAT(foreign->problems, testing::Contains(testing::Key("foreign_owner")));
}

}  // namespace
}  // namespace faultline
