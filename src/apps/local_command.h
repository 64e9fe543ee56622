// `faultline local init|submit|queue|nodes|cancel|release|drain|resume`: the embedded scheduler of
// one machine, as people see it. They read its folder and leave requests in it; `faultline serve
// --scheduler local` takes them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace faultline {

struct LocalCommandOptions {
  std::string state;
  std::string nodes;             // init: "n1,n2" or "n[1-6]"
  std::uint32_t spares = 0;      // init
  std::uint32_t node_count = 1;  // submit
  std::string array;             // submit: "1-3%1"
  std::string name;              // submit
  std::string program;           // submit; its arguments are what the command line leaves over
  std::string target;            // a job or a node
  std::string reason;            // drain
  bool json = false;
  std::uint32_t restart = 0;  // of the hidden verb local-keeper
};

/// Adds `local` with its verbs, and the hidden verb `local-keeper`, which LocalCluster starts.
void add_local_command(CLI::App& app, LocalCommandOptions& options);
/// `command` is `local` or `local-keeper`, after parsing. Returns the exit code.
int local_main(CLI::App& command, const LocalCommandOptions& options);

}  // namespace faultline
