// What 5,000 events a second cost the controller: from the bytes of agents' batches, as the gRPC
// server takes them, through the store to verdicts, decisions and acts, with all of its threads. A
// quiet day is chatter with a contained fault now and then. On a bad day thirty attempts a second
// fail: their ranks say why, their nodes' kernels repeat themselves, and agents that were cut off
// send what they had sent before. The figure to read is `cores`: processor time over the time in
// which the events came. Its limit is one, so it is the ratio, too. `behind_s` is how much later
// than the last event all was judged; processor time apart, it is what the disk takes to sync each
// verdict and decision.
#include <benchmark/benchmark.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "controller/controller.h"
#include "wire/convert.h"
#include "wire/intake.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int events_per_second = 5000;
constexpr int ticks = 100;
constexpr Duration tick = milliseconds{100};
constexpr int events_per_tick = 500;
constexpr int node_count = 512;
constexpr int nodes_per_job = 4;
constexpr int ranks_per_node = 8;
constexpr int failures_per_tick = 3;  // of attempts, on a bad day
constexpr int events_per_fault = 8;   // a kernel repeats itself
constexpr int repeated_per_tick = 80;
constexpr Duration head_start = seconds{3};  // to make the events before they are due

std::string node_name(int number) { return "n" + std::to_string(number % node_count); }

/// What one agent sends at once.
struct Sent {
  std::string node;
  Duration due;
  std::string bytes;
  int events = 0;
};

/// A cluster whose attempts fail when the day says so, and which does at once what it is asked.
class BenchCluster final : public Scheduler, public Actuator {
 public:
  BenchCluster(const Clock& clock, std::vector<Attempt> attempts)
      : clock_(clock), attempts_(std::move(attempts)) {}

  Result<ClusterView> view() override {
    ClusterView view;
    view.taken_at = clock_.now();
    view.scheduler = "bench";
    for (const Attempt& planned : attempts_) {
      const bool ended = planned.ended_at <= view.taken_at;
      view.attempts.push_back(planned);
      if (ended) continue;
      view.attempts.back().state = AttemptState::running;
      view.attempts.back().ended_at = Instant{};
    }
    const std::lock_guard lock(mutex_);
    for (int number = 0; number < node_count; ++number) {
      SchedulerNode node;
      node.name = node_name(number);
      node.drained = drained_.contains(node.name);
      node.available = !node.drained;
      if (node.drained) node.drain_reason = drained_.at(node.name);
      view.nodes[node.name] = node;
    }
    return view;
  }

  Result<Outcome> execute(const Action& action) override {
    const std::lock_guard lock(mutex_);
    if (action.kind == ActionKind::drain_node) drained_[action.subject.node] = action.reason;
    return Outcome{action.id, OutcomeStatus::done, clock_.now(), "done", {}, false};
  }
  Result<Outcome> inspect(const Action& action) override { return execute(action); }

 private:
  const Clock& clock_;
  std::vector<Attempt> attempts_;
  std::mutex mutex_;
  std::map<std::string, std::string> drained_;  // node -> reason
};

/// All that happens in the ten seconds from `begin` on.
class Day {
 public:
  explicit Day(Instant begin) : begin_(begin) {}

  void quiet() {
    for (int i = 0; i < ticks; ++i) {
      now_ = i * tick;
      chatter(events_per_tick);
    }
  }

  void bad() {
    for (int i = 0; i < ticks; ++i) {
      now_ = i * tick;
      int left = events_per_tick;
      for (int failure = 0; failure < failures_per_tick; ++failure)
        left -= attempt_fails(i * failures_per_tick + failure);
      if (chatter_.events > 0) left -= repeat(chatter_);
      chatter(left - repeated_per_tick);
      chatter(repeated_per_tick);
      chatter_ = sent.back();
    }
  }

  std::vector<Sent> sent;
  std::vector<Attempt> attempts;

 private:
  Event event(EventSource source, EventKind kind, int node) {
    Event event;
    event.source = source;
    event.kind = kind;
    event.reporter = node_name(node);
    event.observed_at = begin_ + now_ + std::chrono::microseconds{++count_ % 50'000};
    event.clock = ClockDomain::node_wall;
    event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(count_), "boot", ""};
    return event;
  }

  Event fault(int node, const std::string& signature, const std::string& line) {
    Event fault = event(EventSource::kernel_log, EventKind::log_signature, node);
    fault.subject = Subject::of_gpu(fault.reporter, "0000:3b:00.0");
    fault.signature = signature;
    fault.fields = {{"bdf", "0000:3b:00.0"}};
    fault.raw.text = line;
    return fault;
  }

  /// Of one agent after the other.
  void chatter(int events) {
    const int node = ++agents_;
    std::vector<Event> said;
    for (int i = 0; i < events; ++i) {
      const bool contained = count_ % 100 == 0;
      said.push_back(fault(node, contained ? "xid.94" : "aer.port",
                           contained ? "NVRM: Xid (PCI:0000:3b:00): 94, Contained: SM"
                                     : "pcieport 0000:80:01.0: AER: Corrected error received"));
    }
    send(said);
  }

  int repeat(Sent before) {
    before.due = now_;
    sent.push_back(std::move(before));
    return sent.back().events;
  }

  /// Its first node loses a GPU; all ranks say something and end. The number of events.
  int attempt_fails(int job) {
    Attempt attempt;
    attempt.id = {"failing-" + std::to_string(job), 0};
    attempt.state = AttemptState::failed;
    attempt.started_at = begin_ - seconds{60};
    attempt.ended_at = begin_ + now_;
    attempt.restartable = true;
    int events = 0;
    for (int i = 0; i < nodes_per_job; ++i) {
      const int node = job * nodes_per_job + i;
      attempt.nodes.push_back(node_name(node));
      std::vector<Event> said;
      for (int n = 0; i == 0 && n < events_per_fault; ++n)
        said.push_back(fault(node, "xid.48", "NVRM: Xid (PCI:0000:3b:00): 48, DBE"));
      for (int rank = i * ranks_per_node; rank < (i + 1) * ranks_per_node; ++rank)
        rank_fails(attempt.id, rank, node, said);
      events += static_cast<int>(said.size());
      send(said);
    }
    attempts.push_back(std::move(attempt));
    return events;
  }

  void rank_fails(const AttemptId& attempt, int rank, int node, std::vector<Event>& said) {
    for (const auto kind :
         {EventKind::rank_started, EventKind::log_signature, EventKind::rank_exited}) {
      const bool speaks = kind == EventKind::log_signature;
      Event event = this->event(speaks ? EventSource::job_log : EventSource::launcher, kind, node);
      event.attempt = attempt;
      event.subject = Subject::of_rank(attempt, rank, event.reporter);
      if (kind == EventKind::rank_exited) event.fields = {{"exit_code", "1"}};
      if (speaks) {
        event.signature = rank == 0 ? "cuda.ecc" : "c10d.timeout";
        event.raw.text = "RuntimeError: CUDA error: uncorrectable ECC error encountered";
      }
      said.push_back(std::move(event));
    }
  }

  void send(std::vector<Event>& said) {
    v1::Batch batch;
    for (auto& event : said) {
      event.id = make_event_id(event);
      event_to_wire(event, *batch.add_events());
    }
    sent.push_back(
        {said.front().reporter, now_, batch.SerializeAsString(), static_cast<int>(said.size())});
  }

  Instant begin_;
  Duration now_{0};
  int count_ = 0;
  int agents_ = 0;
  Sent chatter_;
};

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// As the gRPC server does; an agent sends again what was not taken.
void deliver(const Sent& sent, Controller& controller, Counters& counters, const Clock& clock) {
  v1::Batch batch;
  batch.ParseFromString(sent.bytes);
  while (!controller.take_events(sent.node, take_batch(batch, sent.node, counters).events))
    clock.sleep(milliseconds{10});
}

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void take_store_judge(benchmark::State& state, void (Day::*happens)()) {
  spdlog::set_level(spdlog::level::off);
  const auto folder =
      std::filesystem::temp_directory_path() / ("faultline-bench-" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
  const auto store = Store::open(folder / "bench.db", Access::read_write);
  const SystemClock clock;
  const Instant begin = clock.now() + head_start;
  Day day(begin);
  (day.*happens)();
  BenchCluster cluster(clock, day.attempts);
  Counters counters;
  ControllerOptions options;
  options.mode = Mode::act;
  options.limits = catalog->policy().limits;
  Controller controller(*catalog, **store, cluster, cluster, nullptr, clock, counters, options);
  if (!controller.start().ok()) state.SkipWithError("the controller does not start");
  int events = 0;
  for (auto _ : state) {
    clock.sleep(begin - clock.now());
    const double before_s = processor_seconds();
    for (const Sent& sent : day.sent) {
      clock.sleep(begin + sent.due - clock.now());
      deliver(sent, controller, counters, clock);
      events += sent.events;
    }
    while (controller.health().inbox_events > 0) clock.sleep(milliseconds{1});
    controller.stop();  // after the turn in which the judge looks at the last of them
    const double limit_s = static_cast<double>(events) / events_per_second;
    state.counters["cores"] = (processor_seconds() - before_s) / limit_s;
    state.counters["limit_cores"] = 1;
    state.counters["behind_s"] = seconds_of(clock.now() - begin) - limit_s;
  }
  state.counters["events"] = events;
  const auto count = [&](const std::string& what) {
    state.counters[what] = static_cast<double>(counters.get("controller_" + what + "_total"));
  };
  for (const char* what : {"duplicate_events", "verdicts", "decisions"}) count(what);
  std::filesystem::remove_all(folder);
}
BENCHMARK_CAPTURE(take_store_judge, quiet_day, &Day::quiet)
    ->Iterations(1)
    ->Repetitions(3)
    ->ReportAggregatesOnly()
    ->UseRealTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(take_store_judge, bad_day, &Day::bad)
    ->Iterations(1)
    ->Repetitions(3)
    ->ReportAggregatesOnly()
    ->UseRealTime()
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace faultline
