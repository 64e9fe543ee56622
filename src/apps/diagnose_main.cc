// The program of `./dev diagnose`: the one verb that needs no cluster, for who has nothing
// installed and wants an answer now.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/diagnose_command.h"
#include "apps/output.h"
#include "apps/usage.h"
#include "base/version.h"

namespace faultline {
namespace {

int run_program(int argc, char** argv) {
  DiagnoseOptions options;
  CLI::App app("faultline, built with `diagnose` alone: ./dev build makes all of it.", "faultline");
  app.set_version_flag("--version", "faultline " + std::string(kVersion));
  app.require_subcommand(1);
  add_diagnose_command(app, options);
  if (const auto code = parse_command_line(app, argc, argv)) return *code;
  hold_standard_descriptors();
  return diagnose_main(options);
}

}  // namespace
}  // namespace faultline

int main(int argc, char** argv) {
  return faultline::finish_output("faultline diagnose", faultline::run_program(argc, argv));
}
