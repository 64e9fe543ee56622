// `faultline pki init|issue|show`: certificates for agents, the controller and operators.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/pki/authority.h"

namespace faultline {

struct PkiOptions {
  std::string verb;  // init, issue, show; set by the parser
  std::string folder = "faultline-pki";
  int authority_days = authority_days_default;
  IssueRequest request;
  std::string role = "agent";
  std::string file;  // show
  bool force = false;
};

void add_pki_command(CLI::App& app, PkiOptions& options);
/// Prints what was made and how it is used; the exit code.
int pki_main(const PkiOptions& options);

}  // namespace faultline
