// `faultline doctor`: is everything set up right on this node or controller, and what to do if not.
// Looks, changes nothing. This file chooses the checks that fit; doctor_checks.h has them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "apps/agent_command.h"
#include "base/result.h"

namespace faultline {

inline constexpr const char* default_agent_config = "/etc/faultline/agent.toml";
inline constexpr const char* default_serve_config = "/etc/faultline/serve.toml";

struct DoctorOptions {
  std::string agent_config = default_agent_config;
  std::string serve_config = default_serve_config;
  std::string catalog;
  bool agent = false;  // neither: whichever configuration exists
  bool controller = false;
  bool json = false;
};

void add_doctor_command(CLI::App& app, DoctorOptions& options);

/// Reaches the controller with the agent's certificates, unnoticed; made by main.cc, which knows
/// the transport.
using ReachController = std::function<Status(const AgentOptions&)>;

/// Exit code 0 if nothing failed.
int doctor_main(const DoctorOptions& options, const ReachController& reach);

}  // namespace faultline
