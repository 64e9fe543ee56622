// Plays NCCL's callbacks to our plugin so often as asked, for somebody who counts instructions.
//   play_callbacks collective CHANNELS TIMES | send PEER TIMES
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fixtures/nccl_driver.h"

extern "C" faultline::nccl::Plugin<faultline::nccl::InitV5> ncclProfiler_v5;

namespace {

using Driver = faultline::NcclDriver<5>;

}  // namespace

// By these names instructions are counted in them alone.
extern "C" {
[[gnu::noinline]] void play_collectives(Driver* driver, std::uint8_t channels, long times) {
  for (long time = 0; time < times; ++time) driver->run_collective("AllReduce", 1 << 20, channels);
}
[[gnu::noinline]] void play_sends(Driver* driver, int peer, long times) {
  for (long time = 0; time < times; ++time) {
    void* task = driver->start_p2p("Send", peer, 1 << 20);
    driver->stop(task);
    driver->stop_kernel(driver->start_kernel(task, 0, 1000), 2000);
  }
}
}

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() != 3) return 2;
  const auto folder = std::filesystem::temp_directory_path() / "faultline-play-callbacks";
  ::setenv("FAULTLINE_RING_DIR", folder.c_str(), 1);
  Driver driver(ncclProfiler_v5);
  if (driver.init() != 0) return 1;
  const int number = std::stoi(words[1]);
  const long times = std::stol(words[2]);
  if (words[0] == "collective") {
    play_collectives(&driver, static_cast<std::uint8_t>(number), times);
  } else {
    play_sends(&driver, number, times);
  }
  driver.finalize();
  std::filesystem::remove_all(folder);
  return 0;
}
