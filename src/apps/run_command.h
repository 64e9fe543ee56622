// `faultline run [options] -- CMD...`: wraps one rank, or one node's launcher. The command runs
// exactly as it would without: same input, output, signals and exit code. In passing, every line
// gets its time, node and rank in a log of its own, the agent learns which process is which rank,
// and a failed rank waits a moment to say what broke.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace faultline {

struct RunOptions {
  std::vector<std::string> command;
  std::string socket;  // "": FAULTLINE_AGENT_SOCKET, else the default; %n is the node
  std::string log_dir = "faultline-logs";  // "": no log
  std::string node;                        // overrides what the launcher says
  std::string catalog;
  bool tag = false;
  bool verbose = false;
  double ruling_wait_s = 10;
  double stall_floor_s = 60;
};

void add_run_command(CLI::App& app, RunOptions& options);
/// The exit code of the command: 128 + signal if a signal ended it, 127 or 126 if it could not be
/// started.
int run_main(const RunOptions& options);

}  // namespace faultline
