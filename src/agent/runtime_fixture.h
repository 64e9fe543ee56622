// For the agent's tests: an agent whose logs, controller, launchers, GPUs and clock are the test's.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/runtime.h"
#include "base/small_file.h"

namespace faultline {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr std::string_view runtime_causes = R"([[cause]]
id = "gpu.test"
class = "gpu"
severity = "critical"
remedy = "reset_gpu"
summary = "s"
explanation = "e"
next_step = "n"
cases = []
)";
inline constexpr std::string_view runtime_signatures = R"([[signature]]
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

[[signature]]
id = "ctld.down"
layer = "scheduler"
pattern = '''^error: Nodes (\S+) not responding'''
captures = ["hosts"]
cause = "gpu.test"
role = "root"
severity = "critical"
subject = "node"
note = "n"
source = "s"
)";

/// Lines put in by hand. What a run of the agent has not read, the next one gets through the
/// cursor.
struct FakeLog {
  std::string path = {};
  std::string text = {};
  std::optional<GapReason> gap = {};
  std::optional<Error> error = {};
  bool waiting = false;  // in the queue behind another log that hangs
  std::string incarnation = "1";
};
class FakeSource final : public LogSource {
 public:
  explicit FakeSource(FakeLog& log) : log_(log) {}
  [[nodiscard]] std::string path() const override { return log_.path; }
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override {
    if (!placed_) at_ = log_.text.size();
    placed_ = true;
    if (log_.error) return *log_.error;
    if (log_.waiting || bytes_max == 0) return std::vector<Chunk>{};
    if (at_ == log_.text.size() && !log_.gap) return std::vector<Chunk>{};
    Chunk chunk{log_.text.substr(at_), at_, log_.incarnation, std::exchange(log_.gap, {})};
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
  void introduce(const AgentIdentity& agent) override { who = agent; }
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
  AgentIdentity who;
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
    put("catalog/causes/t.toml", runtime_causes);
    put("catalog/signatures/t.toml", runtime_signatures);
    put("catalog/policies/t.toml", "[limits]\n");
    auto catalog = Catalog::load(folder_ / "catalog");
    EXPECT_TRUE(catalog.ok()) << (catalog.ok() ? "" : catalog.error().message);
    catalog_ = std::move(catalog).value();
    start();
  }
  ~RuntimeTest() override {
    runtime_.reset();
    fs::remove_all(folder_);
  }

  void put(const std::string& file, std::string_view content) const {
    EXPECT_TRUE(write_small_file(folder_ / file, content, false).ok());
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
    ports.find_job_logs = find_job_logs_;
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
  FakeLog kernel_{.path = "/var/log/kern.log"};
  FakeLog job_log_;
  std::function<std::optional<std::vector<std::string>>()> find_job_logs_;
  std::unique_ptr<AgentRuntime> runtime_;
  const LauncherPeer peer_{1, 1000, 4700};
};

}  // namespace faultline
