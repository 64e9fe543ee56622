// How many events a second the controller stores and judges. Each event costs a row, an index entry
// and a look by every detector; one in a hundred is about a failing attempt. The figure to read is
// items_per_second of CPU time: one core.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "controller/judge.h"
#include "store/store.h"

namespace faultline {
namespace {

Event chatter(int number) {
  Event event;
  event.source = number % 2 == 0 ? EventSource::kernel_log : EventSource::job_log;
  event.reporter = "n" + std::to_string(number % 512);
  event.subject = Subject::of_gpu(event.reporter, "0000:3b:00.0");
  event.attempt = AttemptId{std::to_string(number % 64), 0};
  event.observed_at = Instant{std::chrono::milliseconds{1700000000000LL + number}};
  event.received_at = event.observed_at;
  event.signature = number % 100 == 0 ? "xid.94" : "aer.port";
  event.fields = {{"bdf", "0000:3b:00.0"}, {"text", "correctable"}};
  event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number), "boot",
               "pcieport 0000:80:01.0: AER: Corrected error received: 0000:8a:00.0"};
  event.id = make_event_id(event);
  return event;
}

void StoreAndJudge(benchmark::State& state) {
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
  constexpr int batch = 500;
  int number = 0;
  for (auto _ : state) {
    std::vector<Event> events;
    for (int i = 0; i < batch; ++i) events.push_back(chatter(number++));
    const auto fresh = (*store)->append_events(events);
    for (const auto& event : *fresh) judge.observe(event);
    const auto judgement = judge.evaluate(view, history, events.back().received_at);
    for (const auto& verdict : judgement.verdicts)
      benchmark::DoNotOptimize((*store)->put_verdict(verdict).ok());
    for (const auto& decision : judgement.decisions)
      benchmark::DoNotOptimize((*store)->put_decision(decision).ok());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * batch);
  std::filesystem::remove_all(folder);
}
BENCHMARK(StoreAndJudge)->Unit(benchmark::kMillisecond)->MinTime(3);

}  // namespace
}  // namespace faultline
