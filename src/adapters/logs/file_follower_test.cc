#include "adapters/logs/file_follower.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/rng.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class FollowerTest : public testing::Test {
 protected:
  FollowerTest() {
    std::string pattern = (fs::temp_directory_path() / "follow-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "log";
  }
  ~FollowerTest() override { fs::remove_all(folder_); }

  void append(const std::string& text, const fs::path& path = {}) const {
    std::ofstream(path.empty() ? path_ : path, std::ios::app | std::ios::binary) << text;
  }
  FileFollower follower(FollowOptions options = {}) const {
    return FileFollower(path_.string(), options, clock_);
  }
  /// Everything that is there now; gaps go to gaps_.
  std::string read(FileFollower& from, std::size_t bytes_max = 1 << 20) {
    std::string all;
    for (int i = 0; i < 1000; ++i) {
      const auto chunks = from.poll(bytes_max);
      if (!chunks.ok() || chunks->empty()) break;
      for (const Chunk& chunk : chunks.value()) {
        all += chunk.bytes;
        if (!chunk.gap.empty()) gaps_ += chunk.gap + " ";
      }
    }
    return all;
  }

  /// What the agent keeps for its next run after it has read `text` and nothing before it.
  std::string cursor_after(const std::string& text) {
    append("");
    auto log = follower();
    read(log);
    append(text);
    EXPECT_EQ(read(log), text);
    return log.cursor();
  }
  /// The number of the follower's descriptor of `path`.
  static int descriptor_of(const fs::path& path) {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (fs::read_symlink(entry.path(), gone) == path)
        return std::stoi(entry.path().filename().string());
    }
    ADD_FAILURE() << path << " is not open";
    return -1;
  }
  /// The open descriptor of `path` cannot be read any more, as one whose server forgot it.
  static void make_stale(const fs::path& path) {
    const int stale = descriptor_of(path);
    const int unreadable = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::dup2(unreadable, stale), stale);
    ::close(unreadable);
  }

  ManualClock clock_{Instant{std::chrono::seconds{1'800'000'000}}};
  fs::path folder_;
  fs::path path_;
  std::string gaps_;
};

TEST_F(FollowerTest, ReadsOnlyWhatComesAfterItsStart) {
  append("old\n");
  auto log = follower();
  EXPECT_EQ(read(log), "");
  append("new\n");
  EXPECT_EQ(read(log), "new\n");
  EXPECT_EQ(read(log), "");
  EXPECT_EQ(gaps_, "");
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
