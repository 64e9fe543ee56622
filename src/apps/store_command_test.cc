#include "apps/store_command.h"

#include "apps/output.h"
#include "base/small_file.h"
#include "store/store_fixture.h"
#include "store/write_ahead_log.h"

namespace faultline {
namespace {

/// A store with ten commits in its log, and copies of it that something happened to.
class StoreCommandTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    store_ = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store_->append_events({event(i)}).ok());
    page_ = read_small_file(file_, 1 << 20).value();
    log_ = read_small_file(log_of(file_), 8 << 20).value();
  }
  std::string copy_with(const std::string& log) const {
    const auto copy = folder_ / "copy.db";
    EXPECT_TRUE(write_small_file(copy, page_, false).ok());
    EXPECT_TRUE(write_small_file(log_of(copy), log, false).ok());
    return copy.string();
  }
  struct Answer {
    int code = -1;
    std::string out, err;
  };
  static Answer captured(const std::function<int()>& verb) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Answer answer;
    answer.code = verb();
    answer.out = testing::internal::GetCapturedStdout();
    answer.err = testing::internal::GetCapturedStderr();
    return answer;
  }
  static Answer check(const std::string& file) {
    StoreOptions options;
    options.verb = "check";
    options.query.store = file;
    return captured([&] { return store_main(options); });
  }
  static Answer ask_nodes(const std::string& file) {
    QueryOptions options;
    options.store = file;
    return captured([&] { return query_main("nodes", options); });
  }

  std::unique_ptr<Store> store_;
  std::string page_, log_;
};

TEST_F(StoreCommandTest, AWholeStoreIsWholeAlsoWhileItIsInUse) {
  const auto [code, out, err] = check(file_.string());
  EXPECT_EQ(code, exit_ok);
  EXPECT_EQ(out, file_.string() + " is whole\n");
  EXPECT_EQ(err, "");
  EXPECT_EQ(ask_nodes(file_.string()).err, "");
}

TEST_F(StoreCommandTest, ALogThatIsDamagedInItsMidstIsNotWholeAndQuestionsSaySo) {
  std::string damaged = log_;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  const std::string copy = copy_with(damaged);
  const auto checked = check(copy);
  EXPECT_EQ(checked.code, exit_failed);
  EXPECT_EQ(checked.out, "");
  EXPECT_NE(checked.err.find("copy.db-wal is damaged"), std::string::npos) << checked.err;
  const auto asked = ask_nodes(copy);
  EXPECT_EQ(asked.code, exit_ok) << "from what is left";
  EXPECT_NE(asked.err.find("warning: " + copy + "-wal is damaged"), std::string::npos) << asked.err;
}

TEST_F(StoreCommandTest, ALogThatWasCutToNothingIsSaidByWhoeverAsks) {
  const std::string copy = copy_with("");
  for (const auto& answer : {check(copy), ask_nodes(copy)}) {
    EXPECT_EQ(answer.code, exit_not_found);
    EXPECT_NE(answer.err.find("warning: there is nothing in " + copy), std::string::npos)
        << answer.err;
  }
}

}  // namespace
}  // namespace faultline
