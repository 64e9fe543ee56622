// What happens to a log under a running follower.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "adapters/logs/follower_fixture.h"
#include "base/rng.h"

namespace faultline {
namespace {

TEST_F(FollowerTest, ReadsOnlyWhatComesAfterItsStart) {
  append("old\n");
  auto log = follower();
  EXPECT_EQ(read(log), "");
  append("new\n");
  EXPECT_EQ(read(log), "new\n");
  EXPECT_EQ(read(log), "");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, APollForNoBytesTakesThePlaceAndReadsNothing) {
  append("old\n");
  auto log = follower();
  EXPECT_TRUE(log.poll(0)->empty());
  append("new\n");
  EXPECT_TRUE(log.poll(0)->empty());
  EXPECT_EQ(read(log), "new\n");
}

TEST_F(FollowerTest, FileThatAppearsLaterIsReadFromItsStart) {
  auto log = follower();
  EXPECT_EQ(log.poll(100).error().code, ErrorCode::not_found);
  append("born\n");
  EXPECT_EQ(read(log), "born\n");
}

TEST_F(FollowerTest, GrowingLineComesAsItGrows) {
  append("");
  auto log = follower();
  read(log);
  append("ha");
  EXPECT_EQ(read(log), "ha");
  append("lf\n");
  EXPECT_EQ(read(log), "lf\n");
}

TEST_F(FollowerTest, RenameRotationLosesNothingEvenIfTheWriterStaysBehind) {
  append("");
  auto log = follower();
  read(log);
  append("a\n");
  fs::rename(path_, folder_ / "log.1");
  append("b\n", folder_ / "log.1");
  EXPECT_EQ(read(log), "a\nb\n");
  append("d\n");
  append("c\n", folder_ / "log.1");
  EXPECT_EQ(read(log), "c\nd\n");
  append("e\n", folder_ / "log.1");  // the writer has not reopened yet
  EXPECT_EQ(read(log), "e\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, TruncationIsSaidAndReadFromTheStart) {
  append("");
  auto log = follower();
  append("before\n");
  read(log);
  fs::resize_file(path_, 0);
  append("x\n");
  EXPECT_EQ(read(log), "x\n");
  EXPECT_EQ(gaps_, "truncated ");
}

TEST_F(FollowerTest, TruncatedAndRefilledBeyondTheOldEndIsNoticed) {
  append("");
  auto log = follower();
  read(log);
  append("one\ntwo\n");
  read(log);
  fs::resize_file(path_, 0);
  append("three\nfour\nfive\n");
  EXPECT_EQ(read(log), "three\nfour\nfive\n");
  EXPECT_EQ(gaps_, "truncated ");
}

TEST_F(FollowerTest, ReplacedByAnotherFileIsReadFromItsStart) {
  append("");
  auto log = follower();
  read(log);
  append("a\n");
  append("other\n", folder_ / "beside");
  fs::rename(folder_ / "beside", path_);
  EXPECT_EQ(read(log), "a\nother\n");
}

TEST_F(FollowerTest, DeletedFileIsLetGoAfterItsLinger) {
  append("");
  auto log = follower();
  read(log);
  fs::remove(path_);
  EXPECT_TRUE(log.poll(100).ok());
  clock_.advance(std::chrono::seconds{31});
  EXPECT_TRUE(log.poll(100).ok());
  EXPECT_EQ(log.poll(100).error().code, ErrorCode::not_found);
  append("again\n");
  EXPECT_EQ(read(log), "again\n");
}

TEST_F(FollowerTest, StartsWhereTheAttemptBegan) {
  append("earlier attempt\nmine\n");
  auto log = follower({.start_at = 16});
  EXPECT_EQ(read(log), "mine\n");
}

TEST_F(FollowerTest, RefusesLinksForeignersAndWhatIsNoFile) {
  append("secret\n", folder_ / "target");
  fs::create_symlink(folder_ / "target", path_);
  auto link = follower({.start_at = 0, .follow_links = false});
  EXPECT_EQ(link.poll(100).error().code, ErrorCode::invalid_argument);
  fs::remove(path_);
  append("mine\n");
  auto foreign = follower({.start_at = 0, .owner = ::getuid() + 1});
  EXPECT_EQ(foreign.poll(100).error().code, ErrorCode::permission_denied);
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  auto pipe = follower({.start_at = 0});
  EXPECT_EQ(pipe.poll(100).error().code, ErrorCode::invalid_argument);
}

TEST_F(FollowerTest, SwappedForALinkLaterIsRefusedToo) {
  append("a\n");
  auto log = follower({.start_at = 0, .follow_links = false});
  EXPECT_EQ(read(log), "a\n");
  append("secret\n", folder_ / "target");
  fs::remove(path_);
  fs::create_symlink(folder_ / "target", path_);
  EXPECT_EQ(read(log), "");
}

TEST_F(FollowerTest, TruncatedAndRefilledToTheSameSizeIsNoticed) {
  append("");
  auto log = follower();
  read(log);
  append("one\n");
  read(log);
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "two\n";
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds{1});
  EXPECT_EQ(read(log), "two\n");
  EXPECT_EQ(gaps_, "truncated ");
}

TEST_F(FollowerTest, TouchedIsNotTruncated) {
  append("");
  auto log = follower();
  read(log);
  append("one\n");
  read(log);
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds{1});
  EXPECT_EQ(read(log), "");
  append("two\n");
  EXPECT_EQ(read(log), "two\n");
  EXPECT_EQ(gaps_, "");
}

/// Whatever happens between polls that loses nothing, all lines come, each once, in order.
TEST_F(FollowerTest, AnyHistoryWithoutLossGivesEveryLineOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng random(seed);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    append("");
    auto log = follower();
    std::string seen = read(log);
    std::string written;
    int line = 0;
    int rotated = 0;
    for (int step = 0; step < 60; ++step) {
      switch (random.next() % 6) {
        case 0:
        case 1:
        case 2: {
          const std::string text =
              "line " + std::to_string(line++) + std::string(random.next() % 50, 'x') + "\n";
          const std::size_t cut = random.below(text.size());
          append(text.substr(0, cut));
          if (random.next() % 3 == 0) seen += read(log, 1 + random.next() % 64);
          append(text.substr(cut));
          written += text;
          break;
        }
        case 3: seen += read(log, 1 + random.next() % 64); break;
        case 4:  // rename; two generations may be unread, not three
          seen += read(log);
          fs::rename(path_, folder_ / ("log." + std::to_string(++rotated)));
          if (random.next() % 2 == 0) seen += read(log);
          append("");
          break;
        case 5:  // copytruncate, right after everything was read
          seen += read(log);
          fs::resize_file(path_, 0);
          seen += read(log);
          break;
      }
    }
    seen += read(log);
    ASSERT_EQ(seen, written) << "seed " << seed;
  }
}

}  // namespace
}  // namespace faultline
