#include "base/small_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace faultline {
namespace {

namespace fs = std::filesystem;

class SmallFileTest : public testing::Test {
 protected:
  SmallFileTest() {
    std::string pattern = (fs::temp_directory_path() / "small-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SmallFileTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(SmallFileTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(write_small_file(folder_ / "a", "one\n", true));
  EXPECT_EQ(read_small_file(folder_ / "a", 4).value(), "one\n");
  ASSERT_TRUE(write_small_file(folder_ / "a", "two", false));
  EXPECT_EQ(read_small_file(folder_ / "a", 4).value(), "two");
}

TEST_F(SmallFileTest, WhatCannotBeReadIsAnError) {
  EXPECT_EQ(read_small_file(folder_ / "none", 4).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_small_file(folder_, 4).error().code, ErrorCode::unavailable);
  ASSERT_TRUE(write_small_file(folder_ / "long", "12345", false));
  EXPECT_EQ(read_small_file(folder_ / "long", 4).error().code, ErrorCode::exhausted);
  EXPECT_EQ(read_file_part(folder_ / "long", 3, 9).value(), "45");
}

TEST_F(SmallFileTest, AFifoNobodyWritesToIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_small_file(folder_ / "fifo", 4));
}

TEST_F(SmallFileTest, AProcessThatEndsIsAnErrorNotACrash) {
  // Opened while it lives, read when it is gone: the kernel answers ESRCH, on which a stream's
  // iterator throws.
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    const auto path = "/proc/" + std::to_string(child) + "/stat";
    for (auto text = read_small_file(path, 65536); text; text = read_small_file(path, 65536)) {
      ::waitpid(child, nullptr, WNOHANG);
    }
  }
}

}  // namespace
}  // namespace faultline
