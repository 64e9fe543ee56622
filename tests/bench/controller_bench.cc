// How many events a second the controller stores and judges, on one core: each costs a row, index
// entries and a look by every detector. A quiet day is chatter with a contained fault now and then.
// On a bad day one attempt after another fails: its ranks say why, its nodes' kernels repeat
// themselves, and agents that were cut off send what they had sent before. The figures to read are
// items_per_second of CPU time, and what the limit takes of a core: above 1.00 it is missed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "controller/judge.h"
#include "controller/scheduler_watch.h"
#include "store/store.h"

namespace faultline {
namespace {

constexpr double events_per_second_min = 5000;
constexpr int batch = 500;           // what a busy agent sends at once
constexpr int failing_ranks = 32;    // of an attempt: four nodes of eight
constexpr int events_per_fault = 8;  // a kernel repeats itself

Instant time_of(int number) { return Instant{std::chrono::milliseconds{1700000000000LL + number}}; }

Event event_of(EventSource source, EventKind kind, int node, int number) {
  Event event;
  event.source = source;
  event.kind = kind;
  event.reporter = "n" + std::to_string(node % 512);
  event.observed_at = event.received_at = time_of(number);
  event.clock = ClockDomain::node_wall;
  return event;
}

Event chatter(int number) {
  const auto source = number % 2 == 0 ? EventSource::kernel_log : EventSource::job_log;
  Event event = event_of(source, EventKind::log_signature, number, number);
  event.subject = Subject::of_gpu(event.reporter, "0000:3b:00.0");
  event.attempt = AttemptId{std::to_string(number % 64), 0};
  event.signature = number % 100 == 0 ? "xid.94" : "aer.port";
  event.fields = {{"bdf", "0000:3b:00.0"}, {"text", "correctable"}};
  event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number), "boot",
               "pcieport 0000:80:01.0: AER: Corrected error received: 0000:8a:00.0"};
  event.id = make_event_id(event);
  return event;
}

/// An attempt that begins, loses a GPU and fails, as agents and scheduler tell it.
std::vector<Event> failing_attempt(int job, int number) {
  Attempt attempt;
  attempt.id = {"failing-" + std::to_string(job), 0};
  attempt.state = AttemptState::failed;
  for (int i = 0; i < failing_ranks / 8; ++i)
    attempt.nodes.push_back("n" + std::to_string((job * 4 + i) % 512));
  attempt.started_at = attempt.ended_at = time_of(number);
  std::vector<Event> events = {attempt_event(EventKind::attempt_started, attempt, time_of(number))};
  for (int i = 0; i < events_per_fault; ++i) {
    events.push_back(
        event_of(EventSource::kernel_log, EventKind::log_signature, job * 4, number + i));
    Event& fault = events.back();
    fault.subject = Subject::of_gpu(fault.reporter, "0000:3b:00.0");
    fault.signature = "xid.48";
    fault.fields = {{"bdf", "0000:3b:00.0"}, {"xid", "48"}};
    fault.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number + i), "boot", "NVRM: Xid ... 48"};
  }
  for (int rank = 0; rank < failing_ranks; ++rank) {
    for (const auto kind :
         {EventKind::rank_started, EventKind::log_signature, EventKind::rank_exited}) {
      const bool says = kind == EventKind::log_signature;
      events.push_back(event_of(says ? EventSource::job_log : EventSource::launcher, kind,
                                job * 4 + rank / 8, number + rank));
      Event& event = events.back();
      event.attempt = attempt.id;
      event.subject = Subject::of_rank(attempt.id, rank, event.reporter);
      if (says) event.signature = rank == 0 ? "cuda.ecc" : "c10d.timeout";
      if (kind == EventKind::rank_exited) event.fields = {{"exit_code", "1"}};
      event.raw.text = says ? "RuntimeError: CUDA error" : "";
    }
  }
  events.push_back(attempt_event(EventKind::attempt_ended, attempt, time_of(number + batch)));
  for (auto& event : events) {
    event.received_at = time_of(number);
    event.id = make_event_id(event);
  }
  return events;
}

std::vector<Event> quiet_day(int& number) {
  std::vector<Event> events;
  while (std::ssize(events) < batch) events.push_back(chatter(number++));
  return events;
}

/// Three attempts fail, some of the chatter before comes once more, and the rest is new.
std::vector<Event> bad_day(int& number) {
  constexpr int repeated = 80;
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    auto failing = failing_attempt(number / batch * 3 + i, number);
    std::move(failing.begin(), failing.end(), std::back_inserter(events));
  }
  for (int i = batch - repeated; number > 0 && i < batch; ++i)
    events.push_back(chatter(number - batch + i));
  while (std::ssize(events) < batch)
    events.push_back(chatter(number + static_cast<int>(events.size())));
  number += batch;
  return events;
}

void store_and_judge(benchmark::State& state, std::vector<Event> (*next)(int&)) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("faultline-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
  const auto store = Store::open(folder / "bench.db", Access::read_write);
  if (!catalog || !store) {
    state.SkipWithError("no catalog or no store");
    return;
  }
  Judge judge(*catalog, catalog->policy().limits, Mode::observe);
  ClusterView view;
  ActionHistory history;
  int number = 0;
  std::size_t verdicts = 0;
  for (auto _ : state) {
    const auto events = next(number);
    const auto fresh = (*store)->append_events(events);
    for (const auto& event : *fresh) judge.observe(event);
    const auto judgement = judge.evaluate(view, history, time_of(number));
    verdicts += judgement.verdicts.size();
    for (const auto& verdict : judgement.verdicts)
      benchmark::DoNotOptimize((*store)->put_verdict(verdict).ok());
    for (const auto& decision : judgement.decisions)
      benchmark::DoNotOptimize((*store)->put_decision(decision).ok());
  }
  const double events = static_cast<double>(state.iterations()) * batch;
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
  state.counters["verdicts"] = static_cast<double>(verdicts);
  state.counters["limit"] = events_per_second_min;
  state.counters["cores_at_limit"] = benchmark::Counter(
      events / events_per_second_min, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  std::filesystem::remove_all(folder);
}
BENCHMARK_CAPTURE(store_and_judge, quiet_day, quiet_day)->Unit(benchmark::kMillisecond)->MinTime(3);
BENCHMARK_CAPTURE(store_and_judge, bad_day, bad_day)->Unit(benchmark::kMillisecond)->MinTime(3);

}  // namespace
}  // namespace faultline
