// How much of a flight recorder's dumps is read: a ring as it is full (2000 operations, each with a
// stack), and a short one, where what a file costs by itself shows.

#include <benchmark/benchmark.h>

#include <string>

#include "base/check.h"
#include "base/counters.h"
#include "ingest/flight_recorder_events.h"
#include "ingest/pickle.h"
#include "tests/fixtures/flight_recorder_story.h"
#include "tests/fixtures/flight_recorder_writer.h"

namespace faultline {
namespace {

constexpr int ranks = 128;

/// Rank 0 of a job that reduces, gathers and passes on; each call from one of a few places.
FlightRecorderDump ring(std::int64_t operations) {
  RecorderStory story;
  std::vector<std::int32_t> everybody(ranks);
  for (int rank = 0; rank < ranks; ++rank) everybody[static_cast<std::size_t>(rank)] = rank;
  story.group("0", "default_pg", everybody);
  const auto tensor = story.group("11", "TENSOR_MODEL_PARALLEL_GROUP", {0, 1, 2, 3, 4, 5, 6, 7});
  const auto pipe = story.group("23", "PIPELINE_MODEL_PARALLEL_GROUP", {0, 64});
  for (int i = 0; i < 60; ++i)
    story.frame("forward", "/opt/megatron/core/transformer/part" + std::to_string(i) + ".py", i);
  for (std::int64_t i = 0; i < operations; ++i) {
    auto& entry = i % 8 == 7
                      ? story.transfer(pipe, "nccl:send 0->1", OperationState::completed, i)
                      : story.collective(tensor, "nccl:all_reduce", OperationState::completed, i);
    entry.in_sizes = entry.out_sizes = "[4096,1,8192]";
    for (std::uint32_t frame = 0; frame < 24; ++frame)
      entry.frames.push_back((static_cast<std::uint32_t>(i) % 4 * 12 + frame) % 60);
  }
  return story.dump;
}

void count_bytes(benchmark::State& state, const std::string& bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(bytes.size()));
}

void unpickle(benchmark::State& state) {
  const std::string bytes = flight_recorder_pickle(ring(state.range(0)));
  for (auto _ : state) {
    const auto tree = read_pickle(bytes);
    FAULTLINE_CHECK(tree.ok());
    benchmark::DoNotOptimize(tree->containers());
  }
  count_bytes(state, bytes);
}
BENCHMARK(unpickle)->Arg(12)->Arg(2000);

void events_of(benchmark::State& state, const std::string& bytes) {
  Counters counters;
  Origin origin;
  origin.rank = 0;
  for (auto _ : state) {
    const auto dump = read_flight_recorder(bytes, counters);
    FAULTLINE_CHECK(dump.ok());
    benchmark::DoNotOptimize(flight_recorder_events(*dump, origin, counters));
  }
  count_bytes(state, bytes);
}

void flight_recorder_pickle_to_events(benchmark::State& state) {
  events_of(state, flight_recorder_pickle(ring(state.range(0))));
}
BENCHMARK(flight_recorder_pickle_to_events)->Arg(12)->Arg(2000);

void flight_recorder_json_to_events(benchmark::State& state) {
  events_of(state, flight_recorder_json(ring(state.range(0))));
}
BENCHMARK(flight_recorder_json_to_events)->Arg(2000);

}  // namespace
}  // namespace faultline
