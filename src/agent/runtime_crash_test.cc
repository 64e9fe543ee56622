// An agent that is killed between any two things that it does to its state folder, and in the
// middle of them.
#include "agent/full_disk_fixture.h"
#include "agent/own_log_fixture.h"
#include "agent/runtime_fixture.h"

namespace faultline {
namespace {

class RuntimeCrashTest : public RuntimeTest {
 protected:
  /// A copy of the state folder as it is now.
  fs::path snapshot() {
    fs::path copy = folder_ / ("snapshot-" + std::to_string(snapshots_++));
    fs::copy(folder_ / "state", copy, fs::copy_options::recursive);
    return copy;
  }
  /// Starts an agent on the spool of one moment and the cursors of another.
  void start_from(const fs::path& spool, const fs::path& cursors) {
    runtime_.reset();
    for (const char* part : {"spool", "state.json"}) fs::remove_all(folder_ / "state" / part);
    fs::copy(spool / "spool", folder_ / "state/spool", fs::copy_options::recursive);
    fs::copy_file(cursors / "state.json", folder_ / "state/state.json");
    start();
  }
  static fs::path last_segment(const fs::path& state) {
    fs::path last;
    for (const auto& entry : fs::directory_iterator(state / "spool")) {
      if (entry.path().extension() == ".seg") last = std::max(last, entry.path());
    }
    return last;
  }
  std::set<std::string> pids() const {
    std::set<std::string> told;
    for (const Event& event : uplink_.of(EventKind::log_signature))
      told.insert(std::string(event.field("pid")));
    return told;
  }
  /// All lines came, and each is one event however often it was sent.
  void expect_all_told(const std::set<std::string>& lines, const std::string& when) {
    uplink_.down = false;
    run_for(seconds{2});
    EXPECT_EQ(pids(), lines) << when;
    EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), lines.size()) << when;
  }

  int snapshots_ = 0;
};

TEST_F(RuntimeCrashTest, KilledAtAnyMomentItLosesNothingAndTellsNothingElse) {
  struct Moment {
    fs::path state;
    FakeUplink controller;  // with what it had got by then
  };
  xid(1);  // of before it came
  start();
  run_for(seconds{1});
  std::vector<Moment> moments = {{snapshot(), uplink_}};
  const std::set<std::string> lines = {"100", "101", "102", "103"};
  for (const std::string& pid : lines) {
    xid(std::stoi(pid));
    uplink_.down = pid == "102";  // it waits in the spool
    for (int turn = 0; turn < 4; ++turn) {
      runtime_->step();
      clock_.advance(milliseconds{150});
      moments.push_back({snapshot(), uplink_});
    }
  }
  for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
    uplink_ = moments[i].controller;
    start_from(moments[i].state, moments[i].state);
    expect_all_told(lines, "at turn " + std::to_string(i));
    uplink_ = moments[i + 1].controller;
    start_from(moments[i + 1].state, moments[i].state);
    expect_all_told(lines, "after the spool and before the cursors of turn " + std::to_string(i));
  }
}

TEST_F(RuntimeCrashTest, KilledAtAnyByteOfASpoolWriteItReadsTheLineAgain) {
  run_for(seconds{1});
  uplink_.down = true;
  xid(100);
  run_for(seconds{1});
  const fs::path before = snapshot();
  xid(101);
  run_for(seconds{1});
  const fs::path after = snapshot();
  const auto old_size = fs::file_size(last_segment(before));
  const auto new_size = fs::file_size(last_segment(after));
  ASSERT_LT(old_size, new_size);
  const OwnLog quiet;
  for (auto cut = old_size; cut <= new_size; ++cut) {
    uplink_ = {};
    uplink_.down = true;
    const fs::path torn = snapshot();
    fs::remove_all(torn / "spool");
    fs::copy(after / "spool", torn / "spool");
    fs::resize_file(last_segment(torn), cut);
    start_from(torn, before);
    expect_all_told({"100", "101"}, "cut at " + std::to_string(cut));
    fs::remove_all(torn);
  }
}

TEST_F(RuntimeCrashTest, CursorsWaitForTheDiskThatRefusesTheEvents) {
  run_for(seconds{1});
  uplink_.down = true;
  const fs::path before = snapshot();
  fs::remove_all(folder_ / "state/spool");
  xid(100);
  run_for(seconds{10});
  EXPECT_GT(counters_.get("agent_spool_disk_errors_total"), 0U);
  const fs::path killed = snapshot();
  start_from(before, killed);
  expect_all_told({"100"}, "what was in memory alone is read again");
}

TEST_F(RuntimeCrashTest, AStateThatCannotBeKeptIsSaidOnceUntilItCan) {
  const OwnLog own;
  run_for(seconds{1});
  fs::create_directory(folder_ / "state/state.json.new");
  for (int pid = 0; pid < 10; ++pid) {
    xid(pid);
    run_for(seconds{6});
  }
  EXPECT_EQ(own.lines("error: state: ").size(), 1U);
  EXPECT_GE(counters_.get("agent_state_errors_total"), 9U);
  fs::remove(folder_ / "state/state.json.new");
  run_for(seconds{6});
  EXPECT_EQ(own.lines("info: state: kept again").size(), 1U);
}

TEST_F(RuntimeCrashTest, WithoutItsStateItTellsWhatItHadSpooledAndNothingElse) {
  xid(99);
  run_for(seconds{7});
  uplink_.down = true;
  xid(100);
  run_for(seconds{1});
  runtime_.reset();
  fs::remove(folder_ / "state/state.json");
  xid(101);  // where the log had been read to is not known any more
  start();
  expect_all_told({"99", "100"}, "without a state");
  xid(102);
  expect_all_told({"99", "100", "102"}, "what is new");
}

TEST_F(RuntimeCrashTest, ADiskThatIsFullAtTheStartStopsNobody) {
  const OwnLog own;
  {
    const FullDisk full(0);
    start();
    xid(100);
    run_for(seconds{7});
  }
  EXPECT_EQ(pids(), std::set<std::string>{"100"}) << "sent from memory";
  EXPECT_EQ(own.lines("error: state: ").size(), 1U);
  EXPECT_EQ(own.lines("error: spool: ").size(), 1U);
  xid(101);
  run_for(seconds{7});
  EXPECT_EQ(own.lines("info: state: kept again").size(), 1U);
  EXPECT_EQ(own.lines("info: spool: the disk takes events again").size(), 1U);
  start();
  expect_all_told({"100", "101"}, "after a restart");
}

}  // namespace
}  // namespace faultline
