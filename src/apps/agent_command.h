// `faultline agent`: one on each node. This file is its flags; agent_command.cc wires the ports.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/result.h"

namespace faultline {

struct AgentOptions {
  std::string config;
  std::string node;  // "": SLURMD_NODENAME, else the host's name
  std::string controller = "127.0.0.1:9176";
  std::vector<std::string> kernel_logs;  // PATH, kmsg, journal or journal:FOLDER; none given: kmsg
  std::vector<std::string> job_logs;     // glob patterns
  std::vector<std::string> scheduler_logs;
  std::string state = "/var/lib/faultline/agent";
  std::string socket;  // "": /run/faultline/agent.sock; %n is the node
  std::string catalog;
  std::string tls_cert, tls_key, tls_ca;
  bool plain = false;
  bool no_nvml = false;
  int spool_mib = 64;
  std::string log_level = "info";
};

/// The way to the controller, made by main.cc, which knows the transport. Clock and counters
/// outlive it.
using MakeUplink =
    std::function<Result<std::unique_ptr<Uplink>>(const AgentOptions&, const Clock&, Counters&)>;

/// Returns the subcommand, which agent_main needs for --config.
CLI::App* add_agent_command(CLI::App& app, AgentOptions& options);
/// Runs until SIGTERM or SIGINT. An exit code of output.h.
int agent_main(CLI::App& command, AgentOptions& options, const MakeUplink& make_uplink);

/// The hidden verb of the process that talks to NVML (see adapters/nvml).
void add_nvml_child_command(CLI::App& app);

/// The name that an agent takes without --node.
std::string default_node();

/// ok, or what is wrong with the options and what to do.
Status check_agent_options(const AgentOptions& options);

}  // namespace faultline
