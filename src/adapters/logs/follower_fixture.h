// For the follower's tests: a log in a folder of its own, and what a follower reads of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "adapters/logs/file_follower.h"

namespace faultline {

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
    const fs::path& to = path.empty() ? path_ : path;
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(file);
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
        if (chunk.gap) gaps_ += std::string(to_text(*chunk.gap)) + " ";
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

  ManualClock clock_{Instant{std::chrono::seconds{1'800'000'000}}};
  fs::path folder_;
  fs::path path_;
  std::string gaps_;
};

}  // namespace faultline
