#include "apps/doctor_command.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "adapters/agent_socket/socket_path.h"
#include "adapters/pki/authority.h"
#include "apps/catalog_path.h"
#include "apps/config_file.h"
#include "apps/doctor_checks.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "apps/scheduler_choice.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t key_bytes_max = 1 << 20;

bool is_there(const std::string& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

/// Reads `file` into the options of `command`, as the verb itself would. False, with a check that
/// says so, if there is nothing more to look at. Where nobody named a file the defaults are looked
/// at.
bool read_config(CLI::App& command, const std::string& file, const char* default_file,
                 const std::vector<std::string>& sections, std::vector<DoctorCheck>& checks) {
  const std::string name = command.get_name() + " configuration";
  if (!is_there(file)) {
    if (file != default_file) {
      checks.push_back(DoctorCheck::bad(name, file + " is not there", "is the path right?"));
      return false;
    }
    checks.push_back(DoctorCheck::doubtful(
        name, file + " is not there: these are the defaults",
        "write one; its keys are the options of `faultline " + command.get_name() + " --help`"));
    return true;
  }
  const auto read = apply_config(command, file, sections);
  if (!read) checks.push_back(DoctorCheck::bad(name, read.error().message, "correct that line"));
  return read.ok();
}

/// What the two configurations say about certificates, and who they must be for.
struct TlsSetup {
  bool plain = false;
  std::string certificate;
  std::string key;
  std::string authority;
  PeerRole role = PeerRole::agent;
  std::string node;  // "": any name will do
};

void add_tls_checks(std::vector<DoctorCheck>& checks, const TlsSetup& tls, Instant now) {
  if (tls.plain) {
    checks.push_back(DoctorCheck::doubtful("tls", "off (--plain): only loopback is allowed",
                                           "`faultline pki init` makes certificates"));
    return;
  }
  checks.push_back(check_certificate("certificate", tls.certificate, now));
  checks.push_back(check_certificate("authority", tls.authority, now));
  checks.push_back(check_key_file(tls.key));
  // What is not there has failed already, and cannot be compared.
  if (!show_certificate(tls.certificate)) return;
  if (read_small_file(tls.key, key_bytes_max))
    checks.push_back(check_key_fits(tls.certificate, tls.key));
  if (show_certificate(tls.authority))
    checks.push_back(check_signed_by(tls.certificate, tls.authority));
  checks.push_back(check_role_fits(tls.certificate, tls.role));
  if (!tls.node.empty()) checks.push_back(check_node_name(tls.certificate, tls.node));
}

/// Whether there is what an agent needs to speak to its controller at all.
bool can_be_used(const TlsSetup& tls) {
  return tls.plain || (show_certificate(tls.certificate) && show_certificate(tls.authority) &&
                       read_small_file(tls.key, key_bytes_max));
}

void check_agent(const DoctorOptions& options, const ReachController& reach,
                 std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  CLI::App app;
  AgentOptions agent;
  CLI::App* command = add_agent_command(app, agent);
  if (!read_config(*command, options.agent_config, default_agent_config, {}, checks)) return;
  if (agent.kernel_logs.empty()) agent.kernel_logs = {"kmsg"};
  for (const auto& source : agent.kernel_logs) checks.push_back(check_kernel_log(source));
  checks.push_back(check_writable_folder("agent state", agent.state));
  if (agent.node.empty()) agent.node = default_node();
  checks.push_back(check_agent_answers(expand_socket_path(
      agent.socket.empty() ? agent_socket_default : std::string_view(agent.socket), agent.node)));
  const TlsSetup tls = {agent.plain,  agent.tls_cert,  agent.tls_key,
                        agent.tls_ca, PeerRole::agent, agent.node};
  add_tls_checks(checks, tls, clock.now());
  const bool gpus = is_there("/dev/nvidia0");
  checks.push_back(
      gpus || agent.no_nvml
          ? DoctorCheck::good("gpus", gpus ? "/dev/nvidia0 is there" : "not sampled (--no-nvml)")
          : DoctorCheck{"gpus", CheckState::warning, "no /dev/nvidia0",
                        "if this node has GPUs, load the driver"});
  if (!can_be_used(tls)) {
    checks.push_back(DoctorCheck::doubtful("controller", "not asked: certificate or key is missing",
                                           "see above"));
    return;
  }
  const auto reached = reach(agent);
  checks.push_back(reached ? DoctorCheck::good("controller", agent.controller + " answers")
                           : DoctorCheck::bad("controller", reached.error().message,
                                              "is `faultline serve` up, and --controller right?"));
}

void check_scheduler(const ServeOptions& serve, std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  Counters counters;
  if (serve.scheduler == "local") {
    checks.push_back(check_local_state(serve.local_state, ::geteuid()));
    return;
  }
  const auto choice = choose_scheduler(serve, clock, counters);
  if (!choice) {
    checks.push_back(DoctorCheck::bad("scheduler", choice.error().message,
                                      "see --scheduler in `faultline serve --help`"));
    return;
  }
  const auto view = (*choice)->scheduler().view();
  checks.push_back(view ? DoctorCheck::good("scheduler", view->scheduler + " answers, " +
                                                             std::to_string(view->nodes.size()) +
                                                             " nodes")
                        : DoctorCheck::bad("scheduler", view.error().message,
                                           "can this user run scontrol, squeue and sinfo here?"));
  if (parse_enum<Mode>(serve.mode) == Mode::act && ::geteuid() != 0) {
    checks.push_back({"scheduler rights", CheckState::warning, "not root",
                      "draining needs root, SlurmUser, or an operator: `sacctmgr show user $USER "
                      "format=AdminLevel`"});
  }
}

void check_controller(const DoctorOptions& options, std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  CLI::App app;
  ServeOptions serve;
  CLI::App* command = add_serve_command(app, serve);
  if (!read_config(*command, options.serve_config, default_serve_config, {"limits"}, checks))
    return;
  checks.push_back(check_store(serve.store));
  checks.push_back(
      check_writable_folder("store folder", fs::path(serve.store).parent_path().string()));
  add_tls_checks(
      checks, {serve.plain, serve.tls_cert, serve.tls_key, serve.tls_ca, PeerRole::controller, ""},
      clock.now());
  check_scheduler(serve, checks);
  checks.push_back(check_serve_answers(serve.status_listen));
}

}  // namespace

void add_doctor_command(CLI::App& app, DoctorOptions& options) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Is everything set up right on this node or controller, and what to do if not");
  command->add_flag("--agent", options.agent, "Check this machine as a node");
  command->add_flag("--controller", options.controller,
                    "Check this machine as the controller's host");
  command->add_option("--agent-config", options.agent_config, "The agent's configuration")
      ->capture_default_str();
  command->add_option("--serve-config", options.serve_config, "The controller's configuration")
      ->capture_default_str();
  command->add_option("--catalog", options.catalog, catalog_help);
  command->add_flag("--json", options.json, "Print JSON");
  expect_files(*command, {"--agent-config", "--serve-config"});
  expect_folders(*command, {"--catalog"});
  command->footer(
      "With neither --agent nor --controller, what is configured in /etc/faultline is checked.\n"
      "Examples:\n  faultline doctor\n  faultline doctor --agent --json");
}

int doctor_main(const DoctorOptions& options, const ReachController& reach) {
  const bool asked = options.agent || options.controller;
  const auto wanted = [&](const std::string& config, const char* default_config) {
    return !asked && (config != default_config || is_there(config));
  };
  std::vector<DoctorCheck> checks = {check_catalog(options.catalog)};
  if (options.agent || wanted(options.agent_config, default_agent_config))
    check_agent(options, reach, checks);
  if (options.controller || wanted(options.serve_config, default_serve_config))
    check_controller(options, checks);
  if (checks.size() == 1) {
    checks.push_back(
        {"configuration", CheckState::warning,
         "neither " + options.agent_config + " nor " + options.serve_config + " is there",
         "write one (examples lie beside them), or say --agent or --controller"});
  }
  bool failed = false;
  Table table({"STATE", "CHECK", "SEEN", "DO"});
  nlohmann::json list = nlohmann::json::array();
  for (const auto& check : checks) {
    failed = failed || check.state == CheckState::failed;
    const std::string state(to_text(check.state));
    table.add({state, check.name, check.detail, check.remedy.empty() ? "-" : check.remedy});
    list.push_back({{"check", check.name},
                    {"state", state},
                    {"detail", check.detail},
                    {"remedy", check.remedy}});
  }
  if (options.json) {
    print(nlohmann::json{{"checks", std::move(list)}});
  } else {
    print(table.text());
  }
  return failed ? exit_failed : exit_ok;
}

}  // namespace faultline
