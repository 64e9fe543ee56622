// The one program. Each verb lives in its own file; this one only lists them.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "adapters/grpc/client.h"
#include "adapters/grpc/reach.h"
#include "adapters/nvml/nvml_child.h"
#include "apps/agent_command.h"
#include "apps/diagnose_command.h"
#include "apps/doctor_command.h"
#include "apps/local_command.h"
#include "apps/output.h"
#include "apps/person_command.h"
#include "apps/pki_command.h"
#include "apps/query_command.h"
#include "apps/repair_command.h"
#include "apps/ring_command.h"
#include "apps/run_command.h"
#include "apps/serve_command.h"
#include "apps/signatures_command.h"
#include "apps/store_command.h"
#include "apps/usage.h"
#include "apps/why_command.h"
#include "base/hash.h"
#include "base/version.h"

namespace faultline {
namespace {

Result<PersonAnswer> operate_remotely(const PersonOptions& options, RequestKind kind,
                                      const std::string& target) {
  const SystemClock clock;
  ControllerAddress controller{options.controller, {}};
  if (!options.plain) controller.tls = TlsFiles{options.tls_ca, options.tls_cert, options.tls_key};
  return operate(controller, kind, target, clock);
}

ControllerAddress controller_of(const AgentOptions& options) {
  ControllerAddress controller{options.controller, {}};
  if (!options.plain) controller.tls = TlsFiles{options.tls_ca, options.tls_cert, options.tls_key};
  return controller;
}

/// The agent's way to the controller.
Result<std::unique_ptr<Uplink>> make_uplink(const AgentOptions& options, const Clock& clock,
                                            Counters& counters) {
  GrpcUplinkOptions uplink;
  uplink.controller = controller_of(options);
  uplink.node = options.node;
  uplink.warn = [](const std::string& text) { spdlog::warn("{}", text); };
  const auto seed = static_cast<std::uint64_t>(clock.now().time_since_epoch().count()) ^
                    StableHash().add(options.node).value();
  return std::unique_ptr<Uplink>(
      std::make_unique<GrpcUplink>(std::move(uplink), clock, Rng(seed), counters));
}

/// With the agent's certificates, but not in its name.
Status reach_controller(const AgentOptions& options) {
  return reach(controller_of(options), SystemClock());
}

struct Options {
  AgentOptions agent;
  DiagnoseOptions diagnose;
  DoctorOptions doctor;
  LocalCommandOptions local;
  PersonOptions person;
  PkiOptions pki;
  QueryOptions query;
  RingOptions ring;
  RunOptions run;
  ServeOptions serve;
  SignaturesOptions signatures;
  StoreOptions store;
};

int dispatch(CLI::App& app, Options& options) {
  // Standard output is for a verb's answer, which a program may read as JSON.
  spdlog::default_logger()->sinks() = {std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  CLI::App* command = app.get_subcommands().front();
  const std::string& verb = command->get_name();
  if (verb == "run") return run_main(options.run);  // deals with closed descriptors as a job must
  hold_standard_descriptors();
  if (verb == "nvml-child") return nvml_child_main();
  if (verb == "compile-signatures") return signatures_main(options.signatures);
  if (verb == "agent") return agent_main(*command, options.agent, make_uplink);
  if (verb == "serve") return serve_main(*command, options.serve);
  if (verb == "diagnose") return diagnose_main(options.diagnose);
  if (verb == "ring") return ring_main(options.ring);
  if (verb == "doctor") return doctor_main(options.doctor, reach_controller);
  if (verb == "store") return store_main(options.store);
  if (verb == "pki") return pki_main(options.pki);
  if (verb == "local" || verb == "local-keeper") return local_main(*command, options.local);
  if (verb == "why") return why_main(options.query);
  if (verb == "repair-record") return repair_main(options.query);
  if (const int code = person_main(verb, options.person, operate_remotely); code >= 0) return code;
  return query_main(verb, options.query);
}

int run_program(int argc, char** argv) {
  Options options;
  CLI::App app(
      "faultline finds the node, GPU, link or line of code that broke a distributed training job, "
      "proves it, takes the bad part\n"
      "out of the training path, and brings the job back.",
      "faultline");
  app.set_version_flag("--version", "faultline " + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 no answer.\n"
      "Output that is lost (a full disk) is a failure; a reader that goes away (| head) is none.\n"
      "Start with: faultline doctor");
  add_diagnose_command(app, options.diagnose);
  add_run_command(app, options.run);
  add_agent_command(app, options.agent);
  add_nvml_child_command(app);
  add_signatures_command(app, options.signatures);
  add_serve_command(app, options.serve);
  add_query_commands(app, options.query);
  add_why_command(app, options.query);
  add_repair_command(app, options.query);
  add_person_commands(app, options.person);
  add_ring_command(app, options.ring);
  add_doctor_command(app, options.doctor);
  add_store_command(app, options.store);
  add_pki_command(app, options.pki);
  add_local_command(app, options.local);
  if (const auto code = parse_command_line(app, argc, argv)) return *code;
  return dispatch(app, options);
}

}  // namespace
}  // namespace faultline

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  return faultline::finish_output("faultline " + verb, faultline::run_program(argc, argv));
}
