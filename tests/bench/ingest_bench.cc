// How much log the decoder reads. A training log of many lines and few hits is the usual load; a
// log of nothing but hits is the worst that a sick node or a hostile job can send.

#include <benchmark/benchmark.h>
#include <re2/re2.h>
#include <re2/set.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "ingest/line_prefix.h"
#include "ingest/line_splitter.h"
#include "ingest/log_decoder.h"
#include "tests/bench/training_log.h"

namespace faultline {
namespace {

constexpr std::size_t log_bytes = 16 * 1024 * 1024;
constexpr std::size_t chunk_bytes = 64 * 1024;

const Catalog& catalog() {
  static const Catalog loaded = [] {
    auto result = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    FAULTLINE_CHECK(result.ok());
    return std::move(result).value();
  }();
  return loaded;
}

std::string usual_kernel_line(Rng& rng) {
  const std::string head = "[" + std::to_string(901233 + rng.below(1000)) + ".110000] ";
  switch (rng.below(3)) {
    case 0: return head + "docker0: port 1(veth0a1b2c) entered blocking state";
    case 1:
      return head +
             "audit: type=1400 audit(1700000000.123:45): apparmor=\"ALLOWED\" operation=\"open\"";
    default: return head + "nvidia-uvm: Loaded the UVM driver, major device number 508.";
  }
}

/// Lines that hit, from the signatures' own cases.
std::vector<std::string> hits_from(const std::string& name) {
  std::vector<std::string> lines;
  std::ifstream stream(FAULTLINE_SOURCE_DIR "/tests/cases/signatures/" + name + ".case");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("fires ")) lines.push_back(line.substr(6));
  }
  FAULTLINE_CHECK(!lines.empty());
  return lines;
}

struct Log {
  std::string text;
  std::int64_t lines = 0;
};

/// A log with one hit in `usual_per_hit` lines; 0: hits alone.
Log make_log(EventSource source, std::uint64_t usual_per_hit) {
  Rng rng(1);
  const bool kernel = source == EventSource::kernel_log;
  const auto hits = hits_from(kernel ? "nvidia_xid" : "torch");
  Log log;
  for (; log.text.size() < log_bytes; ++log.lines) {
    const bool hit = usual_per_hit == 0 || rng.below(usual_per_hit) == 0;
    log.text += hit      ? hits[rng.below(hits.size())]
                : kernel ? usual_kernel_line(rng)
                         : usual_job_line(rng);
    log.text += '\n';
  }
  return log;
}

/// Peak resident memory of the process in MiB: an upper bound, the log itself included.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void count(benchmark::State& state, const Log& log) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(log.text.size()));
  state.counters["lines/s"] =
      benchmark::Counter(static_cast<double>(log.lines) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.counters["peak_MiB"] = peak_mib();
}

void BM_Decode(benchmark::State& state, EventSource source, std::uint64_t usual_per_hit) {
  Counters counters;
  const auto database = SignatureDatabase::open(catalog(), layers_of(source), {}, counters);
  FAULTLINE_CHECK(database.ok());
  const Log log = make_log(source, usual_per_hit);
  const Instant now = parse_instant("2026-03-01T12:00:00Z").value_or(Instant{});
  std::size_t events = 0;
  for (auto iteration : state) {
    Origin origin;
    origin.source = source;
    origin.node = "n3";
    LogDecoder decoder(*database, origin, counters);
    for (std::size_t at = 0; at < log.text.size(); at += chunk_bytes) {
      events += decoder.feed(std::string_view(log.text).substr(at, chunk_bytes), at, now).size();
    }
    events += decoder.finish(now).size();
  }
  count(state, log);
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(state.iterations());
}
BENCHMARK_CAPTURE(BM_Decode, job_one_hit_in_1000, EventSource::job_log, 1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Decode, kernel_one_hit_in_1000, EventSource::kernel_log, 1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Decode, job_hits_alone, EventSource::job_log, 0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Decode, kernel_hits_alone, EventSource::kernel_log, 0)
    ->Unit(benchmark::kMillisecond);

/// The peer: the same patterns in RE2's own set, asked line by line, as a first version would. It
/// finds the signatures and nothing more: no prefix, no captures, no event.
void BM_PeerRe2Set(benchmark::State& state, EventSource source) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 30);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // logs are bytes
  re2::RE2::Set set(options, re2::RE2::UNANCHORED);
  const auto layers = layers_of(source);
  int patterns = 0;
  for (const auto& signature : catalog().signatures()) {
    if (std::find(layers.begin(), layers.end(), signature.layer) == layers.end()) continue;
    if (set.Add(signature.pattern, nullptr) >= 0) ++patterns;
  }
  FAULTLINE_CHECK(set.Compile());
  const Log log = make_log(source, 1000);
  std::size_t hits = 0;
  std::vector<int> matched;
  for (auto iteration : state) {
    LineSplitter splitter;
    splitter.feed(log.text, 0,
                  [&](const Line& line) { hits += set.Match(line.text, &matched) ? 1 : 0; });
  }
  count(state, log);
  state.counters["hits"] = static_cast<double>(hits) / static_cast<double>(state.iterations());
  state.counters["patterns"] = patterns;
}
BENCHMARK_CAPTURE(BM_PeerRe2Set, job_one_hit_in_1000, EventSource::job_log)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_PeerRe2Set, kernel_one_hit_in_1000, EventSource::kernel_log)
    ->Unit(benchmark::kMillisecond);

void BM_SplitLines(benchmark::State& state) {
  const Log log = make_log(EventSource::job_log, 1000);
  std::uint64_t lines = 0;
  for (auto iteration : state) {
    LineSplitter splitter;
    for (std::size_t at = 0; at < log.text.size(); at += chunk_bytes) {
      splitter.feed(std::string_view(log.text).substr(at, chunk_bytes), at,
                    [&](const Line&) { ++lines; });
    }
  }
  benchmark::DoNotOptimize(lines);
  count(state, log);
}
BENCHMARK(BM_SplitLines)->Unit(benchmark::kMillisecond);

void BM_ParseJobPrefix(benchmark::State& state) {
  const Log log = make_log(EventSource::job_log, 1000);
  std::size_t bodies = 0;
  for (auto iteration : state) {
    LineSplitter splitter;
    splitter.feed(log.text, 0,
                  [&](const Line& line) { bodies += parse_job_prefix(line.text, {}).body; });
  }
  benchmark::DoNotOptimize(bodies);
  count(state, log);
}
BENCHMARK(BM_ParseJobPrefix)->Unit(benchmark::kMillisecond);

void BM_CompileSignatures(benchmark::State& state) {
  Counters counters;
  for (auto iteration : state) {
    benchmark::DoNotOptimize(SignatureDatabase::open(catalog(), {Layer::kernel}, {}, counters));
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(BM_CompileSignatures)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace faultline
