#include "adapters/journal/journal_source.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "adapters/process/process.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr const char* maker = "/lib/systemd/systemd-journal-remote";

/// Real journal files, made from journald's export format. Skipped where the maker is not
/// installed.
class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (fs::temp_directory_path() / "journal-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directory(folder_ / "j");
  }
  ~JournalTest() override { fs::remove_all(folder_); }

  /// One file with kernel lines of these texts and a line of a user program between them.
  void make(const std::string& name, std::uint64_t first_usec,
            const std::vector<std::string>& messages) const {
    std::ofstream out(folder_ / "export");
    std::uint64_t usec = first_usec;
    const auto entry = [&](const std::string& transport, const std::string& message) {
      ++usec;
      out << "__REALTIME_TIMESTAMP=" << usec
          << "\n__MONOTONIC_TIMESTAMP=" << usec - 1'799'999'000'000'000
          << "\n_BOOT_ID=4ac5b8d4c2f14b1aa3c1a6a3a1b2c3d4\n_TRANSPORT=" << transport
          << "\n_HOSTNAME=n3\nMESSAGE=" << message << "\n\n";
    };
    for (const std::string& message : messages) {
      entry("stdout", "NVRM: Xid printed by a user");
      entry("kernel", message);
    }
    out.close();
    const auto made = run_process({maker, "-o", (folder_ / "j" / (name + ".journal")).string(),
                                   (folder_ / "export").string()},
                                  {});
    ASSERT_TRUE(made.ok() && made->exit_code == 0);
  }
  static std::string read(JournalSource& source) {
    std::string all;
    const auto chunks = source.poll(1 << 20);
    if (!chunks.ok()) return chunks.error().message;
    for (const Chunk& chunk : chunks.value()) all += chunk.bytes;
    return all;
  }
  fs::path folder_;
};

constexpr std::uint64_t start_usec = 1'800'000'000'000'000;

TEST_F(JournalTest, KernelLinesAfterTheCursorAndNothingElse) {
  ASSERT_TRUE(fs::exists(maker)) << "install systemd-journal-remote";
  make("a", start_usec, {"old 1", "old 2"});
  std::string cursor;
  {
    JournalSource source((folder_ / "j").string());
    EXPECT_EQ(read(source), "") << "what was there before is old";
    cursor = source.cursor();
    EXPECT_FALSE(cursor.empty());
    EXPECT_GE(source.wait_descriptor(), 0);
  }
  make("b", start_usec + 1'000'000, {"new 1", "new 2"});
  JournalSource source((folder_ / "j").string());
  source.resume(cursor);
  EXPECT_EQ(read(source),
            "2027-01-15T08:00:01.000002Z n3 kernel: new 1\n2027-01-15T08:00:01.000004Z n3 kernel: "
            "new 2\n");
  EXPECT_EQ(read(source), "");
}

TEST_F(JournalTest, APollForNoBytesTakesThePlaceAndReadsNothing) {
  ASSERT_TRUE(fs::exists(maker)) << "install systemd-journal-remote";
  make("a", start_usec, {"old"});
  JournalSource source((folder_ / "j").string());
  EXPECT_TRUE(source.poll(0)->empty());
  make("b", start_usec + 1'000'000, {"new"});
  EXPECT_TRUE(source.poll(0)->empty());
  EXPECT_EQ(read(source), "2027-01-15T08:00:01.000002Z n3 kernel: new\n");
}

TEST_F(JournalTest, FolderWithoutJournalsIsQuiet) {
  JournalSource source((folder_ / "j").string());
  EXPECT_EQ(read(source), "");
}

TEST_F(JournalTest, MissingFolderIsUnavailable) {
  JournalSource source((folder_ / "nowhere").string());
  EXPECT_EQ(source.poll(100).error().code, ErrorCode::unavailable);
}

TEST_F(JournalTest, NonsenseCursorStartsAtTheEnd) {
  ASSERT_TRUE(fs::exists(maker)) << "install systemd-journal-remote";
  make("a", start_usec, {"old"});
  JournalSource source((folder_ / "j").string());
  source.resume("nonsense");
  EXPECT_EQ(read(source), "");
}

/// This machine's journal has a file that anybody could read.
bool journal_here() {
  for (const char* folder : {"/run/log/journal", "/var/log/journal"}) {
    std::error_code missing;
    for (const auto& entry : fs::recursive_directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".journal") return true;
    }
  }
  return false;
}

TEST(Journal, AMachineWithoutAReadableOneSaysSoEachTime) {
  if (journal_here()) GTEST_SKIP() << "this machine has one";
  JournalSource source("");
  for (int i = 0; i < 2; ++i) {
    const auto chunks = source.poll(1000);
    ASSERT_FALSE(chunks.ok()) << "silence would be taken for health";
    EXPECT_NE(chunks.error().message.find("--kernel-log kmsg"), std::string::npos);
    EXPECT_EQ(source.wait_descriptor(), -1);
  }
}

}  // namespace
}  // namespace faultline
