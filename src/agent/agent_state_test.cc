#include "agent/agent_state.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

const Instant now{std::chrono::seconds{1'800'000'000}};

class AgentStateTest : public testing::Test {
 protected:
  AgentStateTest() {
    std::string pattern = (fs::temp_directory_path() / "state-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    file_ = folder_ / "state.json";
    AgentState state = load();
    state.set_cursor("/var/log/kern.log", "1:2:3:4:a:b");
    state.set_cursor("/dev/kmsg", "boot-1:77");
    EXPECT_TRUE(state.save().ok());
    whole_ = read_small_file(file_, 1 << 20).value();
  }
  ~AgentStateTest() override { fs::remove_all(folder_); }
  AgentState load(Instant at = now) const { return AgentState::load(file_, "boot-1", at); }
  void put(const std::string& content, const std::string& suffix = "") const {
    ASSERT_TRUE(write_small_file(file_.string() + suffix, content, false).ok());
  }

  fs::path folder_;
  fs::path file_;
  std::string whole_;
};

TEST_F(AgentStateTest, ComesBackAsItWas) {
  const AgentState state = load(now + std::chrono::hours{1});
  EXPECT_EQ(state.damage(), "");
  EXPECT_EQ(state.first_start(), now);
  EXPECT_FALSE(state.new_boot());
  EXPECT_EQ(state.cursor("/var/log/kern.log"), "1:2:3:4:a:b");
  EXPECT_EQ(state.cursor("/dev/kmsg"), "boot-1:77");
}

/// Cut anywhere: nothing that is left of it is believed, it is told, and the next save mends it.
TEST_F(AgentStateTest, CutAtEveryByte) {
  for (std::size_t cut = 0; cut < whole_.size(); ++cut) {
    put(whole_.substr(0, cut));
    AgentState state = load(now + std::chrono::hours{1});
    EXPECT_NE(state.damage(), "") << cut;
    EXPECT_EQ(state.first_start(), now + std::chrono::hours{1}) << cut;
    EXPECT_EQ(state.cursor("/var/log/kern.log"), "") << cut;
    EXPECT_EQ(state.cursor("/dev/kmsg"), "") << cut;
    ASSERT_TRUE(state.save().ok());
    EXPECT_EQ(load().damage(), "") << cut;
  }
}

/// Killed while it saved: the new one lies beside the old one, cut anywhere.
TEST_F(AgentStateTest, KilledAtEveryByteOfASave) {
  AgentState next = load();
  next.set_cursor("/dev/kmsg", "boot-1:78");
  ASSERT_TRUE(next.save().ok());
  const std::string newer = read_small_file(file_, 1 << 20).value();
  put(whole_);
  for (std::size_t cut = 0; cut <= newer.size(); ++cut) {
    put(newer.substr(0, cut), ".new");
    AgentState state = load();
    EXPECT_EQ(state.damage(), "") << cut;
    EXPECT_EQ(state.cursor("/dev/kmsg"), "boot-1:77") << cut;
  }
  AgentState state = load();
  ASSERT_TRUE(state.save().ok());
  EXPECT_EQ(read_small_file(file_, 1 << 20).value(), whole_);
}

}  // namespace
}  // namespace faultline
