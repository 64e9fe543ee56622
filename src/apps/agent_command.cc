#include "apps/agent_command.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "adapters/agent_socket/socket_path.h"
#include "adapters/agent_socket/unix_door.h"
#include "adapters/grpc/grpc_log.h"
#include "adapters/journal/journal_source.h"
#include "adapters/kmsg/kmsg_source.h"
#include "adapters/logs/file_follower.h"
#include "adapters/logs/log_thread.h"
#include "adapters/nvml/nvml_sampler.h"
#include "adapters/procfs/boot_facts.h"
#include "adapters/procfs/process_table.h"
#include "agent/runtime.h"
#include "apps/catalog_path.h"
#include "apps/config_file.h"
#include "apps/descriptor_budget.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "apps/signatures_command.h"
#include "base/text.h"
#include "base/version.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr Duration stop_limit = std::chrono::milliseconds{1500};
constexpr std::size_t globbed_max = 4096;
/// Job logs are looked for so long at the start; those of a folder that hangs are found later.
constexpr int placing_tries_max = 20;
constexpr int placing_pause_ms = 100;

/// Never destroyed: a thread that is stuck in a read may outlive the agent.
const SystemClock& job_log_clock = *new SystemClock;

std::atomic<bool> stop_requested{false};
std::array<int, 2> wake_pipe{-1, -1};

void on_stop(int) {
  const int saved = errno;
  stop_requested = true;
  const char byte = 0;
  if (::write(wake_pipe[1], &byte, 1) < 0) errno = saved;
  errno = saved;
}

Status catch_signals() {
  if (::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return Error{ErrorCode::unavailable, "pipe"};
  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ok_status();
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const std::string_view host(name.data());
  return std::string(host.substr(0, host.find('.')));
}

bool loopback(std::string_view address) {
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr number{};
  // A name that begins with "127." may be anybody's.
  const bool four = ::inet_pton(AF_INET, host.c_str(), &number) == 1 && host.starts_with("127.");
  return four || host == "localhost" || host == "[::1]";
}

Duration local_offset(Instant now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::microseconds>(now));
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return std::chrono::seconds{local.tm_gmtoff};
}

std::vector<std::string> match_all(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc && paths.size() < globbed_max; ++i)
        paths.emplace_back(found.gl_pathv[i]);
    }
    ::globfree(&found);
  }
  return paths;
}

std::unique_ptr<LogSource> kernel_source(const std::string& name, const BootFacts& boot,
                                         const Clock& clock) {
  if (name == "kmsg") return std::make_unique<KmsgSource>(boot.boot_id);
  if (name == "journal") return std::make_unique<JournalSource>("");
  if (name.starts_with("journal:")) return std::make_unique<JournalSource>(name.substr(8));
  return std::make_unique<FileFollower>(name, FollowOptions{}, clock);
}

std::unique_ptr<LogSource> follow_job_log(const JobLog& log) {
  FollowOptions follow;
  follow.start_at = log.start_at;
  follow.follow_links = !log.owner;  // a path that a user names, not one that the site configured
  follow.owner = log.owner;
  return std::make_unique<FileFollower>(log.path, follow, job_log_clock);
}

void start_logging(const std::string& level) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("faultline", std::move(sink));
  spdlog::set_default_logger(std::move(logger));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z faultline agent %l: %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

/// Everything that one agent owns, in the order in which it is needed.
class Agent {
 public:
  Agent(const AgentOptions& options, const MakeUplink& make_uplink)
      : options_(options), make_uplink_(make_uplink) {}
  Status start();
  void run() {
    if (door_) run_agent_loop(*runtime_, stop_requested, wake_pipe[0]);
    spdlog::info("stopping");
    // Asked to before it was ready, it must not compile signatures for a last look at the logs.
    if (door_) runtime_->stop(stop_limit);
  }

 private:
  Status place_logs();
  Status listen();
  [[nodiscard]] std::filesystem::path signature_cache() const {
    return std::filesystem::path(options_.state) / "signatures";
  }
  [[nodiscard]] AgentSettings settings() const;
  [[nodiscard]] AgentPorts ports();

  const AgentOptions& options_;
  const MakeUplink& make_uplink_;
  const DescriptorBudget budget_ = budget_of(raise_descriptor_limit());
  SystemClock clock_;
  Counters counters_;
  BootFacts boot_;
  std::optional<Catalog> catalog_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<UnixDoor> door_;
  ProcfsTable processes_;
  std::optional<NvmlSampler> gpus_;
  LogThreads log_threads_{job_log_clock};
  Asked<std::vector<std::string>> globbed_;
  std::unique_ptr<AgentRuntime> runtime_;
};

AgentSettings Agent::settings() const {
  AgentSettings settings;
  settings.node = options_.node;
  settings.version = kVersion;
  settings.state = options_.state;
  settings.boot_id = boot_.boot_id;
  settings.boot_time = boot_.boot_time;
  settings.utc_offset = local_offset(clock_.now());
  settings.host_names = {options_.node,
                         host_name()};  // the scheduler's name for it may be another than its own
  settings.logs_max = budget_.logs_max;
  settings.spool.bytes_max = static_cast<std::uint64_t>(options_.spool_mib) * 1024 * 1024;
  return settings;
}

AgentPorts Agent::ports() {
  AgentPorts ports{clock_, *uplink_, nullptr, &processes_, nullptr, {}, {}};
  if (gpus_) ports.gpus = &*gpus_;
  ports.follow = [this](const JobLog& log) { return log_threads_.wrap(follow_job_log(log)); };
  if (!options_.job_logs.empty()) {
    ports.find_job_logs = [this] {
      return globbed_.ask(log_threads_, "--job-log",
                          [patterns = options_.job_logs] { return match_all(patterns); });
    };
  }
  return ports;
}

Status Agent::start() {
  boot_ = read_boot_facts();
  auto catalog = load_catalog(options_.catalog);
  if (!catalog.ok()) return catalog.error();
  catalog_ = std::move(catalog).value();
  auto uplink = make_uplink_(options_, clock_, counters_);
  if (!uplink.ok()) return uplink.error().with_context("controller " + options_.controller);
  uplink_ = std::move(uplink).value();
  if (!options_.no_nvml) gpus_.emplace(nvml_child_command(), clock_);
  auto runtime = AgentRuntime::open(settings(), ports(), *catalog_, counters_);
  if (!runtime.ok()) return runtime.error().with_context("--state " + options_.state);
  runtime_ = std::move(runtime).value();
  FAULTLINE_TRY(place_logs());
  // The slow part of a first start: after the places of the logs were taken, so that no line is
  // lost, and before anybody can find the socket: a job that begins meanwhile must not wait for it.
  const auto cache = signature_cache();
  FAULTLINE_TRY(prepare_signatures(*catalog_, cache,
                                   signatures_command(catalog_folder(options_.catalog), cache),
                                   counters_, stop_requested));
  return stop_requested ? ok_status() : listen();
}

Status Agent::place_logs() {
  const std::vector<std::string> kmsg_alone = {"kmsg"};
  for (const std::string& name : options_.kernel_logs.empty() ? kmsg_alone : options_.kernel_logs) {
    FAULTLINE_TRY(runtime_->add_kernel_log(kernel_source(name, boot_, clock_)));
  }
  for (const std::string& path : options_.scheduler_logs) {
    FAULTLINE_TRY(
        runtime_->add_scheduler_log(std::make_unique<FileFollower>(path, FollowOptions{}, clock_)));
  }
  for (int i = 0; i < placing_tries_max && !runtime_->place_job_logs(); ++i)
    ::poll(nullptr, 0, placing_pause_ms);
  return ok_status();
}

Status Agent::listen() {
  const std::string socket = expand_socket_path(
      options_.socket.empty() ? agent_socket_default : std::string_view(options_.socket),
      options_.node);
  UnixDoor::Limits limits;
  limits.connections_max = budget_.connections_max;
  limits.connections_per_user_max = budget_.connections_per_user_max;
  auto door = UnixDoor::listen(socket, clock_, counters_, limits);
  if (!door.ok()) return door.error();
  door_ = std::move(door).value();
  runtime_->open_door(*door_);
  spdlog::info("node {}, controller {}, socket {}, boot {}", options_.node, options_.controller,
               socket, boot_.boot_id);
  return ok_status();
}

}  // namespace

std::string default_node() {
  if (const char* named = std::getenv("SLURMD_NODENAME"); named != nullptr && *named != '\0')
    return named;
  return host_name();
}

CLI::App* add_agent_command(CLI::App& app, AgentOptions& options) {
  CLI::App* agent = app.add_subcommand("agent", "Watch this node and report to the controller");
  agent->add_option("--config", options.config, "TOML file with these options as keys");
  agent->add_option("--node", options.node, "This node's name, as the scheduler knows it")
      ->check(node_name());
  agent->add_option("--controller", options.controller, "HOST:PORT of the controller")
      ->capture_default_str()
      ->check(host_and_port(false));
  agent->add_option("--kernel-log", options.kernel_logs,
                    "kmsg (default), journal, journal:FOLDER or a file; repeatable");
  agent->add_option("--job-log", options.job_logs,
                    "Pattern of job logs to read as well; repeatable");
  agent->add_option("--scheduler-log", options.scheduler_logs,
                    "Log of the scheduler (slurmctld.log); of other nodes it is heard only if "
                    "`serve` has this agent as --scheduler-log-host; repeatable");
  agent->add_option("--state", options.state, "Folder for what must outlive the agent")
      ->capture_default_str();
  agent->add_option(
      "--socket", options.socket,
      "Where `faultline run` finds the agent; %n is the node (default: /run/faultline/agent.sock)");
  agent->add_option("--catalog", options.catalog, catalog_help);
  agent->add_option("--tls-cert", options.tls_cert, "This node's certificate");
  agent->add_option("--tls-key", options.tls_key, "Its key");
  agent->add_option("--tls-ca", options.tls_ca,
                    "The authority that signed the controller's certificate");
  agent->add_flag("--plain", options.plain, "No encryption; only to a controller on this machine");
  agent->add_flag("--no-nvml", options.no_nvml, "Do not look at the GPUs");
  agent
      ->add_option("--spool-mib", options.spool_mib,
                   "Room for events that the controller has not taken")
      ->capture_default_str()
      ->check(whole_number(1, 4096, 64));
  agent->add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  expect_files(*agent, {"--config", "--tls-cert", "--tls-key", "--tls-ca"});
  expect_folders(*agent, {"--state", "--catalog"});
  agent->footer(
      "Examples:\n"
      "  faultline agent --config /etc/faultline/agent.toml\n"
      "  faultline agent --node n1 --plain --kernel-log /tmp/kern.log --state /tmp/agent");
  return agent;
}

void add_nvml_child_command(CLI::App& app) {
  CLI::App* child = app.add_subcommand("nvml-child", "");
  child->group("");  // hidden
}

Status check_agent_options(const AgentOptions& options) {
  const auto wrong = [](std::string text) {
    return Error{ErrorCode::invalid_argument, std::move(text)};
  };
  if (!valid_node_name(options.node))
    return wrong(fmt::format("'{}' is no node name; give --node", printable(options.node, 80)));
  if (options.state.empty())
    return wrong(
        "--state is empty: it names the agent's folder, for instance /var/lib/faultline/agent");
  if (options.controller.empty())
    return wrong("give --controller HOST:PORT, for instance head:9176");
  const bool any_tls =
      !options.tls_cert.empty() || !options.tls_key.empty() || !options.tls_ca.empty();
  const bool all_tls =
      !options.tls_cert.empty() && !options.tls_key.empty() && !options.tls_ca.empty();
  if (options.plain && any_tls) return wrong("--plain and --tls-... exclude each other");
  if (options.plain && !loopback(options.controller)) {
    return wrong("--plain is for a controller on this machine only; for " + options.controller +
                 " give --tls-cert, --tls-key and --tls-ca (`faultline pki issue` makes them)");
  }
  if (!options.plain && !all_tls) {
    return wrong(
        "give --tls-cert, --tls-key and --tls-ca (`faultline pki issue` makes them), or --plain "
        "for a controller on this machine");
  }
  for (const std::string& name : options.kernel_logs) {
    const bool device = name == "kmsg" || name == "journal" || name.starts_with("journal:");
    if (!device && !name.starts_with("/"))
      return wrong("--kernel-log " + name + ": kmsg, journal, journal:FOLDER or an absolute path");
  }
  for (const std::string& path : options.scheduler_logs)
    if (!path.starts_with("/")) return wrong("--scheduler-log " + path + ": give an absolute path");
  return ok_status();
}

int agent_main(CLI::App& command, AgentOptions& options, const MakeUplink& make_uplink) {
  if (!options.config.empty()) {
    if (const Status read = apply_config(command, options.config); !read.ok())
      return fail(read.error());
  }
  if (options.node.empty()) options.node = default_node();
  if (const Status checked = check_agent_options(options); !checked.ok())
    return fail(checked.error());
  start_logging(options.log_level);
  if (const Status caught = catch_signals(); !caught.ok()) return fail(caught.error());
  // Each failed attempt again; what it means, the uplink's errors say.
  const GrpcLog grpc_log([](const std::string& text) { spdlog::debug("gRPC: {}", text); });
  Agent agent(options, make_uplink);
  if (const Status started = agent.start(); !started.ok()) return fail(started.error());
  agent.run();
  return exit_ok;
}

}  // namespace faultline
