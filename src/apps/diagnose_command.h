// `faultline diagnose`: from logs and dumps that a dead run left to its first cause. Reads only.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace faultline {

struct DiagnoseOptions {
  std::vector<std::string> paths;
  std::string catalog;
  std::string html;     // write a page there
  std::string explain;  // a rule, cause or signature
  bool json = false;
};

CLI::App* add_diagnose_command(CLI::App& app, DiagnoseOptions& options);

/// 0 nothing wrong, 1 a cause was found, 3 undecided, 2 what was asked for cannot be read.
int diagnose_main(const DiagnoseOptions& options);

}  // namespace faultline
