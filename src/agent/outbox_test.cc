#include "agent/outbox.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "agent/own_log_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A controller that can be away, full or slow.
class FakeController final : public Uplink {
 public:
  explicit FakeController(const ManualClock& clock) : clock_(clock) {}
  Status send(const std::vector<Event>& events, Duration) override {
    ++sends;
    clock_.advance(send_takes);
    if (away || full) return Error{ErrorCode::unavailable, "away or full"};
    taken += events.size();
    got.insert(got.end(), events.begin(), events.end());
    return ok_status();
  }
  Status heartbeat(Instant, const CounterValues& counters) override {
    longest_silence = std::max(longest_silence, clock_.monotonic() - last_beat);
    last_beat = clock_.monotonic();
    ++beats;
    if (!counters.empty()) counted.push_back(counters);
    return away ? Status(Error{ErrorCode::unavailable, "away"}) : ok_status();
  }
  std::vector<Ruling> take_rulings() override { return {}; }

  bool away = false;
  bool full = false;
  Duration send_takes{0};
  int sends = 0;
  int beats = 0;
  std::vector<CounterValues> counted;  // of the heartbeats that had counters
  std::size_t taken = 0;
  std::vector<Event> got;
  Duration last_beat{0};
  Duration longest_silence{0};

 private:
  const ManualClock& clock_;
};

class OutboxTest : public testing::Test {
 protected:
  OutboxTest() {
    std::string pattern = (fs::temp_directory_path() / "outbox-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    Spool::Limits limits;
    limits.sync = false;
    limits.memory_bytes_max = 4096;
    auto spool = Spool::open(folder_, limits, counters_);
    EXPECT_TRUE(spool.ok());
    spool_ = std::move(spool).value();
    outbox_.emplace("n3", *spool_, controller_, clock_, counters_, Outbox::Limits{});
  }
  ~OutboxTest() override { fs::remove_all(folder_); }
  void add(int count) {
    for (int i = 0; i < count; ++i) {
      Event event;
      event.kind = EventKind::agent_started;
      event.subject = Subject::of_node("n3");
      event.observed_at = clock_.now() + milliseconds{i};
      event.clock = ClockDomain::node_wall;
      outbox_->add(std::move(event));
    }
    outbox_->keep();
  }
  std::size_t count_sent(std::string_view why) const {
    return static_cast<std::size_t>(
        std::count_if(controller_.got.begin(), controller_.got.end(),
                      [&](const Event& event) { return event.field("why") == why; }));
  }
  void run_for(Duration duration) {
    for (const Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      outbox_->turn();
      clock_.advance(std::max<Duration>(outbox_->idle_time(), milliseconds{1}));
    }
  }

  ManualClock clock_{Instant{seconds{1'800'000'000}}};
  Counters counters_;
  FakeController controller_{clock_};
  fs::path folder_;
  std::unique_ptr<Spool> spool_;
  std::optional<Outbox> outbox_;
};

TEST_F(OutboxTest, ALongBacklogDoesNotHoldUpHeartbeats) {
  add(10'000);
  controller_.send_takes = milliseconds{1900};
  run_for(seconds{60});
  EXPECT_EQ(controller_.taken, 10'000U);
  EXPECT_LE(controller_.longest_silence, milliseconds{2900}) << "a heartbeat's and a batch's time";
}

TEST_F(OutboxTest, AControllerThatStoresNothingHearsHeartbeatsAndFewBatches) {
  controller_.full = true;
  add(1);
  run_for(seconds{60});
  EXPECT_GE(controller_.beats, 59);
  EXPECT_GE(controller_.sends, 6);
  EXPECT_LE(controller_.sends, 12) << "0.5 s, 1 s, ... 10 s between them";
  controller_.full = false;
  run_for(seconds{13});
  EXPECT_EQ(controller_.taken, 1U);
}

TEST_F(OutboxTest, ADiskThatRefusesIsSaidOnceAndWhatHadNoRoomIsCounted) {
  const OwnLog own;
  controller_.away = true;
  fs::remove_all(folder_);
  for (int second = 0; second < 90; ++second) {
    add(10);
    run_for(seconds{1});
  }
  outbox_->keep();
  EXPECT_FALSE(outbox_->durable());
  EXPECT_EQ(own.lines("error: spool:").size(), 3U) << "the disk, and twice what was dropped";
  EXPECT_EQ(own.lines("events are kept in memory").size(), 1U);
  const std::uint64_t pending = spool_->pending();
  EXPECT_GT(pending, 0U);
  const std::uint64_t dropped = counters_.get("agent_spool_dropped_events_total");
  EXPECT_EQ(dropped + pending, 900U + 2U) << "and the two words on it";
  fs::create_directory(folder_);
  controller_.away = false;
  add(1);
  EXPECT_TRUE(outbox_->durable());
  run_for(seconds{61});
  add(1);
  EXPECT_EQ(own.lines("info: spool: the disk takes events again").size(), 1U);
  run_for(seconds{5});
  EXPECT_EQ(counters_.get("agent_spool_dropped_events_total"), dropped);
  EXPECT_EQ(count_sent("spool_full"), 1U) << "the words before had no room either";
}

TEST_F(OutboxTest, CountersTravelWithEveryTenthHeartbeatAndWaitForTheController) {
  counters_.add("agent_logs_refused_total", 3);
  controller_.away = true;
  run_for(seconds{25});
  controller_.away = false;
  controller_.counted.clear();
  controller_.beats = 0;
  run_for(seconds{31});
  EXPECT_GE(controller_.beats, 31);
  ASSERT_EQ(controller_.counted.size(), 4U) << "at once, and every 10 s";
  EXPECT_EQ(controller_.counted.front().at("agent_logs_refused_total"), 3U);
}

TEST_F(OutboxTest, AControllerThatIsBackGetsTheBacklogAtItsNextHeartbeat) {
  run_for(seconds{1});
  controller_.away = true;
  add(1);
  run_for(seconds{60});
  EXPECT_GE(controller_.beats, 59);
  EXPECT_LE(controller_.sends, 2) << "whoever hears no heartbeat takes no batch";
  controller_.away = false;
  run_for(seconds{2});
  EXPECT_EQ(controller_.taken, 1U);
  EXPECT_EQ(counters_.get("agent_events_sent_total"), 1U);
}

}  // namespace
}  // namespace faultline
