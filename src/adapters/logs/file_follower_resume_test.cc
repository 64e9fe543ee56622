// What happened to a log while no follower ran, told by its cursor.
#include <fstream>

#include "adapters/logs/follower_fixture.h"

namespace faultline {
namespace {

TEST_F(FollowerTest, CursorContinuesWhereItStoodAtALineStart) {
  append("");
  std::string cursor;
  {
    auto log = follower();
    read(log);
    append("one\nhal");
    read(log);
    cursor = log.cursor();
  }
  append("f\ntwo\n");
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), "half\ntwo\n");
  EXPECT_EQ(gaps_, "");
}

// Rotated or rewritten while the agent was down: nothing in it was read before, and all of it is
// newer than what was.
TEST_F(FollowerTest, AFileThatReplacedTheOneOfTheCursorIsReadFromItsStart) {
  append("one\n");
  std::string cursor;
  {
    auto log = follower({.start_at = 0});
    read(log);
    cursor = log.cursor();
  }
  const std::string same_size = "two\n";
  std::ofstream(path_, std::ios::binary | std::ios::trunc)
      << same_size << "more\n";  // same inode, other content
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), "two\nmore\n");
  EXPECT_EQ(gaps_, "rotated ");
}

// The agent was down while the log was rotated: the rest of the old file comes before the new one.
TEST_F(FollowerTest, ARotationWhileAwayLosesNothing) {
  for (const char* name : {"log.1", "log-20261130", "log-2026-11-30.2"}) {
    fs::remove(path_);
    append("read\n");
    std::string cursor;
    {
      auto log = follower({});
      read(log);
      append("read too\n");
      read(log);
      cursor = log.cursor();
    }
    append("rest\n");
    fs::rename(path_, folder_ / name);
    append("log.1.gz is another file\n", folder_ / "log.1.gz");
    append("new\n");
    auto log = follower();
    log.resume(cursor);
    EXPECT_EQ(read(log), "rest\nnew\n") << name;
    EXPECT_EQ(gaps_, "") << name;
    auto again = follower();
    again.resume(log.cursor());
    EXPECT_EQ(read(again), "") << name << ": nothing is told twice";
    fs::remove(folder_ / name);
  }
}

TEST_F(FollowerTest, ACrashInTheRestOfTheOldFileLosesNothing) {
  append("");
  std::string cursor;
  {
    auto log = follower();
    read(log);
    append("one\n");
    read(log);
    cursor = log.cursor();
  }
  append("two\nthree\n");
  fs::rename(path_, folder_ / "log.1");
  append("four\n");
  {
    auto log = follower();
    log.resume(cursor);
    ASSERT_EQ(log.poll(4)->at(0).bytes, "two\n");
    cursor = log.cursor();
  }
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), "three\nfour\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, TwoRotationsWhileAwayLeaveAGapThatIsSaid) {
  append("");
  std::string cursor;
  {
    auto log = follower();
    read(log);
    append("one\n");
    read(log);
    cursor = log.cursor();
  }
  append("two\n");
  fs::rename(path_, folder_ / "log.2");
  append("between\n", folder_ / "log.1");
  fs::last_write_time(folder_ / "log.2",
                      fs::last_write_time(folder_ / "log.1") - std::chrono::hours{1});
  append("new\n");
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), "two\nnew\n");
  EXPECT_EQ(gaps_, "rotated ");
}

TEST_F(FollowerTest, AnotherFileUnderARotatedNameIsNotRead) {
  append("one\n");
  std::string cursor;
  {
    auto log = follower({.start_at = 0});
    read(log);
    cursor = log.cursor();
  }
  fs::rename(path_, folder_ / "log.bak");  // the right file under a name that no rotation gives
  append("one\nforeign\n", folder_ / "log.1");
  append("new\n");
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), "new\n");
  EXPECT_EQ(gaps_, "rotated ");
}

TEST_F(FollowerTest, HostileCursorsAreHarmless) {
  append("one\n");
  for (const char* cursor :
       {"", ":", "1:2:3", "a:b:c:d:e", "1:2:3:999999999999:x",
        "18446744073709551616:0:0:0:", "1:2:3:999999999999:x:y", "18446744073709551616:0:0:0::"}) {
    auto log = follower();
    log.resume(cursor);
    EXPECT_EQ(read(log), "") << cursor;
  }
}

// A requeued job writes its log anew, under the same banner.
TEST_F(FollowerTest, RewrittenWhileAwayUnderTheSameBeginningIsNoticed) {
  const std::string banner = std::string(300, '=') + "\n";
  const std::string cursor = cursor_after(banner + "first attempt\n");
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << banner << "other attempt\nmore\n";
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(read(log), banner + "other attempt\nmore\n");
  EXPECT_EQ(gaps_, "rotated ");
}

}  // namespace
}  // namespace faultline
