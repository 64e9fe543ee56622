#include "apps/person_command.h"

#include <pwd.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "adapters/grpc/peer.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/names.h"
#include "store/person_request.h"

namespace faultline {
namespace {

constexpr Duration answer_wait = std::chrono::seconds{5};
constexpr std::size_t shown_bytes_max = 80;

struct Verb {
  RequestKind kind;
  const char* help;
  const char* target;  // what its argument is called ...
  const char* is;      // ... and is
  const char* example;
};

constexpr Verb verbs[] = {
    {RequestKind::approve,
     "Let a decision that asks go ahead: its act is carried out, in mode suggest, too", "DECISION",
     "Its id (d-...), from `faultline actions`", "d-0f3c9e5b7a1d2c44"},
    {RequestKind::deny, "Refuse a decision that asks", "DECISION",
     "Its id (d-...), from `faultline actions`", "d-0f3c9e5b7a1d2c44"},
    {RequestKind::return_node, "Give a node that faultline drained back to the scheduler", "NODE",
     "As the scheduler spells it", "n3"},
    {RequestKind::repair, "Put a node that is out of service in repair, until a person returns it",
     "NODE", "As the scheduler spells it", "n3 --note 'RMA 4711: board swapped'"},
    {RequestKind::silence,
     "Do nothing about a node, GPU, job or the whole cluster for a time; go on recording",
     "SUBJECT", "A node, gpu:NODE/PCI, job:ID, rack:NAME or switch:NAME (their nodes), or cluster",
     "n3 --for 2h --reason 'new cable on port 3'"},
    {RequestKind::unsilence, "End a silence before its time", "SILENCE",
     "Its id (s-...), from `faultline silences`", "s-12"},
};

std::string who_is_asking() {
  const passwd* entry = ::getpwuid(::getuid());
  return std::string(entry != nullptr ? entry->pw_name : "uid") + "(" + std::to_string(::getuid()) +
         ")";
}

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// The target as the controller takes it.
Result<std::string> target_of(RequestKind kind, const PersonOptions& options) {
  if (kind == RequestKind::silence) {
    const auto silence = make_silence(options.target, options.length, options.reason);
    if (!silence) return silence.error();
    return options.target + " " + options.length + " " + options.reason;
  }
  if (kind == RequestKind::repair) {
    const auto repair = make_repair(options.target, options.note);
    if (!repair) return repair.error();
    return repair->node + (repair->note.empty() ? "" : " " + repair->note);
  }
  const std::string given = "'" + printable(options.target, shown_bytes_max) + "' is ";
  if (kind == RequestKind::return_node && !valid_node_name(options.target))
    return wrong(given + "not a node name; give it as the scheduler spells it, for instance n3");
  if (kind == RequestKind::unsilence &&
      !(options.target.starts_with("s-") &&
        parse_number<std::uint32_t>(std::string_view(options.target).substr(2))))
    return wrong(given + "not the id of a silence; `faultline silences` shows them, like s-12");
  const bool answers = kind == RequestKind::approve || kind == RequestKind::deny;
  if (answers && !(options.target.starts_with("d-") && valid_job_id(options.target)))
    return wrong(given + "not the id of a decision; `faultline actions` shows them (d-...)");
  return options.target;
}

Result<PersonAnswer> ask_through_store(RequestKind kind, const std::string& target,
                                       const PersonOptions& options) {
  const SystemClock clock;
  // Says clearly if there is none; what is written goes over a damaged log.
  const auto store = open_to_ask(options.query.store, Examine::keep);
  if (!store) return store.error();
  const auto writable = Store::open(options.query.store, Access::read_write);
  if (!writable) return writable.error();
  const auto number = (*writable)->put_request({0, kind, target, who_is_asking(), clock.now(), {}});
  if (!number) return number.error();
  const Duration until = clock.monotonic() + answer_wait;
  while (clock.monotonic() < until) {
    const auto request = (*writable)->request(*number);
    if (!request) return request.error();
    if (*request && (*request)->answer.kind != AnswerKind::open) return (*request)->answer;
    clock.sleep(std::chrono::milliseconds{50});
  }
  return Error{ErrorCode::unavailable, "left in the store, but no controller took it within " +
                                           to_text(answer_wait) +
                                           ": it will when `faultline serve` runs"};
}

/// Without certificates there is no way to another machine, and only --plain is one on this.
Status check_way(const PersonOptions& options) {
  if (options.controller.empty()) return ok_status();
  const bool here = is_loopback(options.controller);
  if (options.plain && here) return ok_status();
  const bool all_tls =
      !options.tls_cert.empty() && !options.tls_key.empty() && !options.tls_ca.empty();
  if (!options.plain && all_tls) return ok_status();
  return wrong(here ? "give --tls-cert, --tls-key and --tls-ca, or --plain on the same machine"
                    : "--tls-cert, --tls-key and --tls-ca are needed off loopback; `faultline pki "
                      "issue --role operator` makes them");
}

/// The answer for people: the ruling on a return in words.
std::string in_words(const std::string& target, const PersonAnswer& answer) {
  switch (answer.kind) {
    case AnswerKind::act: return target + " goes back to the scheduler: " + answer.text;
    case AnswerKind::ask:
      return target + " goes back once a person approves it (`faultline actions`): " + answer.text;
    case AnswerKind::hold: return target + " is not given back now: " + answer.text;
    case AnswerKind::deny: return target + " is not given back: " + answer.text;
    case AnswerKind::open:
    case AnswerKind::taken:
    case AnswerKind::refused:
    case AnswerKind::not_found: break;
  }
  return to_text(answer);
}

}  // namespace

void add_person_commands(CLI::App& app, PersonOptions& options) {
  for (const Verb& verb : verbs) {
    const std::string name(to_text(verb.kind));
    CLI::App* command = app.add_subcommand(name, verb.help);
    add_store_options(*command, options.query);
    command
        ->add_option("--controller", options.controller,
                     "HOST:PORT of a controller elsewhere; needs an operator certificate")
        ->check(host_and_port(false));
    command->add_option("--tls-cert", options.tls_cert, "Operator certificate (PEM)");
    command->add_option("--tls-key", options.tls_key, "Its private key (PEM)");
    command->add_option("--tls-ca", options.tls_ca, "The cluster's CA (PEM)");
    command->add_flag("--plain", options.plain, "No TLS; only to a loopback address");
    command->add_option(verb.target, options.target, verb.is)->required();
    if (verb.kind == RequestKind::silence) {
      command->add_option("--for", options.length, "How long: 90s, 30m, 2h, 3d; at most 7d")
          ->required();
      command->add_option("--reason", options.reason, "Why, for those who come after")->required();
    }
    if (verb.kind == RequestKind::repair)
      command->add_option("--note", options.note,
                          "What is done about it, for those who come after");
    expect_files(*command, {"--tls-cert", "--tls-key", "--tls-ca"});
    command->footer("Example:\n  faultline " + name + " " + verb.example);
  }
}

int person_main(const std::string& verb, const PersonOptions& options,
                const RemoteOperate& remote) {
  const auto request = parse_enum<RequestKind>(verb);
  if (!request) return -1;
  const auto target = target_of(*request, options);
  if (!target) return fail(target.error());
  if (const auto way = check_way(options); !way) return fail(way.error());
  const auto answer = options.controller.empty() ? ask_through_store(*request, *target, options)
                                                 : remote(options, *request, *target);
  if (!answer) return fail(answer.error());
  if (options.query.json) {
    print(nlohmann::json{{"request", verb},
                         {"target", *target},
                         {"answer", to_text(*answer)},
                         {"accepted", accepted(answer->kind)}});
  } else {
    print(in_words(*target, *answer) + "\n");
  }
  if (answer->kind == AnswerKind::not_found) return exit_not_found;
  return accepted(answer->kind) ? exit_ok : exit_failed;
}

}  // namespace faultline
