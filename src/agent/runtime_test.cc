#include "agent/runtime.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view causes = R"([[cause]]
id = "gpu.test"
class = "gpu"
severity = "critical"
remedy = "reset_gpu"
summary = "s"
explanation = "e"
next_step = "n"
cases = []
)";
constexpr std::string_view signatures = R"([[signature]]
id = "xid.48"
layer = "kernel"
pattern = '''NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): 48, pid=(\d+)'''
captures = ["bdf", "pid"]
cause = "gpu.test"
role = "root"
severity = "critical"
subject = "gpu"
note = "n"
source = "s"

[[signature]]
id = "app.boom"
layer = "application"
pattern = '''BOOM'''
cause = "gpu.test"
role = "root"
severity = "error"
subject = "rank"
note = "n"
source = "s"
)";

/// Lines put in by hand. What a run of the agent has not read, the next one gets through the
/// cursor.
struct FakeLog {
  std::string path;
  std::string text;
  std::string gap;
  std::optional<Error> error;
  bool waiting = false;  // in the queue behind another log that hangs
};
class FakeSource final : public LogSource {
 public:
  explicit FakeSource(FakeLog& log) : log_(log) {}
  [[nodiscard]] std::string path() const override { return log_.path; }
  Result<std::vector<Chunk>> poll(std::size_t) override {
    if (!placed_) at_ = log_.text.size();
    placed_ = true;
    if (log_.error) return *log_.error;
    if (log_.waiting) return std::vector<Chunk>{};
    if (at_ == log_.text.size() && log_.gap.empty()) return std::vector<Chunk>{};
    Chunk chunk{log_.text.substr(at_), at_, "1", std::exchange(log_.gap, {}), 0};
    at_ = log_.text.size();
    return std::vector<Chunk>{chunk};
  }
  [[nodiscard]] bool waiting() const override { return log_.waiting; }
  [[nodiscard]] std::string cursor() const override { return std::to_string(at_); }
  void resume(std::string_view cursor) override {
    at_ = std::stoul(std::string(cursor));
    placed_ = true;
  }

 private:
  FakeLog& log_;
  std::size_t at_ = 0;
  bool placed_ = false;
};

class FakeUplink final : public Uplink {
 public:
  Status send(const std::vector<Event>& events, Duration) override {
    if (down) return Error{ErrorCode::unavailable, "down"};
    for (const Event& event : events) {
      if (event.field("pid") == poison) return Error{ErrorCode::invalid_argument, "poison"};
    }
    batches.push_back(events.size());
    for (const Event& event : events) {
      ++deliveries[event.id];
      if (deliveries[event.id] == 1) got.push_back(event);
    }
    if (lose_answers) return Error{ErrorCode::deadline_exceeded, "no answer"};
    return ok_status();
  }
  Status heartbeat(Instant, const CounterValues&) override {
    ++heartbeats;
    return down ? Status(Error{ErrorCode::unavailable, "down"}) : ok_status();
  }
  std::vector<Ruling> take_rulings() override { return std::exchange(rulings, {}); }
  [[nodiscard]] std::vector<Event> of(EventKind kind) const {
    std::vector<Event> found;
    for (const Event& event : got) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

  bool down = false;
  bool lose_answers = false;
  std::string poison = "none";
  int heartbeats = 0;
  std::vector<std::size_t> batches;
  std::map<EventId, int> deliveries;
  std::vector<Event> got;
  std::vector<Ruling> rulings;
};

class FakeDoor final : public LauncherDoor {
 public:
  std::vector<Arrival> poll() override { return std::exchange(arrivals, {}); }
  void reply(std::uint64_t connection, const LauncherReply& reply) override {
    replies.emplace_back(connection, reply);
  }
  std::vector<std::uint64_t> take_closed() override { return std::exchange(closed, {}); }
  [[nodiscard]] int wait_descriptor() const override { return -1; }
  void say(const LauncherPeer& peer, const LauncherMessage& message) {
    arrivals.push_back({peer, message});
  }

  std::vector<Arrival> arrivals;
  std::vector<std::uint64_t> closed;
  std::vector<std::pair<std::uint64_t, LauncherReply>> replies;
};

class FakeProcesses final : public ProcessTable {
 public:
  std::optional<ProcessOrigin> origin(std::int64_t pid) override {
    const auto it = origins.find(pid);
    return it == origins.end() ? std::nullopt : std::optional(it->second);
  }
  std::map<std::int64_t, ProcessOrigin> origins;
};

class FakeGpus final : public GpuSampler {
 public:
  Result<std::vector<GpuSample>> sample(Duration) override {
    ++calls;
    return next;
  }
  int calls = 0;
  Result<std::vector<GpuSample>> next = std::vector<GpuSample>{};
};

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    std::string pattern = (fs::temp_directory_path() / "agent-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    for (const char* name : {"causes", "signatures", "policies"})
      fs::create_directories(folder_ / "catalog" / name);
    std::ofstream(folder_ / "catalog/causes/t.toml") << causes;
    std::ofstream(folder_ / "catalog/signatures/t.toml") << signatures;
    std::ofstream(folder_ / "catalog/policies/t.toml") << "[limits]\n";
    auto catalog = Catalog::load(folder_ / "catalog");
    EXPECT_TRUE(catalog.ok()) << (catalog.ok() ? "" : catalog.error().message);
    catalog_ = std::move(catalog).value();
    start();
  }
  ~RuntimeTest() override {
    runtime_.reset();
    fs::remove_all(folder_);
  }

  void start(const std::string& boot = "boot-1") {
    runtime_.reset();
    auto runtime = open(boot);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(runtime).value();
    ASSERT_TRUE(runtime_->add_kernel_log(std::make_unique<FakeSource>(kernel_)).ok());
  }
  Result<std::unique_ptr<AgentRuntime>> open(const std::string& boot = "boot-1") {
    AgentSettings settings;
    settings.node = "n3";
    settings.version = "test";
    settings.state = folder_ / "state";
    settings.boot_id = boot;
    settings.boot_time = clock_.now() - std::chrono::hours{1};
    settings.spool.sync = false;
    AgentPorts ports{clock_, uplink_, &gpus_, &processes_, &door_, {}, {}};
    ports.follow = [this](const JobLog& log) -> std::unique_ptr<LogSource> {
      job_log_.path = log.path;
      auto source = std::make_unique<FakeSource>(job_log_);
      if (log.start_at) source->resume(std::to_string(*log.start_at));
      return source;
    };
    return AgentRuntime::open(settings, ports, catalog_, counters_);
  }
  /// A kernel line of now.
  void xid(int pid, Duration age = Duration{0}) {
    kernel_.text += to_text(clock_.now() - age) +
                    " n3 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=" + std::to_string(pid) +
                    ", name=python, text\n";
  }
  void run_for(Duration duration) {
    for (Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      runtime_->step();
      clock_.advance(milliseconds{50});
    }
  }
  LauncherMessage message(LauncherVerb verb, const std::string& job = "77", int rank = 2) const {
    LauncherMessage message;
    message.verb = verb;
    message.attempt = {job, 1};
    message.rank = rank;
    message.at = clock_.now();
    message.pid = 4711;
    message.log = "/logs/77.log";
    if (verb == LauncherVerb::rank_exited) {
      message.exit_code = 1;
      message.step = 120;
    }
    return message;
  }

  ManualClock clock_{Instant{seconds{1'800'000'000}}};
  fs::path folder_;
  Catalog catalog_;
  Counters counters_;
  FakeUplink uplink_;
  FakeDoor door_;
  FakeProcesses processes_;
  FakeGpus gpus_;
  FakeLog kernel_{"/var/log/kern.log", {}, {}, {}, false};
  FakeLog job_log_;
  std::unique_ptr<AgentRuntime> runtime_;
  const LauncherPeer peer_{1, 1000, 4700};
};

TEST_F(RuntimeTest, SaysHelloAndBeatsOnceASecond) {
  run_for(seconds{5});
  ASSERT_EQ(uplink_.of(EventKind::agent_started).size(), 1U);
  ASSERT_EQ(uplink_.of(EventKind::node_boot).size(), 1U);
  EXPECT_EQ(uplink_.got.front().reporter, "n3");
  EXPECT_EQ(uplink_.heartbeats, 5);
}

TEST_F(RuntimeTest, KernelLineBecomesAnEventLinkedToTheJobOfItsProcess) {
  processes_.origins[555] = {"88", 3, 0, 1000};
  run_for(seconds{1});
  xid(555);
  run_for(seconds{1});
  const auto events = uplink_.of(EventKind::log_signature);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(events[0].attempt, (AttemptId{"88", 3}));
  EXPECT_EQ(events[0].field("linked_job"), "88");
}

TEST_F(RuntimeTest, ProcessOfNoJobStaysUnlinked) {
  run_for(seconds{1});
  xid(556);
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_FALSE(uplink_.of(EventKind::log_signature)[0].attempt);
}

TEST_F(RuntimeTest, LinesOfBeforeTheFirstStartAreNotReported) {
  run_for(seconds{10});
  xid(1, seconds{60});  // printed now by somebody who replays an old log
  xid(2);
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(counters_.get("agent_stale_lines_total"), 1U);
}

TEST_F(RuntimeTest, RestartReportsNothingTwiceAndNothingLess) {
  run_for(seconds{1});
  xid(1);
  run_for(seconds{7});
  runtime_.reset();
  clock_.advance(seconds{10});
  xid(2);
  start();
  run_for(seconds{7});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
  EXPECT_EQ(uplink_.of(EventKind::node_boot).size(), 1U) << "same boot";
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 2U);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

TEST_F(RuntimeTest, NewBootStartsLogsAnew) {
  run_for(seconds{1});
  xid(1);
  runtime_.reset();  // nobody read that line
  clock_.advance(std::chrono::hours{2});
  start("boot-2");
  xid(2);
  run_for(seconds{2});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::log_signature)[0].field("pid"), "2");
  EXPECT_EQ(uplink_.of(EventKind::node_boot).size(), 2U);
}

TEST_F(RuntimeTest, ControllerDownAndUpLosesNothing) {
  run_for(seconds{1});
  uplink_.down = true;
  for (int i = 0; i < 20; ++i) {
    xid(100 + i);
    run_for(seconds{6});  // beyond the decoder's window of like lines
  }
  EXPECT_TRUE(uplink_.of(EventKind::log_signature).empty());
  start();  // and the agent dies meanwhile
  uplink_.down = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 20U);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

TEST_F(RuntimeTest, LostAnswersRepeatTheSameIds) {
  run_for(seconds{1});
  uplink_.lose_answers = true;
  xid(1);
  run_for(seconds{10});
  uplink_.lose_answers = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_GT(uplink_.deliveries[uplink_.of(EventKind::log_signature)[0].id], 1);
}

TEST_F(RuntimeTest, OneEventThatIsRefusedDoesNotStopTheOthers) {
  run_for(seconds{1});
  uplink_.down = true;
  for (int i = 0; i < 5; ++i) {
    xid(200 + i);
    run_for(seconds{6});
  }
  uplink_.poison = "202";
  uplink_.down = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 4U);
  EXPECT_EQ(counters_.get("agent_events_refused_total"), 1U);
}

TEST_F(RuntimeTest, GapOfASourceIsTold) {
  run_for(seconds{1});
  kernel_.gap = "overrun";
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "overrun");
}

TEST_F(RuntimeTest, AJobLogThatHangsIsToldOnceAndReadWhenItIsBack) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.error = Error{ErrorCode::deadline_exceeded, "hangs"};
  job_log_.text += "BOOM\n";
  run_for(seconds{10});
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U) << "the kernel's log goes on";
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "hung");
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("log"), "/logs/77.log");
  EXPECT_EQ(counters_.get("agent_log_hangs_total"), 1U);
  job_log_.error.reset();
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
}

TEST_F(RuntimeTest, AJobLogWithoutAnAnswerIsReadAfterItsJobWhenTheMountIsBack) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.waiting = true;
  job_log_.text += "BOOM\n";
  door_.say(peer_, message(LauncherVerb::rank_exited));
  run_for(seconds{120});
  job_log_.waiting = false;
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 0U);
  EXPECT_TRUE(uplink_.of(EventKind::source_gap).empty());
  run_for(seconds{5});
  job_log_.text += "BOOM\n";
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U) << "its job is long over";
}

TEST_F(RuntimeTest, AJobLogThatIsNeverAnsweredIsGivenUpAloud) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.waiting = true;
  door_.say(peer_, message(LauncherVerb::rank_exited));
  const auto wait = [this](Duration duration) {  // in longer steps: an hour is long
    for (Duration end = clock_.monotonic() + duration; clock_.monotonic() < end;) {
      clock_.advance(seconds{1});
      runtime_->step();
    }
  };
  wait(std::chrono::minutes{59});
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 0U);
  wait(std::chrono::minutes{2});
  EXPECT_EQ(counters_.get("agent_logs_unread_total"), 1U);
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "unread");
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("log"), "/logs/77.log");
}

TEST_F(RuntimeTest, ALogThatIsNotThereYetIsNoHang) {
  run_for(seconds{1});
  job_log_.error = Error{ErrorCode::not_found, "no such file"};
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{10});
  EXPECT_TRUE(uplink_.of(EventKind::source_gap).empty());
  EXPECT_EQ(counters_.get("agent_log_hangs_total"), 0U);
}

TEST_F(RuntimeTest, RankItsLogAndItsEnd) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  job_log_.text += "2027-01-15T08:00:02.000000Z n3 rank2 | BOOM\n";
  xid(4711);
  door_.say(peer_, message(LauncherVerb::rank_exited));  // in the same moment as its last line
  run_for(seconds{1});
  std::vector<EventKind> order;
  for (const Event& event : uplink_.got) order.push_back(event.kind);
  const auto lines = uplink_.of(EventKind::log_signature);
  ASSERT_EQ(lines.size(), 2U);
  for (const Event& line : lines) EXPECT_EQ(line.attempt, (AttemptId{"77", 1})) << line.raw.text;
  const auto exits = uplink_.of(EventKind::rank_exited);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].subject.text(), "rank:77#1/2@n3");
  EXPECT_EQ(exits[0].field("exit_code"), "1");
  EXPECT_EQ(exits[0].field("step"), "120");
  EXPECT_EQ(order.back(), EventKind::rank_exited) << "after the lines that say why";
}

TEST_F(RuntimeTest, AStallAndItsEndAreTwoFacts) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  for (const LauncherVerb verb : {LauncherVerb::progress_stalled, LauncherVerb::progress_resumed}) {
    LauncherMessage about = message(verb);
    about.silent = seconds{300};
    about.usual = seconds{20};
    door_.say(peer_, about);
    run_for(seconds{1});
  }
  ASSERT_EQ(uplink_.of(EventKind::progress_stalled).size(), 1U);
  ASSERT_EQ(uplink_.of(EventKind::progress_resumed).size(), 1U);
  const Event resumed = uplink_.of(EventKind::progress_resumed)[0];
  EXPECT_EQ(resumed.subject.text(), "rank:77#1/2@n3");
  EXPECT_EQ(resumed.field("silent_ms"), "300000");
}

TEST_F(RuntimeTest, AnnouncementRepeatedAfterAReconnectionIsOneEvent) {
  run_for(seconds{1});
  const LauncherMessage start = message(LauncherVerb::rank_started);
  door_.say(peer_, start);
  run_for(seconds{1});
  door_.say({2, 1000, 4700}, start);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::rank_started).size(), 1U);
}

TEST_F(RuntimeTest, NobodySpeaksForAnotherJob) {
  processes_.origins[4700] = {"77", 1, 2, 1000};
  processes_.origins[6600] = {"66", 0, 0, 2000};
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  run_for(seconds{1});
  door_.say({2, 2000, 6600}, message(LauncherVerb::rank_started));  // another job's process
  door_.say({3, 2000, 9999},
            message(LauncherVerb::rank_exited));  // unknown process of another user
  door_.say({4, 2000, 9999}, message(LauncherVerb::rank_exited, "99"));  // nobody announced that
  door_.say({5, 2000, 9999},
            message(LauncherVerb::rank_started, "77", 5));  // a rank more of another user's job
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::rank_started).size(), 1U);
  EXPECT_TRUE(uplink_.of(EventKind::rank_exited).empty());
  EXPECT_EQ(counters_.get("agent_launcher_refusals_total"), 4U);
  ASSERT_EQ(door_.replies.size(), 4U);
  for (const auto& [connection, reply] : door_.replies)
    EXPECT_EQ(reply.kind, LauncherReply::Kind::refused);
}

TEST_F(RuntimeTest, RulingsReachThoseWhoWaitBeforeAndAfter) {
  run_for(seconds{1});
  door_.say(peer_, message(LauncherVerb::rank_started));
  door_.say(peer_, message(LauncherVerb::await_ruling));
  run_for(seconds{1});
  EXPECT_TRUE(door_.replies.empty());
  uplink_.rulings.push_back({{"77", 1}, true, "n3 drained"});
  uplink_.rulings.push_back({{"78", 0}, true, "another job's"});
  run_for(seconds{1});
  ASSERT_EQ(door_.replies.size(), 1U);
  EXPECT_EQ(door_.replies[0].second.text, "n3 drained");
  EXPECT_TRUE(door_.replies[0].second.final);
  const LauncherPeer late{2, 1000, 4702};
  door_.say(late, message(LauncherVerb::rank_started, "77", 3));
  door_.say(late, message(LauncherVerb::await_ruling, "77", 3));
  run_for(seconds{1});
  ASSERT_EQ(door_.replies.size(), 2U);
  EXPECT_EQ(door_.replies[1].first, 2U);
}

TEST_F(RuntimeTest, GpusAreSampledRarelyAndLinkedToKernelLines) {
  GpuSample gpu;
  gpu.pci_address = "00000000:3B:00.0";
  gpu.uuid = "GPU-1";
  gpu.serial = "S1";
  gpu.ecc_uncorrected_total = 0;
  gpus_.next = std::vector<GpuSample>{gpu};
  run_for(seconds{25});
  EXPECT_EQ(gpus_.calls, 3);
  EXPECT_EQ(uplink_.of(EventKind::gpu_identity).size(), 1U);
  EXPECT_TRUE(uplink_.of(EventKind::gpu_sample).empty());
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature)[0].field("gpu_serial"), "S1");
}

TEST_F(RuntimeTest, NodeWithoutNvmlIsAskedEveryFiveMinutes) {
  gpus_.next = Error{ErrorCode::not_found, "none"};
  run_for(seconds{301});
  EXPECT_EQ(gpus_.calls, 2);
}

TEST_F(RuntimeTest, HangingDriverIsToldOnce) {
  gpus_.next = Error{ErrorCode::deadline_exceeded, "hangs"};
  run_for(seconds{60});
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "nvml_hung");
}

TEST_F(RuntimeTest, SleepsWhenThereIsNothingToDo) {
  run_for(seconds{2});
  int steps = 0;
  for (Duration end = clock_.monotonic() + seconds{10}; clock_.monotonic() < end; ++steps)
    clock_.advance(runtime_->step());
  EXPECT_LE(steps, 52) << "four polls of a file and one heartbeat a second";
}

TEST_F(RuntimeTest, StopSendsWhatThereIs) {
  run_for(seconds{1});
  xid(1);
  runtime_->stop(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
}

TEST_F(RuntimeTest, FirstStartInTheFutureDoesNotSilenceTheNode) {
  clock_.step_wall(
      Instant{seconds{1'700'000'000}});  // the clock was years ahead at the first start
  start();
  xid(1);
  run_for(seconds{2});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
}

TEST_F(RuntimeTest, ClockStepsNeitherSilenceTheNodeNorRepeatItsLines) {
  run_for(seconds{10});
  const int beats = uplink_.heartbeats;
  int pid = 0;
  for (const auto step : {std::chrono::hours{24}, std::chrono::hours{-72}}) {
    clock_.step_wall(clock_.now() + step);  // the second one to before the first start and the boot
    xid(++pid);
    run_for(seconds{10});
  }
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
  EXPECT_EQ(uplink_.heartbeats, beats + 20);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

TEST_F(RuntimeTest, ASecondAgentOnTheStateIsRefusedAndSpoilsNothing) {
  run_for(seconds{1});
  const auto second = open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().message.find("--state"), std::string::npos);
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 1U);
  start();  // the first one has left
}

TEST_F(RuntimeTest, DamagedStateIsAFirstStartAndSaid) {
  run_for(seconds{1});
  EXPECT_EQ(counters_.get("agent_state_damaged_total"), 0U) << "none is not a damaged one";
  runtime_.reset();
  const std::string first = R"("first_start":"2027-01-15T08:00:00.000000Z")";
  std::uint64_t damaged = 0;
  for (const std::string& content : std::vector<std::string>{
           "", "{", "[]", R"({"cursors":7})",
           R"({"boot_id":3,"first_start":"x","cursors":{"a":1}})",
           R"({"boot_id":"boot-1",)" + first + R"(,"cursors":{"/var/log/kern.log":"0","a":1}})",
           R"({"boot_id":"boot-1",)" + first + "}"}) {
    xid(1);
    std::ofstream(folder_ / "state/state.json") << content;
    start();
    run_for(seconds{1});
    EXPECT_EQ(counters_.get("agent_state_damaged_total"), ++damaged) << content;
    EXPECT_TRUE(uplink_.of(EventKind::log_signature).empty()) << content;
  }
  EXPECT_EQ(uplink_.of(EventKind::agent_started).size(), 1 + damaged);
  EXPECT_EQ(uplink_.of(EventKind::source_gap).size(), damaged);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "state_damaged");
  start();
  EXPECT_EQ(counters_.get("agent_state_damaged_total"), damaged) << "it is whole again";
}

TEST_F(RuntimeTest, AfterADamagedStateARanksOldLinesAreNotToldAgain) {
  LauncherMessage old = message(LauncherVerb::rank_started);
  job_log_.text = "BOOM\n";
  clock_.advance(seconds{1});
  for (const char* content : {"{", ""}) {
    runtime_.reset();
    if (*content != '\0') std::ofstream(folder_ / "state/state.json") << content;
    if (*content == '\0') fs::remove(folder_ / "state/state.json");
    start();
    door_.say(peer_, old);
    run_for(seconds{1});
    EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), *content == '\0' ? 1U : 0U)
        << "a first start reads a rank's log from the rank's start";
  }
}

}  // namespace
}  // namespace faultline
