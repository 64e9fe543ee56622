// What NCCL's callbacks cost with our plugin: all that it tells of one collective, from its start
// to the stop of its last channel, into a real black box. On one thread, as no NCCL does it: there
// the kernels' channels are told by another one.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>

#include "tests/fixtures/nccl_driver.h"

extern "C" faultline::nccl::Plugin<faultline::nccl::InitV5> ncclProfiler_v5;

namespace faultline {
namespace {

NcclDriver<5>& driver_of_bench() {
  static NcclDriver<5> driver = [] {
    const auto folder = std::filesystem::temp_directory_path() / "faultline-bench-rings";
    ::setenv("FAULTLINE_RING_DIR", folder.c_str(), 1);
    NcclDriver<5> made(ncclProfiler_v5);
    made.init();
    return made;
  }();
  return driver;
}

void nccl_collective(benchmark::State& state) {
  NcclDriver<5>& driver = driver_of_bench();
  const auto channels = static_cast<std::uint8_t>(state.range(0));
  for (auto _ : state) driver.run_collective("AllReduce", 1 << 20, channels);
}
BENCHMARK(nccl_collective)->Arg(1)->Arg(16);

void nccl_send(benchmark::State& state) {
  NcclDriver<5>& driver = driver_of_bench();
  for (auto _ : state) {
    void* task = driver.start_p2p("Send", 3, 1 << 20);
    driver.stop(task);
    driver.stop_kernel(driver.start_kernel(task, 0, 1000), 2000);
  }
}
BENCHMARK(nccl_send);

}  // namespace
}  // namespace faultline
