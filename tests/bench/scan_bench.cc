// How fast a clean log is read with all signatures active, on one core: 0.7 GB/s at least, and 90 %
// of a bare scan with the same compiled patterns. `limit` is the first, `of_bare` the second. What
// grep and ripgrep make of the same patterns: tests/bench/diagnose.

#include <benchmark/benchmark.h>
#include <hs/hs.h>
#include <sys/resource.h>

#include <string>

#include "base/check.h"
#include "ingest/log_decoder.h"
#include "tests/bench/training_log.h"

namespace faultline {
namespace {

constexpr std::size_t log_bytes = std::size_t{256} << 20U;
constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;
constexpr double limit_gb_per_s = 0.7;
constexpr int repeats = 5;

struct Scan {
  Counters counters;
  Catalog catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value();
  std::shared_ptr<const SignatureDatabase> database =
      SignatureDatabase::open(catalog, layers_of(EventSource::job_log), {}, counters).value();
  std::string log;

  static Scan& get() {
    static Scan scan;
    if (scan.log.empty()) {
      Rng rng(1);
      while (scan.log.size() < log_bytes) scan.log += usual_job_line(rng) + "\n";
    }
    return scan;
  }
};

/// A whole log through `each`, chunk by chunk.
template <class Each>
void over_chunks(benchmark::State& state, Each each) {
  const std::string& log = Scan::get().log;
  for (auto _ : state) {
    for (std::size_t at = 0; at < log.size(); at += chunk_bytes)
      each(std::string_view(log).substr(at, chunk_bytes), at);
  }
  const double bytes = static_cast<double>(state.iterations()) * static_cast<double>(log.size());
  state.counters["GB/s"] = benchmark::Counter(bytes / 1e9, benchmark::Counter::kIsRate);
  state.counters["limit_GB/s"] = limit_gb_per_s;
}

void BM_ScanBare(benchmark::State& state) {
  const SignatureDatabase& database = *Scan::get().database;
  hs_scratch* scratch = database.take_scratch();
  FAULTLINE_CHECK(scratch != nullptr);
  const auto ignore = [](unsigned, unsigned long long, unsigned long long, unsigned, void*) {
    return 0;
  };
  over_chunks(state, [&](std::string_view chunk, std::size_t) {
    FAULTLINE_CHECK(hs_scan(database.compiled(), chunk.data(), static_cast<unsigned>(chunk.size()),
                            0, scratch, ignore, nullptr) == HS_SUCCESS);
  });
  database.give_scratch(scratch);
}

void BM_ScanCleanLog(benchmark::State& state) {
  Scan& scan = Scan::get();
  Origin origin;
  origin.source = EventSource::job_log;
  LogDecoder decoder(scan.database, origin, scan.counters, {}, LineChoice::may_hit);
  const Instant now{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};
  over_chunks(state, [&](std::string_view chunk, std::size_t at) {
    benchmark::DoNotOptimize(decoder.feed(chunk, at, now));
  });
}

BENCHMARK(BM_ScanBare)->Unit(benchmark::kMillisecond)->Repetitions(repeats)->ReportAggregatesOnly();
BENCHMARK(BM_ScanCleanLog)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(repeats)
    ->ReportAggregatesOnly();

}  // namespace
}  // namespace faultline
