// Plays NCCL's callbacks to our plugin so often as asked, for somebody who counts instructions.
//   play_callbacks collective CHANNELS TIMES | send TIMES
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fixtures/nccl_driver.h"

extern "C" faultline::nccl::Plugin<faultline::nccl::InitV5> ncclProfiler_v5;

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() < 2) return 2;
  const auto folder = std::filesystem::temp_directory_path() / "faultline-play-callbacks";
  ::setenv("FAULTLINE_RING_DIR", folder.c_str(), 1);
  faultline::NcclDriver<5> driver(ncclProfiler_v5);
  if (driver.init() != 0) return 1;
  const long times = std::stol(words.back());
  const auto channels = static_cast<std::uint8_t>(std::stoi(words[1]));
  for (long time = 0; time < times; ++time) {
    if (words.front() == "collective") {
      driver.run_collective("AllReduce", 1 << 20, channels);
    } else {
      void* task = driver.start_p2p("Send", 3, 1 << 20);
      driver.stop(task);
      driver.stop_kernel(driver.start_kernel(task, 0, 1000), 2000);
    }
  }
  driver.finalize();
  std::filesystem::remove_all(folder);
  return 0;
}
