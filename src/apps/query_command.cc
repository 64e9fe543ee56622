#include "apps/query_command.h"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/option_values.h"
#include "apps/output.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/json.h"
#include "store/dry_run.h"
#include "store/person_request.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr const char* nothing = "-";
constexpr std::size_t silence_requests_max = 10000;
constexpr std::size_t limit_max = 1'000'000;
constexpr std::size_t rank_events_max = 100'000;  // of an attempt; ranks come first
/// `serve` asks every second, at most every minute, and keeps what it saw after five more.
constexpr Duration view_fresh_max = std::chrono::minutes{2};

std::string or_dash(const std::string& text) { return text.empty() ? nothing : text; }

/// "2026-11-29 21:18:32": seconds are enough in a table, --json has the rest.
std::string short_time(Instant instant) {
  if (!known(instant)) return nothing;
  std::string text = to_text(instant).substr(0, 19);
  text[10] = ' ';
  return text;
}

template <class Noun>
json list_of(const std::vector<Noun>& nouns) {
  json list = json::array();
  for (const auto& noun : nouns) list.push_back(to_json(noun));
  return list;
}

/// The scheduler's reason, else ours; of a repair both, since its note says what is being done.
std::string reason_of(const SchedulerNode& node, const NodeState& state) {
  if (node.drain_reason.empty()) return or_dash(state.note);
  const bool repair = state.phase == NodePhase::in_repair && !state.note.empty();
  return node.drain_reason + (repair ? "; " + state.note : "");
}

/// When the scheduler's nodes were seen last; unknown if they never were.
Result<Instant> nodes_seen_at(Store& store) {
  const auto text = store.value("scheduler.nodes_seen_at");
  if (!text) return text.error();
  return *text ? parse_instant(**text).value_or(Instant{}) : Instant{};
}

/// What a table of nodes ends with; "" while the view is fresh.
std::string words_for_age(Instant seen_at, Duration age) {
  if (!known(seen_at) || age <= view_fresh_max) return {};
  return "The scheduler was seen last at " + short_time(seen_at) + ", " + to_text(age) +
         " ago: does `faultline serve` run, and does the scheduler answer?\n";
}

int show_nodes(Store& store, const QueryOptions& options) {
  const auto nodes = scheduler_nodes(store);
  if (!nodes) return fail(nodes.error());
  const auto seen_at = nodes_seen_at(store);
  if (!seen_at) return fail(seen_at.error());
  const Duration age = SystemClock().now() - *seen_at;
  const auto states = store.node_states();
  if (!states) return fail(states.error());
  std::map<std::string, NodeState> by_name;
  for (const auto& state : *states) by_name[state.node] = state;
  for (const auto& node : *nodes) by_name[node.name].node = node.name;  // in service from the first
  if (options.json) {
    json lives = json::array();
    for (const auto& [name, state] : by_name) lives.push_back(to_json(state));
    const bool seen = known(*seen_at);
    print(json{{"nodes", std::move(lives)},
               {"scheduler", list_of(*nodes)},
               {"scheduler_seen_at", seen ? json(to_text(*seen_at)) : json()},
               {"scheduler_stale", seen && age > view_fresh_max}});
    return exit_ok;
  }
  Table table({"NODE", "FAULTLINE", "SINCE", "BY", "SCHEDULER", "REASON"}, {"SCHEDULER", "REASON"});
  for (const auto& node : *nodes) {
    const NodeState state = by_name[node.name];
    by_name.erase(node.name);
    table.add({node.name, std::string(to_text(state.phase)), short_time(state.since),
               or_dash(state.by), or_dash(node.state_text), reason_of(node, state)});
  }
  for (const auto& [name, state] : by_name) {
    table.add({name, std::string(to_text(state.phase)), short_time(state.since), or_dash(state.by),
               "not in the scheduler", or_dash(state.note)});
  }
  print(table);
  print(words_for_age(*seen_at, age));
  return exit_ok;
}

/// Where its ranks run or ran, as they announced themselves.
Result<std::vector<RankPlace>> ranks_of(Store& store, const AttemptId& attempt) {
  const auto events = store.events_of_attempt(attempt, {rank_events_max, {}});
  if (!events) return events.error();
  std::map<std::int32_t, RankPlace> by_rank;
  for (const auto& event : *events) {
    if (event.kind != EventKind::rank_started) continue;
    RankPlace& place = by_rank[event.subject.rank] = {};
    place.rank = event.subject.rank;
    place.node = event.subject.node;
    place.local_rank = parse_number<std::int32_t>(event.field("local_rank")).value_or(-1);
    place.pid = parse_number<std::int64_t>(event.field("pid")).value_or(0);
    for (const auto gpu : split(event.field("gpus"), ','))
      if (!gpu.empty()) place.gpus.emplace_back(gpu);
  }
  std::vector<RankPlace> ranks;
  for (auto& [rank, place] : by_rank) ranks.push_back(std::move(place));
  return ranks;
}

int show_jobs(Store& store, const QueryOptions& options) {
  auto attempts = store.attempts({options.limit, {}});
  if (!attempts) return fail(attempts.error());
  if (options.json) {
    for (auto& attempt : attempts.value()) {
      auto ranks = ranks_of(store, attempt.id);
      if (!ranks) return fail(ranks.error());
      attempt.ranks = std::move(ranks).value();
    }
    print(json{{"attempts", list_of(*attempts)}});
    return exit_ok;
  }
  Table table({"ATTEMPT", "STATE", "STARTED", "ENDED", "USER", "NAME", "NODES", "EXCLUDED"},
              {"NAME", "NODES", "EXCLUDED"});
  for (const auto& attempt : *attempts) {
    table.add({attempt.id.text(), std::string(to_text(attempt.state)),
               short_time(attempt.started_at), short_time(attempt.ended_at), or_dash(attempt.user),
               or_dash(printable(attempt.name, 40)), or_dash(join(attempt.nodes, ",")),
               or_dash(join(attempt.excluded_nodes, ","))});
  }
  print(table);
  return exit_ok;
}

int show_incidents(Store& store, const QueryOptions& options) {
  const auto incidents = store.incidents({options.limit, {}});
  if (!incidents) return fail(incidents.error());
  if (options.json) {
    print(json{{"incidents", list_of(*incidents)}});
    return exit_ok;
  }
  Table table({"INCIDENT", "OPENED", "STATE", "CAUSE", "SUBJECT", "ATTEMPT", "VERDICTS"});
  for (const auto& incident : *incidents) {
    table.add({incident.id, short_time(incident.opened_at),
               known(incident.closed_at) ? "closed" : "open", incident.cause,
               incident.subject.text(), incident.attempt ? incident.attempt->text() : nothing,
               std::to_string(incident.verdicts.size())});
  }
  print(table);
  return exit_ok;
}

int show_verdicts(Store& store, const QueryOptions& options) {
  const auto verdicts = store.verdicts({options.limit, {}});
  if (!verdicts) return fail(verdicts.error());
  if (options.json) {
    print(json{{"verdicts", list_of(*verdicts)}});
    return exit_ok;
  }
  Table table({"VERDICT", "SINCE", "STATUS", "CONF", "CAUSE", "SUBJECT", "ATTEMPT", "EVIDENCE"});
  for (const auto& verdict : *verdicts) {
    if (verdict.status == VerdictStatus::cleared && !options.all) continue;
    table.add({verdict.id, short_time(verdict.since), std::string(to_text(verdict.status)),
               std::to_string(static_cast<int>(verdict.confidence * 100)) + "%", verdict.cause,
               verdict.subject.text(), verdict.attempt ? verdict.attempt->text() : nothing,
               std::to_string(verdict.evidence.size())});
  }
  print(table);
  return exit_ok;
}

std::string commands_of(const std::optional<Outcome>& dry_run) {
  return dry_run && !dry_run->commands.empty() ? "; $ " + join(dry_run->commands, "; $ ") : "";
}

int show_actions(Store& store, const QueryOptions& options) {
  const auto decisions = store.decisions({options.limit, {}});
  if (!decisions) return fail(decisions.error());
  json list = json::array();
  Table table({"ACTION", "DECISION", "DECIDED", "RULING", "REASON", "KIND", "SUBJECT", "OUTCOME"},
              {"OUTCOME"});
  for (const auto& decision : *decisions) {
    if (!options.all && decision.ruling != Ruling::act && decision.ruling != Ruling::ask) continue;
    const auto record = store.action(decision.action.id);
    if (!record) return fail(record.error());
    const bool has_outcome = *record && (*record)->outcome;
    json item = to_json(decision);
    item["outcome"] = has_outcome ? to_json(*(*record)->outcome) : json(nullptr);
    const auto dry_run = dry_run_of(store, decision);
    if (!dry_run) return fail(dry_run.error());
    item["dry_run"] = *dry_run ? to_json(**dry_run) : json(nullptr);
    list.push_back(std::move(item));
    table.add(
        {decision.action.id, decision.id, short_time(decision.decided_at),
         std::string(to_text(decision.ruling)), std::string(to_text(decision.reason)),
         std::string(to_text(decision.action.kind)), decision.action.subject.text(),
         has_outcome
             ? std::string(to_text((*record)->outcome->status)) + ": " + (*record)->outcome->detail
             : (*record ? "on its way" : or_dash(decision.detail)) + commands_of(*dry_run)});
  }
  if (options.json) {
    print(json{{"actions", std::move(list)}});
  } else {
    print(table);
  }
  return exit_ok;
}

int show_silences(Store& store, const QueryOptions& options) {
  const Instant now = SystemClock().now();
  const auto requests = store.requests({silence_requests_max, now - silence_max});
  if (!requests) return fail(requests.error());
  json list = json::array();
  Table table({"SILENCE", "SUBJECT", "SINCE", "UNTIL", "BY", "REASON", "ENDED BY"}, {"REASON"});
  for (const auto& silence : silences_of(*requests)) {
    if (!options.all && !silence.holds(now)) continue;
    list.push_back(
        {{"id", silence.id},
         {"subject", silence.subject.text()},
         {"since", to_text(silence.since)},
         {"until", to_text(silence.until)},
         {"by", silence.by},
         {"reason", silence.reason},
         {"holds", silence.holds(now)},
         {"ended_at", known(silence.ended_at) ? json(to_text(silence.ended_at)) : json()},
         {"ended_by", silence.ended_by}});
    table.add({silence.id, silence.subject.text(), short_time(silence.since),
               short_time(silence.until), silence.by, silence.reason, or_dash(silence.ended_by)});
  }
  if (options.json) {
    print(json{{"silences", std::move(list)}});
  } else {
    print(table);
  }
  return exit_ok;
}

using Show = int (*)(Store&, const QueryOptions&);

struct Question {
  const char* verb;
  const char* help;
  Show show;
  bool limited;     // takes --limit
  const char* all;  // help of --all; nullptr: there is none
};

constexpr Question questions[] = {
    {"nodes", "Every node: its life as faultline records it, and the scheduler's state and reason",
     show_nodes, false, nullptr},
    {"jobs", "The attempts of jobs that were seen, newest first", show_jobs, true, nullptr},
    {"incidents", "Failures, newest first, each with its leading cause", show_incidents, true,
     nullptr},
    {"verdicts", "What was concluded, newest first", show_verdicts, true, "Also what was cleared"},
    {"actions", "What was decided and done, newest first", show_actions, true,
     "Also what was held or denied, and why"},
    {"silences", "What is left alone for a time, since when, by whom and why", show_silences, false,
     "Also those of the last week that ended"},
};

}  // namespace

Result<std::unique_ptr<Store>> open_to_ask(const std::string& file, Examine how) {
  if (const auto log = examine_log(file, how); !log.text.empty()) warn(log.text);
  return Store::open(file, Access::read_only);
}

Result<std::vector<SchedulerNode>> scheduler_nodes(Store& store) {
  const auto text = store.value("scheduler.nodes");
  if (!text) return text.error();
  std::vector<SchedulerNode> nodes;
  if (!*text) return nodes;
  const auto parsed = parse_json(**text);
  if (!parsed) return parsed.error();
  for (const auto& item : *parsed) {
    auto node = scheduler_node_from_json(item);
    if (!node) return node.error();
    nodes.push_back(std::move(node).value());
  }
  return nodes;
}

void add_store_options(CLI::App& command, QueryOptions& options) {
  // Read here and not through CLI11, which lets the environment win when several verbs share one
  // variable.
  if (const char* named = std::getenv("FAULTLINE_STORE"); named != nullptr && *named != '\0')
    options.store = named;
  command.add_option("--store", options.store, "The controller's store (or FAULTLINE_STORE)")
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print JSON");
}

void add_query_commands(CLI::App& app, QueryOptions& options) {
  for (const auto& question : questions) {
    CLI::App* command = app.add_subcommand(question.verb, question.help);
    add_store_options(*command, options);
    if (question.limited) {
      command->add_option("--limit", options.limit, "At most this many")
          ->capture_default_str()
          ->check(whole_number(1, limit_max, 50));
    }
    if (question.all != nullptr) command->add_flag("--all", options.all, question.all);
    command->footer(std::string("Examples:\n  faultline ") + question.verb + "\n  faultline " +
                    question.verb + " --json | jq .");
  }
}

int query_main(const std::string& verb, const QueryOptions& options) {
  for (const auto& question : questions) {
    if (verb != question.verb) continue;
    const auto store = open_to_ask(options.store);
    if (!store) return fail(store.error());
    return question.show(**store, options);
  }
  return -1;
}

}  // namespace faultline
