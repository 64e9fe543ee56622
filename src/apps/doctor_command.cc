#include "apps/doctor_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/pki/certificate.h"
#include "apps/catalog_path.h"
#include "apps/config_file.h"
#include "apps/output.h"
#include "apps/scheduler_choice.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t free_bytes_min = 1ULL << 30;
constexpr std::uint64_t certificate_bytes_max = 1 << 20;
constexpr Duration certificate_warning = std::chrono::hours{24} * 30;

DoctorCheck good(std::string name, std::string detail) {
  return {std::move(name), CheckState::ok, std::move(detail), {}};
}

DoctorCheck bad(std::string name, std::string detail, std::string remedy) {
  return {std::move(name), CheckState::failed, std::move(detail), std::move(remedy)};
}

std::string read_file(const std::string& file) {
  auto content = read_small_file(file, certificate_bytes_max);
  return content ? std::move(content).value() : std::string{};
}

/// Reads `file` into the options of `command`, as the verb itself would.
Status read_config(CLI::App& command, const std::string& file,
                   const std::vector<std::string>& sections) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return ok_status();
  return apply_config(command, file, sections);
}

void add_tls_checks(std::vector<DoctorCheck>& checks, bool plain, const std::string& cert,
                    const std::string& key, const std::string& ca, Instant now) {
  if (plain) {
    checks.push_back({"tls", CheckState::warning, "off (--plain): only loopback is allowed",
                      "`faultline pki init` makes certificates"});
    return;
  }
  checks.push_back(check_certificate("certificate", cert, now));
  checks.push_back(check_certificate("authority", ca, now));
  const bool readable = !key.empty() && ::access(key.c_str(), R_OK) == 0;
  checks.push_back(
      readable
          ? good("private key", key)
          : bad("private key", key.empty() ? "--tls-key is not set" : key + " cannot be read",
                "issue one with `faultline pki issue` and make it readable for this user alone"));
}

void check_agent(const DoctorOptions& options, const ReachController& reach,
                 std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  CLI::App app;
  AgentOptions agent;
  CLI::App* command = add_agent_command(app, agent);
  if (const auto read = read_config(*command, options.agent_config, {}); !read) {
    checks.push_back(bad("agent configuration", read.error().message, "correct that line"));
    return;
  }
  if (agent.kernel_logs.empty()) agent.kernel_logs = {"kmsg"};
  for (const auto& source : agent.kernel_logs) checks.push_back(check_kernel_log(source));
  checks.push_back(check_writable_folder("agent state", agent.state));
  add_tls_checks(checks, agent.plain, agent.tls_cert, agent.tls_key, agent.tls_ca, clock.now());
  std::error_code ignored;
  const bool gpus = fs::exists("/dev/nvidia0", ignored);
  checks.push_back(gpus || agent.no_nvml
                       ? good("gpus", gpus ? "/dev/nvidia0 is there" : "not sampled (--no-nvml)")
                       : DoctorCheck{"gpus", CheckState::warning, "no /dev/nvidia0",
                                     "if this node has GPUs, load the driver"});
  const auto reached = reach(agent);
  checks.push_back(reached ? good("controller", agent.controller + " took a heartbeat")
                           : bad("controller", reached.error().message,
                                 "is `faultline serve` up, and --controller right?"));
}

void check_scheduler(const ServeOptions& serve, std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  Counters counters;
  if (serve.scheduler == "local") return;  // the running controller holds its folder
  const auto choice = choose_scheduler(serve, clock, counters);
  if (!choice) {
    checks.push_back(
        bad("scheduler", choice.error().message, "see --scheduler in `faultline serve --help`"));
    return;
  }
  const auto view = (*choice)->scheduler().view();
  checks.push_back(view ? good("scheduler", view->scheduler + " answers, " +
                                                std::to_string(view->nodes.size()) + " nodes")
                        : bad("scheduler", view.error().message,
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
  if (const auto read = read_config(*command, options.serve_config, {"limits"}); !read) {
    checks.push_back(bad("serve configuration", read.error().message, "correct that line"));
    return;
  }
  checks.push_back(check_store(serve.store));
  checks.push_back(
      check_writable_folder("store folder", fs::path(serve.store).parent_path().string()));
  add_tls_checks(checks, serve.plain, serve.tls_cert, serve.tls_key, serve.tls_ca, clock.now());
  check_scheduler(serve, checks);
}

}  // namespace

DoctorCheck check_catalog(const std::string& given) {
  const auto catalog = load_catalog(given);
  if (!catalog)
    return bad("catalog", catalog.error().message, "reinstall it, or name another with --catalog");
  return good("catalog", catalog_folder(given).string() + ": " +
                             std::to_string(catalog->signatures().size()) + " signatures, " +
                             std::to_string(catalog->causes().size()) + " causes");
}

DoctorCheck check_kernel_log(const std::string& source) {
  const std::string name = "kernel log " + source;
  if (source.starts_with("journal")) return good(name, "read through libsystemd");
  const std::string file = source == "kmsg" ? "/dev/kmsg" : source;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0) {
    ::close(descriptor);
    return good(name, file + " can be read");
  }
  return bad(name, file + " cannot be read",
             source == "kmsg"
                 ? "run the agent as root or give it CAP_SYSLOG, or use --kernel-log journal"
                 : "is that the right file, and may this user read it?");
}

DoctorCheck check_writable_folder(const std::string& name, const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return bad(name, folder + " is not there", "mkdir -p " + folder);
  if (::access(folder.c_str(), W_OK) != 0)
    return bad(name, folder + " cannot be written", "give it to the user that runs faultline");
  const auto space = fs::space(folder, error);
  if (!error && space.available < free_bytes_min) {
    return {name, CheckState::warning, folder + " has less than 1 GiB free",
            "free space, or move it"};
  }
  return good(name, folder + " can be written");
}

DoctorCheck check_certificate(const std::string& name, const std::string& file, Instant now) {
  if (file.empty())
    return bad(name, "not set", "`faultline pki issue` makes one and prints the flags");
  const std::string text = read_file(file);
  if (text.empty())
    return bad(name, file + " cannot be read", "is the path right, and may this user read it?");
  const auto info = describe_certificate(text);
  if (!info)
    return bad(name, file + ": " + info.error().message,
               "issue it again with `faultline pki issue`");
  if (now >= info->not_after)
    return bad(name, file + " ended at " + to_text(info->not_after),
               "issue it again with `faultline pki issue --force`");
  if (now < info->not_before)
    return bad(name, file + " is good only from " + to_text(info->not_before),
               "is this machine's clock right?");
  if (info->not_after - now < certificate_warning) {
    return {name, CheckState::warning, file + " ends at " + to_text(info->not_after),
            "issue it again soon"};
  }
  return good(name, info->name + ", until " + to_text(info->not_after).substr(0, 10));
}

DoctorCheck check_store(const std::string& file) {
  const auto store = Store::open(file, Access::read_only);
  if (store) return good("store", file + " is whole");
  if (store.error().code == ErrorCode::not_found) {
    return {"store", CheckState::warning, file + " is not there yet",
            "`faultline serve` makes it at its first start"};
  }
  return bad("store", store.error().message, "move it aside and put back a backup");
}

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
  command->add_option("--catalog", options.catalog, "Folder of the catalog");
  command->add_flag("--json", options.json, "Print JSON");
  command->footer(
      "With neither --agent nor --controller, what is configured in /etc/faultline is checked.\n"
      "Examples:\n  faultline doctor\n  faultline doctor --agent --json");
}

int doctor_main(const DoctorOptions& options, const ReachController& reach) {
  std::error_code ignored;
  const bool asked = options.agent || options.controller;
  std::vector<DoctorCheck> checks = {check_catalog(options.catalog)};
  if (options.agent || (!asked && fs::exists(options.agent_config, ignored)))
    check_agent(options, reach, checks);
  if (options.controller || (!asked && fs::exists(options.serve_config, ignored)))
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
