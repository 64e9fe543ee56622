// `faultline doctor`: is everything set up right on this node or controller, and what to do if not.
// Looks, changes nothing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "apps/agent_command.h"
#include "apps/serve_command.h"
#include "base/enum_text.h"

namespace faultline {

enum class CheckState { ok, warning, failed };
FAULTLINE_ENUM_NAMES(CheckState, "ok", "warning", "failed");

struct DoctorCheck {
  std::string name;
  CheckState state = CheckState::ok;
  std::string detail;  // what was seen
  std::string remedy;  // what to do; "" when ok
};

struct DoctorOptions {
  std::string agent_config = "/etc/faultline/agent.toml";
  std::string serve_config = "/etc/faultline/serve.toml";
  std::string catalog;
  bool agent = false;  // neither: whichever configuration exists
  bool controller = false;
  bool json = false;
};

void add_doctor_command(CLI::App& app, DoctorOptions& options);

/// Reaches the controller as the agent would; made by main.cc, which knows the transport.
using ReachController = std::function<Status(const AgentOptions&)>;

/// Exit code 0 if nothing failed.
int doctor_main(const DoctorOptions& options, const ReachController& reach);

/// The checks by themselves, for tests. Each looks at one thing.
DoctorCheck check_catalog(const std::string& given);
DoctorCheck check_kernel_log(const std::string& source);
DoctorCheck check_writable_folder(const std::string& name, const std::string& folder);
DoctorCheck check_certificate(const std::string& name, const std::string& file, Instant now);
DoctorCheck check_store(const std::string& file);

}  // namespace faultline
