// Logs that cannot be opened or read for a while.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "adapters/logs/follower_fixture.h"

namespace faultline {
namespace {

/// The number of the follower's descriptor of `path`.
int descriptor_of(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) == path)
      return std::stoi(entry.path().filename().string());
  }
  ADD_FAILURE() << path << " is not open";
  return -1;
}
/// The open descriptor of `path` cannot be read any more, as one whose server forgot it.
void make_stale(const fs::path& path) {
  const int stale = descriptor_of(path);
  const int unreadable = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::dup2(unreadable, stale), stale);
  ::close(unreadable);
}

/// No file can be opened while this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(FollowerTest, AFileThatCannotBeOpenedAtFirstIsOldAllTheSame) {
  append("old\n");
  auto log = follower();
  {
    const NoDescriptors none;
    EXPECT_EQ(log.poll(100).error().code, ErrorCode::unavailable);
  }
  EXPECT_EQ(read(log), "");
  append("new\n");
  EXPECT_EQ(read(log), "new\n");
}

TEST_F(FollowerTest, AFileThatCannotBeOpenedAtFirstGoesOnFromItsCursor) {
  const std::string cursor = cursor_after("read\n");
  append("rest\n");
  auto log = follower();
  log.resume(cursor);
  {
    const NoDescriptors none;
    EXPECT_FALSE(log.poll(100).ok());
  }
  EXPECT_EQ(log.cursor(), cursor);
  EXPECT_EQ(read(log), "rest\n");
  EXPECT_EQ(gaps_, "");
}

// The folder is a mount that comes after the agent.
TEST_F(FollowerTest, AMountThatComesLateGoesOnFromTheCursor) {
  const std::string cursor = cursor_after("read\n");
  append("rest\n");
  const fs::path unmounted = folder_.string() + ".away";
  fs::rename(folder_, unmounted);
  auto log = follower();
  log.resume(cursor);
  EXPECT_EQ(log.poll(100).error().code, ErrorCode::not_found);
  fs::rename(unmounted, folder_);
  EXPECT_EQ(read(log), "rest\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, AMountThatGoesAndComesBackLosesNothingAndTellsNothingTwice) {
  append("");
  auto log = follower();
  read(log);
  append("one\nhal");
  EXPECT_EQ(read(log), "one\nhal");
  const std::string cursor = log.cursor();
  const fs::path unmounted = folder_.string() + ".away";
  fs::rename(folder_, unmounted);
  clock_.advance(std::chrono::seconds{31});
  for (int i = 0; i < 2; ++i) read(log);
  EXPECT_EQ(log.poll(100).error().code, ErrorCode::not_found) << "it was let go";
  EXPECT_EQ(log.cursor(), cursor);
  fs::rename(unmounted, folder_);
  append("f\n");
  EXPECT_EQ(read(log), "f\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, ANameOutOfReachIsNoDeletion) {
  append("");
  auto log = follower();
  read(log);
  append("one\n");
  read(log);
  const fs::path away = folder_.string() + ".away";
  fs::rename(folder_, away);
  fs::create_symlink(folder_, folder_);  // a loop: neither there nor gone
  clock_.advance(std::chrono::seconds{31});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(log.poll(100).ok()) << "still open";
  fs::remove(folder_);
  fs::rename(away, folder_);
  append("two\n");
  EXPECT_EQ(read(log), "two\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, AFailedReadIsNoTruncationAndTheFileIsOpenedAnew) {
  append("");
  auto log = follower();
  read(log);
  append("one\nhal");
  read(log);
  make_stale(path_);
  append("f\n");
  EXPECT_EQ(log.poll(100).error().code, ErrorCode::unavailable);
  EXPECT_EQ(read(log), "f\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, ARotationMeanwhileIsFoundAfterAFailedRead) {
  append("");
  auto log = follower();
  read(log);
  append("one\n");
  read(log);
  make_stale(path_);
  append("two\n");
  EXPECT_FALSE(log.poll(100).ok());
  fs::rename(path_, folder_ / "log.1");
  append("three\n");
  EXPECT_EQ(read(log), "two\nthree\n");
  EXPECT_EQ(gaps_, "");
}

TEST_F(FollowerTest, ARestThatCannotBeReadIsSaidInTheEnd) {
  append("");
  auto log = follower();
  read(log);
  append("one\n");
  read(log);
  append("two\n");
  fs::rename(path_, folder_ / "log.1");
  make_stale(folder_ / "log.1");
  append("three\n");
  EXPECT_FALSE(log.poll(100).ok());
  clock_.advance(std::chrono::seconds{31});
  EXPECT_EQ(read(log), "");
  EXPECT_EQ(read(log), "three\n");
  EXPECT_EQ(gaps_, "rotated ");
}

}  // namespace
}  // namespace faultline
