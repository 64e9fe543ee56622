#include "adapters/logs/log_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Moved by the test, read by both threads.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant{monotonic()}; }
  [[nodiscard]] Duration monotonic() const override { return Duration{elapsed_ns.load()}; }
  void sleep(Duration) const override {}
  void advance(Duration duration) { elapsed_ns += duration.count(); }
  std::atomic<std::int64_t> elapsed_ns{0};
};

/// A mount whose server can go away.
struct Mount {
  std::mutex mutex;
  std::condition_variable back;
  bool hung = false;
  std::atomic<int> reads{0};
  std::thread::id closed_by;
  void close() {
    const std::lock_guard lock(mutex);
    closed_by = std::this_thread::get_id();
    back.notify_all();
  }
  std::thread::id wait_closed() {
    std::unique_lock lock(mutex);
    back.wait(lock, [this] { return closed_by != std::thread::id(); });
    return closed_by;
  }
  void hang(bool now) {
    const std::lock_guard lock(mutex);
    hung = now;
    back.notify_all();
  }
  void read() {
    ++reads;
    std::unique_lock lock(mutex);
    back.wait(lock, [this] { return !hung; });
  }
};

class MountedLog final : public LogSource {
 public:
  MountedLog(std::string path, std::shared_ptr<Mount> mount)
      : path_(std::move(path)), mount_(std::move(mount)) {}
  ~MountedLog() override { mount_->close(); }
  MountedLog(const MountedLog&) = delete;
  MountedLog& operator=(const MountedLog&) = delete;
  [[nodiscard]] std::string path() const override { return path_; }
  Result<std::vector<Chunk>> poll(std::size_t) override {
    mount_->read();
    ++line_;
    return std::vector<Chunk>{{"line " + std::to_string(line_) + "\n", line_ * 100, "1"}};
  }
  [[nodiscard]] std::string cursor() const override { return std::to_string(line_); }
  void resume(std::string_view cursor) override { line_ = std::stoul(std::string(cursor)); }

 private:
  std::string path_;
  std::shared_ptr<Mount> mount_;
  std::uint64_t line_ = 0;
};

class LogThreadTest : public testing::Test {
 protected:
  LogThreadTest() { limits_.patience = limits_.patience_per_second = seconds{60}; }
  ~LogThreadTest() override { mount_->hang(false); }
  std::unique_ptr<LogSource> log(const std::string& path, std::shared_ptr<Mount> mount) {
    return thread_->wrap(std::make_unique<MountedLog>(path, std::move(mount)));
  }
  void start() { thread_.emplace(clock_, limits_); }
  /// Hangs the mount with the thread inside of a read of `stuck`.
  void hang_in(LogSource& stuck) {
    mount_->hang(true);
    const int reads = mount_->reads;
    EXPECT_EQ(text(stuck.poll(100)), "");
    while (mount_->reads == reads) std::this_thread::yield();
  }
  static std::string text(const Result<std::vector<Chunk>>& chunks) {
    if (!chunks.ok()) return "error: " + chunks.error().message;
    std::string all;
    for (const Chunk& chunk : chunks.value()) all += chunk.bytes;
    return all;
  }

  SharedClock clock_;
  LogThreads::Limits limits_;
  std::shared_ptr<Mount> mount_ = std::make_shared<Mount>();
  std::shared_ptr<Mount> sound_ = std::make_shared<Mount>();
  std::optional<LogThreads> thread_;
};

TEST_F(LogThreadTest, AnswersAsIfTheAskerHadRead) {
  start();
  const auto source = log("/a", mount_);
  source->resume("7");
  EXPECT_EQ(source->cursor(), "7");
  EXPECT_EQ(text(source->poll(100)), "line 8\n");
  EXPECT_EQ(source->cursor(), "8");
  EXPECT_EQ(text(source->poll(100)), "line 9\n");
}

TEST_F(LogThreadTest, AHangIsNamedStopsNobodyAndLosesNothing) {
  limits_.patience = milliseconds{1};
  limits_.hang = seconds{5};
  start();
  const auto stuck = log("/nfs/job.log", mount_);
  const auto other = log("/nfs/other.log", sound_);
  hang_in(*stuck);
  EXPECT_EQ(text(stuck->poll(100)), "") << "slow is not hung";
  clock_.advance(seconds{6});
  const auto hung = stuck->poll(100);
  ASSERT_FALSE(hung.ok());
  EXPECT_EQ(hung.error().code, ErrorCode::deadline_exceeded);
  EXPECT_NE(hung.error().message.find("/nfs/job.log"), std::string::npos);
  EXPECT_EQ(text(other->poll(100)), "") << "waits beside it, and is not blamed";
  EXPECT_TRUE(other->waiting());
  EXPECT_EQ(stuck->cursor(), "") << "what nobody got was not read";
  mount_->hang(false);
  std::string first;
  while (first.empty()) first = text(stuck->poll(100));
  EXPECT_EQ(first, "line 1\n");
  EXPECT_EQ(stuck->cursor(), "1");
  while (text(other->poll(100)).empty()) {
  }
  EXPECT_FALSE(other->waiting());
}

TEST_F(LogThreadTest, AHangHoldsUpItsFolderAlone) {
  limits_.patience = milliseconds{1};
  start();
  const auto stuck = log("/nfs/job.log", mount_);
  const auto beside = log("/nfs/other.log", mount_);
  const auto other = log("/local/job.log", sound_);
  hang_in(*stuck);
  EXPECT_EQ(text(other->poll(100)), "") << "a slow read is no hang: one thread is enough";
  EXPECT_EQ(sound_->reads, 0);
  clock_.advance(seconds{6});
  EXPECT_EQ(text(beside->poll(100)), "");
  std::string first;
  while (first.empty()) first = text(other->poll(100));
  EXPECT_EQ(first, "line 1\n");
  EXPECT_EQ(mount_->reads, 1) << "nobody else went into the folder that hangs";
  mount_->hang(false);
  while (text(beside->poll(100)).empty()) {
  }
}

TEST_F(LogThreadTest, ThreadsHaveALimit) {
  limits_.patience = milliseconds{1};
  limits_.threads_max = 2;
  start();
  const auto first = log("/nfs/a/job.log", mount_);
  const auto second = log("/nfs/b/job.log", mount_);
  const auto third = log("/nfs/c/job.log", mount_);
  hang_in(*first);
  clock_.advance(seconds{6});
  hang_in(*second);
  clock_.advance(seconds{6});
  EXPECT_EQ(text(third->poll(100)), "");
  mount_->hang(false);
  while (text(third->poll(100)).empty()) {
  }
  EXPECT_EQ(mount_->reads, 3);
}

TEST_F(LogThreadTest, ALogIsClosedOnTheThreadAlsoWhenTheQueueIsFull) {
  limits_.patience = milliseconds{1};
  limits_.tasks_max = 1;
  start();
  auto open = log("/local/job.log", sound_);
  while (text(open->poll(100)).empty()) {
  }
  const auto stuck = log("/nfs/a.log", mount_);
  const auto waits = log("/nfs/b.log", mount_);
  hang_in(*stuck);
  EXPECT_EQ(text(waits->poll(100)), "") << "the queue is full now";
  auto refused = log("/nfs/c.log", std::make_shared<Mount>());
  EXPECT_EQ(text(refused->poll(100)), "");
  refused.reset();  // was never opened
  open.reset();
  mount_->hang(false);
  EXPECT_NE(sound_->wait_closed(), std::this_thread::get_id());
}

TEST_F(LogThreadTest, TheEndDoesNotWaitForAHungRead) {
  limits_.patience = limits_.end = milliseconds{1};
  start();
  auto stuck = log("/nfs/job.log", mount_);
  hang_in(*stuck);
  stuck.reset();
  thread_.reset();
  mount_->hang(false);  // the thread finds its way out by itself
}

TEST_F(LogThreadTest, AQuestionThatComesLateIsAnsweredByTheNextAsking) {
  limits_.patience = milliseconds{1};
  start();
  Asked<int> asked;
  mount_->hang(true);
  EXPECT_EQ(asked.ask(*thread_, "x", [mount = mount_] { return mount->read(), 1; }), std::nullopt);
  mount_->hang(false);
  std::optional<int> answer;
  while (!answer) answer = asked.ask(*thread_, "x", [] { return 2; });
  EXPECT_EQ(answer, 1);
}

}  // namespace
}  // namespace faultline
