// The files through which a controller and the keeper of an attempt know of each other: what to
// start (.launch), which processes it became (.run), how it ended (.exit).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/local/local_rules.h"
#include "adapters/process/process.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

inline constexpr std::uint64_t attempt_file_bytes_max = 4ULL << 20;

struct LaunchFile {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
  Duration grace{0};
};
std::string to_file(const LaunchFile& file);
Result<LaunchFile> parse_launch_file(std::string_view text);

struct RunFile {
  ProcessId keeper;  // pid 0: claimed by a controller, so that no keeper starts it any more
  std::optional<ProcessId> command;  // empty until it is started
};
std::string to_file(const RunFile& file);
Result<RunFile> parse_run_file(std::string_view text);

std::string to_file(const LocalEnd& end);
Result<LocalEnd> parse_exit_file(std::string_view text);

}  // namespace faultline
