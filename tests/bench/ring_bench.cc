// What an operation costs the process that it is recorded in: all calls about it, from its start to
// its last channel, as NCCL makes them.

#include <benchmark/benchmark.h>

#include "tests/fixtures/ring_story.h"

namespace faultline {
namespace {

StoryRing& timed_story() {
  static StoryRing story;
  story.writer.ticks = trace::choose_ticks();
  story.writer.anchor_interval_ticks = trace::measure_ticks_per_second(story.writer.ticks);
  return story;
}

void record_operation(benchmark::State& state) {
  StoryRing& story = timed_story();
  const auto channels = static_cast<std::uint8_t>(state.range(0));
  const auto world = story.open("world", 1);
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    const auto handle = story.start(world, ++sequence, channels);
    trace::enqueue_operation(story.writer, handle);
    story.complete(handle, channels);
  }
  trace::close_communicator(story.writer, world);
}
BENCHMARK(record_operation)->Arg(1)->Arg(16);

void record_blocking_call(benchmark::State& state) {
  StoryRing& story = timed_story();
  const auto world = story.open("world", 1);
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    const auto handle = story.start(world, ++sequence, 0);
    trace::finish_operation(story.writer, handle, ringfmt::Outcome::done);
  }
  trace::close_communicator(story.writer, world);
}
BENCHMARK(record_blocking_call);

void record_wait(benchmark::State& state) {
  StoryRing& story = timed_story();
  const auto peer = trace::find_peer(story.writer, story.open("world", 1), 1);
  for (auto _ : state) {
    const auto token = trace::begin_wait(story.writer, peer, ringfmt::WaitKind::send_network);
    trace::end_wait(story.writer, peer, ringfmt::WaitKind::send_network, token);
  }
}
BENCHMARK(record_wait);

void read_black_box(benchmark::State& state) {
  const StoryRing story = stuck_rank();
  for (auto _ : state) {
    auto bytes = story.bytes();
    benchmark::DoNotOptimize(read_ring(bytes));
  }
}
BENCHMARK(read_black_box)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace faultline
