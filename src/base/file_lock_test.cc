#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>

namespace faultline {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() {
    std::string pattern = (fs::temp_directory_path() / "lock-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FileLockTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(FileLockTest, OneHasItUntilItIsLeft) {
  std::optional<FileLock> mine;
  mine.emplace(FileLock::take(folder_ / "lock", false).value());
  EXPECT_EQ(FileLock::take(folder_ / "lock", false).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(FileLock::take(folder_ / "other", false).ok());
  mine.reset();
  EXPECT_TRUE(FileLock::take(folder_ / "lock", false).ok()) << "the file stays, the lock does not";
}

TEST_F(FileLockTest, WhatCannotBeLockedIsNotTakenForALockOfSomebodyElse) {
  EXPECT_EQ(FileLock::take(folder_ / "missing" / "lock", false).error().code, ErrorCode::not_found);
  fs::create_symlink(folder_ / "target", folder_ / "link");
  EXPECT_EQ(FileLock::take(folder_ / "link", false).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(folder_ / "target"));
}

}  // namespace
}  // namespace faultline
