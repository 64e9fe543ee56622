#include "apps/serve_command.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "adapters/grpc/server.h"
#include "adapters/http/status_server.h"
#include "apps/catalog_path.h"
#include "apps/config_file.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "apps/scheduler_choice.h"
#include "apps/serve_status.h"
#include "base/file_lock.h"
#include "base/version.h"
#include "catalog/policy_parser.h"
#include "store/write_ahead_log.h"

namespace faultline {
namespace {

/// Everything that `serve` runs, in the order of construction; destroyed in reverse.
struct Serving {
  SystemClock clock;
  Counters counters;
  std::optional<Catalog> catalog;
  std::optional<FileLock> lock;
  std::string log_damage;  // of the store's log, as it was found at the start
  std::unique_ptr<Store> store;
  std::unique_ptr<SchedulerChoice> scheduler;
  std::unique_ptr<Notifier> notifier;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<GrpcServer> transport;
  std::unique_ptr<ServeStatus> status;
  std::unique_ptr<StatusServer> status_server;
};

Result<PolicyLimits> limits_of(const ServeOptions& options, const Catalog& catalog) {
  PolicyLimits limits = catalog.policy().limits;
  if (options.config.empty()) return limits;
  const auto table = read_config(options.config);
  if (!table) return table.error();
  const toml::node* section = table->get("limits");
  if (section == nullptr) return limits;
  if (section->as_table() == nullptr) {
    return Error{ErrorCode::invalid_argument,
                 options.config + ": 'limits' must be a section: [limits]"};
  }
  FAULTLINE_TRY(parse_policy_limits(*section->as_table(), options.config, limits));
  return limits;
}

Result<ControllerOptions> controller_options(const ServeOptions& options, const Catalog& catalog) {
  ControllerOptions out;
  const auto mode = parse_enum<Mode>(options.mode);
  if (!mode)
    return Error{ErrorCode::invalid_argument,
                 "--mode is observe, suggest or act, not '" + options.mode + "'"};
  const auto limits = limits_of(options, catalog);
  if (!limits) return limits.error();
  out.mode = *mode;
  out.limits = *limits;
  out.scheduler_log_hosts = {options.scheduler_log_hosts.begin(),
                             options.scheduler_log_hosts.end()};
  out.scheduler_poll = std::chrono::milliseconds{options.poll_ms};
  out.keep = {std::chrono::hours{24} * options.keep_events_days,
              std::chrono::hours{24} * options.keep_records_days};
  out.tests = {!options.test_command.empty(), options.test_after_drain, options.return_after_test};
  return out;
}

Result<std::optional<TlsFiles>> tls_of(const ServeOptions& options) {
  if (options.plain) return std::optional<TlsFiles>{};
  if (options.tls_cert.empty() || options.tls_key.empty() || options.tls_ca.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--tls-cert, --tls-key and --tls-ca are needed (`faultline pki init` and "
                 "`faultline pki issue --role controller` "
                 "make them), or --plain to listen on loopback only"};
  }
  return std::optional(TlsFiles{options.tls_ca, options.tls_cert, options.tls_key});
}

/// Before anything is created: whether those certificates will do.
Status check_tls(const ServeOptions& options, Instant now) {
  const auto tls = tls_of(options);
  if (!tls) return tls.error();
  if (!*tls) return ok_status();
  const auto text = load_server_tls(**tls, now);
  return text ? ok_status() : Status(text.error());
}

Status check_tests(const ServeOptions& options) {
  if (!options.test_command.empty() || (!options.test_after_drain && !options.return_after_test))
    return ok_status();
  return Error{ErrorCode::invalid_argument,
               "--test-after-drain and --return-after-test need a --test-command"};
}

void examine_store_log(const ServeOptions& options, Serving& serving) {
  const LogFindings found = examine_log(options.store, Examine::keep);
  if (found.damaged) {
    serving.counters.add("store_log_damaged_total");
    spdlog::error("{}", found.text);
    serving.log_damage = found.text;
  } else if (!found.text.empty()) {
    spdlog::warn("store: {}", found.text);
  }
}

Status open_state(const ServeOptions& options, Serving& serving) {
  auto catalog = load_catalog(options.catalog);
  if (!catalog) return catalog.error();
  serving.catalog = std::move(catalog).value();
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(options.store).parent_path(), ignored);
  // Two that act on one store would each do what the other has done. By its true name: a link is no
  // second store.
  const auto path = std::filesystem::weakly_canonical(options.store, ignored);
  auto lock = FileLock::take((path.empty() ? options.store : path.string()) + ".lock", false);
  if (!lock && lock.error().code == ErrorCode::unavailable) {
    return Error{
        ErrorCode::conflict,
        options.store + " is in use by another `faultline serve`; one store, one controller"};
  }
  if (!lock) return lock.error();
  serving.lock.emplace(std::move(lock).value());
  examine_store_log(options, serving);
  auto store = Store::open(options.store, Access::read_write);
  if (!store) return store.error();
  serving.store = std::move(store).value();
  return ok_status();
}

Status start_ports(const ServeOptions& options, Serving& serving) {
  const auto tls = tls_of(options);
  if (!tls) return tls.error();
  GrpcServerOptions transport;
  transport.listen = options.listen;
  transport.tls = *tls;
  transport.warn = [](const std::string& text) { spdlog::warn("{}", text); };
  auto server = GrpcServer::start(transport, *serving.controller, *serving.controller,
                                  serving.clock, serving.counters);
  if (!server) return server.error();
  serving.transport = std::move(server).value();
  serving.status = std::make_unique<ServeStatus>(*serving.controller, serving.counters,
                                                 serving.clock, serving.log_damage);
  if (options.status_listen.empty()) return ok_status();
  auto status = StatusServer::start({options.status_listen}, *serving.status);
  if (!status) return status.error();
  serving.status_server = std::move(status).value();
  return ok_status();
}

Status start_all(const ServeOptions& options, Serving& serving) {
  FAULTLINE_TRY(check_tls(options, serving.clock.now()));
  FAULTLINE_TRY(check_tests(options));
  FAULTLINE_TRY(open_state(options, serving));
  auto scheduler = choose_scheduler(options, serving.clock, serving.counters);
  if (!scheduler) return scheduler.error();
  serving.scheduler = std::move(scheduler).value();
  auto notifier = make_notifier(options, serving.clock, serving.counters);
  if (!notifier) return notifier.error();
  serving.notifier = std::move(notifier).value();
  const auto settings = controller_options(options, *serving.catalog);
  if (!settings) return settings.error();
  serving.controller =
      std::make_unique<Controller>(*serving.catalog, *serving.store, serving.scheduler->scheduler(),
                                   serving.scheduler->actuator(), serving.notifier.get(),
                                   serving.clock, serving.counters, *settings);
  FAULTLINE_TRY(serving.controller->start());
  return start_ports(options, serving);
}

/// Blocks the stop signals in this and all later threads and returns their set, to be waited for.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void add_retention_options(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--keep-events-days", options.keep_events_days,
                  "Events that no verdict rests on, and earlier states of what was concluded, are "
                  "deleted after this")
      ->capture_default_str()
      ->check(whole_number(1, 36500, 90));
  command
      .add_option("--keep-records-days", options.keep_records_days,
                  "How long verdicts, acts, attempts and what people asked for are kept; what is "
                  "open, or about a node out of service, always is")
      ->capture_default_str()
      ->check(whole_number(30, 36500, 400));
}

}  // namespace

CLI::App* add_serve_command(CLI::App& app, ServeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "serve", "The controller: takes the agents' events, judges, and acts if it may");
  command->add_option("--config", options.config,
                      "TOML file with the same keys as these options, and [limits]");
  command->add_option("--store", options.store, "Where everything is kept (SQLite)")
      ->capture_default_str();
  command->add_option("--catalog", options.catalog, catalog_help);
  command
      ->add_option("--mode", options.mode,
                   "observe (shows what it would do), suggest (shows the commands, runs what a "
                   "person approves), act")
      ->capture_default_str()
      ->check(CLI::IsMember({"observe", "suggest", "act"}));
  command->add_option("--listen", options.listen, "HOST:PORT for agents")
      ->capture_default_str()
      ->check(host_and_port(true));
  command
      ->add_option("--status-listen", options.status_listen,
                   "HOST:PORT of /healthz and /metrics; empty: none")
      ->capture_default_str()
      ->check(host_and_port(true));
  command->add_option("--tls-cert", options.tls_cert, "Certificate with the controller role (PEM)");
  command->add_option("--tls-key", options.tls_key, "Its private key (PEM)");
  command->add_option("--tls-ca", options.tls_ca, "The cluster's CA (PEM)");
  command->add_flag("--plain", options.plain, "No TLS; only on a loopback address");
  command->add_option("--scheduler", options.scheduler, "Whose nodes and jobs these are")
      ->capture_default_str()
      ->check(CLI::IsMember({"slurm", "local"}));
  command->add_option("--slurm-conf", options.slurm_conf, "slurm.conf, if not the default");
  command->add_option("--slurm-bin", options.slurm_bin, "Folder of scontrol, squeue and sinfo");
  command->add_option("--spare-reservation", options.spare_reservation,
                      "Reservation of spares: nodes are taken out of it for a job that lacks one");
  command->add_option("--spare-feature", options.spare_feature,
                      "Feature whose idle nodes are spares");
  command->add_option("--local-state", options.local_state, "State folder of the local scheduler");
  command
      ->add_option("--scheduler-log-host", options.scheduler_log_hosts,
                   "Agent that follows the scheduler's log: what that log says is believed of any "
                   "node; repeatable (default: none)")
      ->check(node_name());
  command->add_option("--test-command", options.test_command,
                      "The site's node test: program and arguments (FAULTLINE_NODE is set)");
  command->add_flag("--test-after-drain", options.test_after_drain,
                    "Run it on every node that faultline drained");
  command->add_flag("--return-after-test", options.return_after_test,
                    "Give the node back if it passed");
  command->add_option("--webhook", options.webhooks,
                      "[slack=|alertmanager=|generic=]URL to notify; repeatable");
  command->add_option("--webhook-secret-file", options.webhook_secret_file,
                      "File with the secret that signs webhook bodies (HMAC)");
  add_retention_options(*command, options);
  command->add_option("--poll-ms", options.poll_ms, "How often the scheduler is asked")
      ->capture_default_str()
      ->check(whole_number(100, 60000, 1000));
  command->add_option("--log-level", options.log_level, "The least that is logged")
      ->capture_default_str()
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}));
  expect_files(*command, {"--config", "--tls-cert", "--tls-key", "--tls-ca", "--slurm-conf",
                          "--webhook-secret-file"});
  expect_folders(*command, {"--catalog", "--slurm-bin", "--local-state"});
  command->footer(
      "Examples:\n"
      "  faultline serve --config /etc/faultline/serve.toml\n"
      "  faultline serve --plain --scheduler local --local-state /tmp/cluster --mode act --store "
      "/tmp/faultline.db");
  return command;
}

int serve_main(CLI::App& command, ServeOptions& options) {
  if (!options.config.empty()) {
    if (const auto applied = apply_config(command, options.config, {"limits"}); !applied)
      return fail(applied.error());
  }
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("serve", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  const sigset_t signals = block_stop_signals();
  Serving serving;
  if (const auto started = start_all(options, serving); !started) return fail(started.error());
  spdlog::info("faultline {} serves agents on {}, mode {}, scheduler {}, store {}", kVersion,
               serving.transport->address(), options.mode, options.scheduler, options.store);
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("stopping on signal {}", signal);
  serving.transport->stop();
  serving.controller->stop();
  return exit_ok;
}

}  // namespace faultline
