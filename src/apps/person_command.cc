#include "apps/person_command.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "apps/output.h"
#include "base/clock.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr Duration answer_wait = std::chrono::seconds{5};
constexpr std::array verbs = {"approve", "deny", "return"};

std::string who_is_asking() {
  const passwd* entry = ::getpwuid(::getuid());
  return std::string(entry != nullptr ? entry->pw_name : "uid") + "(" + std::to_string(::getuid()) +
         ")";
}

Status check_target(const std::string& verb, const std::string& target) {
  const bool good =
      verb == "return" ? valid_node_name(target) : target.starts_with("d-") && valid_job_id(target);
  if (good) return ok_status();
  return Error{ErrorCode::invalid_argument,
               verb == "return" ? "not a node name; give it as the scheduler spells it"
                                : "not a decision id; `faultline actions` shows them (d-...)"};
}

Result<std::string> ask_through_store(const std::string& verb, const PersonOptions& options) {
  const SystemClock clock;
  const auto store =
      Store::open(options.query.store, Access::read_only);  // says clearly if there is none
  if (!store) return store.error();
  const auto writable = Store::open(options.query.store, Access::read_write);
  if (!writable) return writable.error();
  const auto number =
      (*writable)->put_request({0, verb, options.target, who_is_asking(), clock.now(), {}});
  if (!number) return number.error();
  const Duration until = clock.monotonic() + answer_wait;
  while (clock.monotonic() < until) {
    const auto request = (*writable)->request(*number);
    if (!request) return request.error();
    if (*request && !(*request)->answer.empty()) return (*request)->answer;
    clock.sleep(std::chrono::milliseconds{50});
  }
  return Error{ErrorCode::unavailable, "left in the store, but no controller took it within " +
                                           to_text(answer_wait) +
                                           ": it will when `faultline serve` runs"};
}

}  // namespace

void add_person_commands(CLI::App& app, PersonOptions& options) {
  const std::array helps = {"Let a decision that asks go ahead", "Refuse a decision that asks",
                            "Give a node that faultline drained back to the scheduler"};
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    CLI::App* command = app.add_subcommand(verbs[i], helps[i]);
    add_store_options(*command, options.query);
    command->add_option("--controller", options.controller,
                        "HOST:PORT of a controller elsewhere; needs an operator certificate");
    command->add_option("--tls-cert", options.tls_cert, "Operator certificate (PEM)");
    command->add_option("--tls-key", options.tls_key, "Its private key (PEM)");
    command->add_option("--tls-ca", options.tls_ca, "The cluster's CA (PEM)");
    command->add_flag("--plain", options.plain, "No TLS; only to a loopback address");
    command->add_option("TARGET", options.target, i == 2 ? "Node" : "Decision id (d-...)")
        ->required();
    command->footer(std::string("Example:\n  faultline ") + verbs[i] +
                    (i == 2 ? " n3" : " d-0f3c9e5b7a1d2c44"));
  }
}

int person_main(const std::string& verb, const PersonOptions& options,
                const RemoteOperate& remote) {
  bool ours = false;
  for (const char* each : verbs) ours = ours || verb == each;
  if (!ours) return -1;
  if (const auto good = check_target(verb, options.target); !good) return fail(good.error());
  const auto answer = options.controller.empty() ? ask_through_store(verb, options)
                                                 : remote(options, verb, options.target);
  if (!answer) return fail(answer.error());
  const bool refused = answer->starts_with("refused:") || answer->starts_with("deny:") ||
                       answer->starts_with("hold:");
  if (options.query.json) {
    print(nlohmann::json{{"request", verb},
                         {"target", options.target},
                         {"answer", *answer},
                         {"accepted", !refused}});
  } else {
    print(*answer + "\n");
  }
  return refused ? exit_failed : exit_ok;
}

}  // namespace faultline
