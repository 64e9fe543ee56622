#include "apps/local_command.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "adapters/local/local_inbox.h"
#include "adapters/local/local_keeper.h"
#include "adapters/local/local_request.h"
#include "adapters/local/local_rules.h"
#include "adapters/local/state_folder.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr Duration answer_wait = std::chrono::seconds{5};
constexpr Duration answer_step = std::chrono::milliseconds{50};
constexpr const char* keeper_verb = "local-keeper";

Error wrong(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : "uid-" + std::to_string(::getuid());
}

/// Our own environment, without what names a job: a job submitted by a job is another one.
std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    const bool names_job =
        text.starts_with("FAULTLINE_JOB=") || text.starts_with("FAULTLINE_RESTART=") ||
        text.starts_with("FAULTLINE_NODES=") || text.starts_with("FAULTLINE_ARRAY_TASK=");
    if (equals == std::string_view::npos || equals == 0 || names_job) continue;
    if (survives_json(std::string(text))) {
      entries.emplace_back(text);
    } else {
      std::fprintf(stderr, "faultline: the job will not see %s: its value is not UTF-8\n",
                   printable(text.substr(0, equals), 64).c_str());
    }
  }
  return entries;
}

int init(const StateFolder& folder, const LocalCommandOptions& options) {
  const auto names = expand_hostlist(options.nodes, node_count_max);
  if (!names || names->empty()) {
    return fail(wrong("--nodes: " + (names ? "names no node" : names.error().message) +
                      "; for instance n1,n2 or n[1-6], at most " + std::to_string(node_count_max)));
  }
  if (options.spares > names->size()) return fail(wrong("--spares: more spares than nodes"));
  std::vector<LocalNode> nodes;
  std::set<std::string> seen;
  for (const auto& name : *names) {
    if (!valid_node_name(name)) return fail(wrong("bad node name '" + printable(name, 64) + "'"));
    if (!seen.insert(name).second) return fail(wrong("node " + name + " is named twice"));
    nodes.push_back({name, nodes.size() + options.spares >= names->size(), false, "", ""});
  }
  if (const auto status = folder.create(nodes); !status) return fail(status.error());
  print(std::to_string(nodes.size()) + " nodes, " + std::to_string(options.spares) +
        " of them spare\n");
  return exit_ok;
}

/// What the command line left over behind PROGRAM.
std::vector<std::string> command_of(const CLI::App& verb, const LocalCommandOptions& options) {
  std::vector<std::string> argv = verb.remaining();
  if (!argv.empty() && argv.front() == "--")
    argv.erase(argv.begin());  // the mark; a later one is the command's own
  if (!options.program.empty()) argv.insert(argv.begin(), options.program);
  return argv;
}

Result<LocalRequest> make_submit(const StateFolder& folder, const LocalCommandOptions& options,
                                 std::vector<std::string> argv) {
  const auto state = folder.load();
  if (!state) return state.error();
  if (argv.empty()) return wrong("no command: faultline local submit --nodes N -- CMD...");
  if (options.node_count == 0 || options.node_count > state->nodes.size()) {
    return wrong("--nodes: the cluster has " + std::to_string(state->nodes.size()) + " nodes");
  }
  LocalRequest request;
  if (!options.array.empty()) {
    const auto array = parse_array(options.array);
    if (!array) return array.error();
    request.array = *array;
  }
  std::error_code error;
  request.directory = std::filesystem::current_path(error).string();
  if (error) return wrong("the working folder is gone");
  request.by = user_name();
  request.name = options.name.empty()
                     ? printable(std::filesystem::path(argv.front()).filename().string(), 64)
                     : options.name;
  request.argv = std::move(argv);
  request.node_count = options.node_count;
  request.environment = own_environment();
  const auto number = folder.next_job(state->highest_job());
  if (!number) return number.error();
  request.job = std::to_string(*number);
  return request;
}

int submit(const StateFolder& folder, const LocalCommandOptions& options,
           std::vector<std::string> argv, const Clock& clock) {
  const auto request = make_submit(folder, options, std::move(argv));
  if (!request) return fail(request.error());
  const auto left = leave_request(folder, *request, clock.now());
  if (!left) return fail(left.error());
  print(request->job + "\n");
  return exit_ok;
}

/// Leaves a request and waits a moment for what comes of it.
int ask(const StateFolder& folder, const LocalRequest& request, const std::string& done,
        const Clock& clock) {
  if (const auto state = folder.load(); !state) return fail(state.error());
  const auto name = leave_request(folder, request, clock.now());
  if (!name) return fail(name.error());
  const LocalInbox inbox(folder);
  const Duration until = clock.monotonic() + answer_wait;
  while (inbox.waits(*name)) {
    if (clock.monotonic() >= until) {
      return fail({ErrorCode::unavailable,
                   "left in the inbox, but nobody took it within " + to_text(answer_wait) +
                       ": it is done when `faultline serve --scheduler local` runs"});
    }
    clock.sleep(answer_step);
  }
  if (const auto why = inbox.refusal(*name)) {
    return fail({why->starts_with("no job ") || why->starts_with("no node ") ? ErrorCode::not_found
                                                                             : ErrorCode::conflict,
                 *why});
  }
  print(done + "\n");
  return exit_ok;
}

/// The state, with the jobs that still wait in the inbox.
Result<LocalState> state_with_inbox(const StateFolder& folder, const Clock& clock) {
  // The inbox first: what is taken between the two looks is then seen twice, not never.
  const auto entries = LocalInbox(folder).read([](const std::string&, const std::string&) {});
  auto state = folder.load();
  if (!state) return state;
  for (const auto& entry : entries) {
    if (entry.request.kind != LocalRequestKind::submit) continue;
    // One that cannot be taken is shown by nobody until a controller refuses it.
    static_cast<void>(apply_request(state.value(), entry.request, clock.now()));
  }
  return state;
}

nlohmann::json job_json(const StateFolder& folder, const LocalState& state, const LocalTask& task) {
  const auto& latest = task.latest();
  return {{"job", task.job},
          {"restart", latest.restart},
          {"state", to_text(latest.state)},
          {"nodes", latest.nodes},
          {"excluded", task.excluded},
          {"exit_code", latest.exit_code ? nlohmann::json(*latest.exit_code) : nlohmann::json()},
          {"detail",
           latest.state == AttemptState::pending ? waiting_reason(state, task) : latest.detail},
          {"name", task.name},
          {"user", task.user},
          {"array_job", task.array_job},
          {"node_count", task.node_count},
          {"held_by", task.held_by},
          {"submitted_at", to_text(task.submitted_at)},
          {"started_at", to_text(latest.started_at)},
          {"ended_at", to_text(latest.ended_at)},
          {"output", folder.attempt_file(task.job, latest.restart, "out").string()}};
}

int queue(const StateFolder& folder, const LocalCommandOptions& options, const Clock& clock) {
  const auto state = state_with_inbox(folder, clock);
  if (!state) return fail(state.error());
  auto jobs = nlohmann::json::array();
  Table table({"JOB", "RESTART", "STATE", "EXIT", "NODES", "EXCLUDED", "NAME", "DETAIL"},
              {"NODES", "EXCLUDED", "NAME", "DETAIL"});
  for (const auto& task : state->tasks) {
    auto job = job_json(folder, *state, task);
    table.add(
        {task.job, std::to_string(task.latest().restart), std::string(to_text(task.latest().state)),
         task.latest().exit_code ? std::to_string(*task.latest().exit_code) : "-",
         join(task.latest().nodes, ","), task.excluded.empty() ? "-" : join(task.excluded, ","),
         task.name, job["detail"].get<std::string>()});
    jobs.push_back(std::move(job));
  }
  if (options.json) {
    print(nlohmann::json{{"jobs", std::move(jobs)}});
  } else {
    print(table);
  }
  return exit_ok;
}

int nodes(const StateFolder& folder, const LocalCommandOptions& options) {
  const auto state = folder.load();
  if (!state) return fail(state.error());
  const auto busy = state->busy_nodes();
  auto list = nlohmann::json::array();
  Table table({"NODE", "STATE", "JOB", "SPARE", "OWNER", "REASON"}, {"REASON"});
  for (const auto& node : state->nodes) {
    const auto on = busy.find(node.name);
    const std::string job = on == busy.end() ? "" : on->second;
    const std::string standing =
        node.drained ? (job.empty() ? "drained" : "draining") : (job.empty() ? "idle" : "busy");
    list.push_back({{"name", node.name},
                    {"state", standing},
                    {"drained", node.drained},
                    {"drain_reason", node.drain_reason},
                    {"drain_owner", node.drain_owner},
                    {"spare", node.spare},
                    {"idle", standing == "idle"},
                    {"job", job}});
    table.add({node.name, standing, job.empty() ? "-" : job, node.spare ? "yes" : "no",
               node.drain_owner.empty() ? "-" : node.drain_owner, node.drain_reason});
  }
  if (options.json) {
    print(nlohmann::json{{"nodes", std::move(list)}});
  } else {
    print(table);
  }
  return exit_ok;
}

int ask_about_job(LocalRequestKind kind, const StateFolder& folder,
                  const LocalCommandOptions& options, const Clock& clock) {
  LocalRequest request;
  request.kind = kind;
  request.by = user_name();
  request.job = options.target;
  return ask(folder, request,
             options.target + (kind == LocalRequestKind::cancel ? " is cancelled" : " is released"),
             clock);
}

int ask_about_node(LocalRequestKind kind, const StateFolder& folder,
                   const LocalCommandOptions& options, const Clock& clock) {
  LocalRequest request;
  request.kind = kind;
  request.by = user_name();
  request.node = options.target;
  request.reason = options.reason;
  return ask(folder, request,
             options.target + (kind == LocalRequestKind::drain ? " is drained" : " is in service"),
             clock);
}

CLI::App* add_verb(CLI::App& local, LocalCommandOptions& options, const char* name,
                   const char* help, const char* example) {
  CLI::App* verb = local.add_subcommand(name, help);
  verb->add_option("--state", options.state,
                   "Folder of the local cluster (or FAULTLINE_LOCAL_STATE)");
  verb->footer(std::string("Example:\n  faultline local ") + name + " --state /tmp/cluster " +
               example);
  return verb;
}

}  // namespace

void add_local_command(CLI::App& app, LocalCommandOptions& options) {
  CLI::App* local = app.add_subcommand(
      "local", "The embedded scheduler: a cluster whose nodes are names on this machine");
  local->require_subcommand(1);
  local->footer(
      "Examples:\n"
      "  faultline local init --state /tmp/cluster --nodes n[1-6] --spares 1\n"
      "  faultline serve --plain --scheduler local --local-state /tmp/cluster --mode act --store "
      "/tmp/faultline.db &\n"
      "  faultline local submit --state /tmp/cluster --nodes 4 -- ./train.sh\n"
      "  faultline local queue --state /tmp/cluster\n"
      "A job finds FAULTLINE_JOB, FAULTLINE_RESTART and FAULTLINE_NODES (n1,n2,...) in its "
      "environment, which is\n"
      "otherwise the submitter's, PATH included, and writes to jobs/JOB.RESTART.out in the "
      "folder.\n"
      "Requests wait in the folder while no controller runs.");
  // Not by CLI11, which lets the environment win when several verbs share one variable.
  if (const char* named = std::getenv("FAULTLINE_LOCAL_STATE"); named != nullptr)
    options.state = named;

  CLI::App* init_verb = add_verb(*local, options, "init", "Make a cluster in a new folder",
                                 "--nodes n1,n2,n3 --spares 1");
  init_verb->add_option("--nodes", options.nodes, "Names: n1,n2 or n[1-6]")->required();
  init_verb
      ->add_option("--spares", options.spares, "So many of the last nodes stand by for lost ones")
      ->capture_default_str()
      ->check(whole_number(0, node_count_max, 1));

  CLI::App* submit_verb =
      add_verb(*local, options, "submit", "Put a job into the queue; prints its number",
               "--nodes 4 --array=1-3%1 -- ./train.sh --epochs 3");
  submit_verb->add_option("--nodes", options.node_count, "Nodes of the job")
      ->capture_default_str()
      ->check(whole_number(1, node_count_max, 4));
  submit_verb->add_option("--array", options.array,
                          "Tasks, and how many run at once: 1-3, 1,4,7, 1-100%5");
  submit_verb->add_option("--name", options.name, "Name of the job (default: of the program)");
  submit_verb->add_option("PROGRAM", options.program,
                          "After --: what to run; its arguments follow");
  // Not a list of CLI11: it takes an argument like [a,b] apart.
  submit_verb->prefix_command();

  CLI::App* queue_verb =
      add_verb(*local, options, "queue", "Jobs, each with its newest attempt", "--json");
  queue_verb->add_flag("--json", options.json, "For programs");
  CLI::App* nodes_verb =
      add_verb(*local, options, "nodes", "Nodes, and who has taken them out of service", "--json");
  nodes_verb->add_flag("--json", options.json, "For programs");

  const auto target = [&](CLI::App* verb, const char* what) {
    verb->add_option(what, options.target)->required();
  };
  target(add_verb(*local, options, "cancel", "End a job, a whole array or one of its tasks", "7_2"),
         "JOB");
  target(add_verb(*local, options, "release", "Let a held job start again", "7"), "JOB");
  CLI::App* drain_verb = add_verb(*local, options, "drain",
                                  "Take a node out of service; faultline leaves it alone then",
                                  "n3 --reason 'new cable'");
  target(drain_verb, "NODE");
  drain_verb->add_option("--reason", options.reason, "Why, for those who come after")->required();
  target(
      add_verb(*local, options, "resume", "Put a node back into service, whoever drained it", "n3"),
      "NODE");

  CLI::App* keeper = app.add_subcommand(keeper_verb, "Runs one attempt of a local job")->group("");
  keeper->add_option("STATE", options.state)->required();
  keeper->add_option("JOB", options.target)->required();
  keeper->add_option("RESTART", options.restart)->required();
}

int local_main(CLI::App& command, const LocalCommandOptions& options) {
  const SystemClock clock;
  if (options.state.empty()) {
    return fail(
        wrong("--state (or FAULTLINE_LOCAL_STATE) names no folder; for instance "
              "--state /tmp/cluster"));
  }
  // Here and not with the option: the variable is held to the same.
  if (const auto bad = folder_path()(options.state); !bad.empty())
    return fail(wrong("--state: " + bad));
  std::error_code error;
  // Jobs run elsewhere: what is kept of the folder's name must not depend on where we are.
  const auto root = std::filesystem::absolute(options.state, error);
  if (error) return fail(wrong("--state: the working folder is gone; give an absolute path"));
  const StateFolder folder(root.lexically_normal());
  if (command.get_name() == keeper_verb)
    return keep_job(folder, options.target, options.restart, clock);
  const CLI::App& given = *command.get_subcommands().front();
  const std::string& verb = given.get_name();
  if (verb == "init") return init(folder, options);
  if (verb == "submit") return submit(folder, options, command_of(given, options), clock);
  if (verb == "queue") return queue(folder, options, clock);
  if (verb == "nodes") return nodes(folder, options);
  if (verb == "cancel") return ask_about_job(LocalRequestKind::cancel, folder, options, clock);
  if (verb == "release") return ask_about_job(LocalRequestKind::release, folder, options, clock);
  if (verb == "drain") return ask_about_node(LocalRequestKind::drain, folder, options, clock);
  return ask_about_node(LocalRequestKind::resume, folder, options, clock);
}

}  // namespace faultline
