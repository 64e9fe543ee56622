#include "model/json.h"

#include <nlohmann/json.hpp>

#include "model/json_reader.h"

namespace faultline {
namespace {

using nlohmann::json;

json times(Instant instant) { return known(instant) ? json(to_text(instant)) : json(nullptr); }

json attempt_or_null(const std::optional<AttemptId>& attempt) {
  return attempt ? json(attempt->text()) : json(nullptr);
}

template <class Enum>
json names_of(const std::vector<Enum>& values) {
  json list = json::array();
  for (const auto value : values) list.push_back(std::string(to_text(value)));
  return list;
}

template <class Enum>
json name_of(Enum value) {
  return std::string(to_text(value));
}

}  // namespace

json to_json(const Event& event) {
  json raw = {{"path", event.raw.path},
              {"offset", event.raw.offset},
              {"boot_id", event.raw.boot_id},
              {"text", event.raw.text}};
  return {{"id", event.id},
          {"source", name_of(event.source)},
          {"kind", name_of(event.kind)},
          {"reporter", event.reporter},
          {"subject", event.subject.text()},
          {"attempt", attempt_or_null(event.attempt)},
          {"observed_at", times(event.observed_at)},
          {"observed_ns", event.observed_at.time_since_epoch().count()},
          {"clock", name_of(event.clock)},
          {"received_at", times(event.received_at)},
          {"received_ns", event.received_at.time_since_epoch().count()},
          {"signature", event.signature},
          {"fields", event.fields},
          {"raw", std::move(raw)}};
}

Result<Event> event_from_json(const json& object) {
  JsonReader read(object);
  Event event;
  read.text("id", event.id);
  read.name("source", event.source);
  read.name("kind", event.kind);
  read.text("reporter", event.reporter);
  read.subject("subject", event.subject);
  read.attempt("attempt", event.attempt);
  read.nanoseconds("observed_ns", event.observed_at);
  read.name("clock", event.clock);
  read.nanoseconds("received_ns", event.received_at);
  read.text("signature", event.signature);
  read.fields("fields", event.fields);
  JsonReader raw = read.object("raw");
  raw.text("path", event.raw.path);
  raw.integer("offset", event.raw.offset);
  raw.text("boot_id", event.raw.boot_id);
  raw.text("text", event.raw.text);
  return read.finish(std::move(event), raw);
}

json to_json(const Verdict& verdict) {
  return {{"id", verdict.id},
          {"detector", verdict.detector},
          {"rule", verdict.rule},
          {"cause", verdict.cause},
          {"subject", verdict.subject.text()},
          {"status", name_of(verdict.status)},
          {"confidence", verdict.confidence},
          {"attempt", attempt_or_null(verdict.attempt)},
          {"since", times(verdict.since)},
          {"since_ns", verdict.since.time_since_epoch().count()},
          {"updated_at", times(verdict.updated_at)},
          {"updated_ns", verdict.updated_at.time_since_epoch().count()},
          {"evidence", verdict.evidence},
          {"consequences", verdict.consequences},
          {"witnesses", names_of(verdict.witnesses)},
          {"reporters", verdict.reporters},
          {"missing", verdict.missing},
          {"explanation", verdict.explanation},
          {"acts_at_once", verdict.acts_at_once}};
}

Result<Verdict> verdict_from_json(const json& object) {
  JsonReader read(object);
  Verdict verdict;
  read.text("id", verdict.id);
  read.text("detector", verdict.detector);
  read.text_if_present("rule", verdict.rule);
  read.text("cause", verdict.cause);
  read.subject("subject", verdict.subject);
  read.name("status", verdict.status);
  read.number("confidence", verdict.confidence);
  read.attempt("attempt", verdict.attempt);
  read.nanoseconds("since_ns", verdict.since);
  read.nanoseconds("updated_ns", verdict.updated_at);
  read.texts("evidence", verdict.evidence);
  read.texts("consequences", verdict.consequences);
  read.names("witnesses", verdict.witnesses);
  read.texts("reporters", verdict.reporters);
  read.texts("missing", verdict.missing);
  read.text("explanation", verdict.explanation);
  read.boolean("acts_at_once", verdict.acts_at_once);
  return read.finish(std::move(verdict));
}

json to_json(const Action& action) {
  return {{"id", action.id},
          {"decision", action.decision},
          {"kind", name_of(action.kind)},
          {"subject", action.subject.text()},
          {"attempt", attempt_or_null(action.attempt)},
          {"nodes", action.nodes},
          {"keep", action.keep},
          {"reason", action.reason},
          {"deadline_ms",
           std::chrono::duration_cast<std::chrono::milliseconds>(action.deadline).count()},
          {"dry_run", action.dry_run}};
}

Result<Action> action_from_json(const json& object) {
  JsonReader read(object);
  Action action;
  std::int64_t deadline_ms = 0;
  read.text("id", action.id);
  read.text("decision", action.decision);
  read.name("kind", action.kind);
  read.subject("subject", action.subject);
  read.attempt("attempt", action.attempt);
  read.texts("nodes", action.nodes);
  read.texts_if_present("keep", action.keep);
  read.text("reason", action.reason);
  read.integer("deadline_ms", deadline_ms);
  read.boolean("dry_run", action.dry_run);
  action.deadline = std::chrono::milliseconds{deadline_ms};
  return read.finish(std::move(action));
}

json to_json(const Decision& decision) {
  return {{"id", decision.id},
          {"verdict", decision.verdict},
          {"action", to_json(decision.action)},
          {"ruling", name_of(decision.ruling)},
          {"reason", name_of(decision.reason)},
          {"guard", decision.guard},
          {"detail", decision.detail},
          {"mode", name_of(decision.mode)},
          {"decided_at", times(decision.decided_at)},
          {"decided_ns", decision.decided_at.time_since_epoch().count()},
          {"saw", decision.saw}};
}

Result<Decision> decision_from_json(const json& object) {
  JsonReader read(object);
  Decision decision;
  read.text("id", decision.id);
  read.text("verdict", decision.verdict);
  read.name("ruling", decision.ruling);
  read.name("reason", decision.reason);
  read.text("guard", decision.guard);
  read.text("detail", decision.detail);
  read.name("mode", decision.mode);
  read.nanoseconds("decided_ns", decision.decided_at);
  read.text("saw", decision.saw);
  auto action = action_from_json(read.raw("action"));
  if (!action) return action.error().with_context("action");
  decision.action = std::move(action).value();
  return read.finish(std::move(decision));
}

json to_json(const Outcome& outcome) {
  return {{"action", outcome.action},      {"status", name_of(outcome.status)},
          {"at", times(outcome.at)},       {"at_ns", outcome.at.time_since_epoch().count()},
          {"detail", outcome.detail},      {"commands", outcome.commands},
          {"retryable", outcome.retryable}};
}

Result<Outcome> outcome_from_json(const json& object) {
  JsonReader read(object);
  Outcome outcome;
  read.text("action", outcome.action);
  read.name("status", outcome.status);
  read.nanoseconds("at_ns", outcome.at);
  read.text("detail", outcome.detail);
  read.texts("commands", outcome.commands);
  read.boolean("retryable", outcome.retryable);
  return read.finish(std::move(outcome));
}

json to_json(const Attempt& attempt) {
  json ranks = json::array();
  for (const auto& place : attempt.ranks) {
    ranks.push_back({{"rank", place.rank},
                     {"local_rank", place.local_rank},
                     {"node", place.node},
                     {"pid", place.pid},
                     {"gpus", place.gpus}});
  }
  return {{"id", attempt.id.text()},
          {"name", attempt.name},
          {"user", attempt.user},
          {"array_job", attempt.array_job},
          {"het_job", attempt.het_job},
          {"state", name_of(attempt.state)},
          {"started_at", times(attempt.started_at)},
          {"started_ns", attempt.started_at.time_since_epoch().count()},
          {"ended_at", times(attempt.ended_at)},
          {"ended_ns", attempt.ended_at.time_since_epoch().count()},
          {"nodes", attempt.nodes},
          {"ranks", std::move(ranks)},
          {"excluded_nodes", attempt.excluded_nodes},
          {"restartable", attempt.restartable},
          {"exit_code", attempt.exit_code ? json(*attempt.exit_code) : json(nullptr)}};
}

namespace {

Result<RankPlace> rank_place_from_json(const json& object) {
  JsonReader read(object);
  RankPlace place;
  read.integer("rank", place.rank);
  read.integer("local_rank", place.local_rank);
  read.text("node", place.node);
  read.integer("pid", place.pid);
  read.texts("gpus", place.gpus);
  return read.finish(std::move(place));
}

}  // namespace

Result<Attempt> attempt_from_json(const json& object) {
  JsonReader read(object);
  Attempt attempt;
  std::optional<AttemptId> id;
  read.attempt("id", id);
  attempt.id = id.value_or(AttemptId{});
  read.text("name", attempt.name);
  read.text("user", attempt.user);
  read.text("array_job", attempt.array_job);
  read.text("het_job", attempt.het_job);
  read.name("state", attempt.state);
  read.nanoseconds("started_ns", attempt.started_at);
  read.nanoseconds("ended_ns", attempt.ended_at);
  read.texts("nodes", attempt.nodes);
  read.texts("excluded_nodes", attempt.excluded_nodes);
  read.boolean("restartable", attempt.restartable);
  read.optional_integer("exit_code", attempt.exit_code);
  for (const auto& item : read.list("ranks")) {
    auto place = rank_place_from_json(item);
    if (!place) return place.error().with_context("ranks");
    attempt.ranks.push_back(std::move(place).value());
  }
  return read.finish(std::move(attempt));
}

json to_json(const NodeState& state) {
  return {{"node", state.node},
          {"phase", name_of(state.phase)},
          {"since", times(state.since)},
          {"since_ns", state.since.time_since_epoch().count()},
          {"by", state.by},
          {"verdict", state.verdict},
          {"action", state.action},
          {"serials", state.serials},
          {"note", state.note}};
}

Result<NodeState> node_state_from_json(const json& object) {
  JsonReader read(object);
  NodeState state;
  read.text("node", state.node);
  read.name("phase", state.phase);
  read.nanoseconds("since_ns", state.since);
  read.text("by", state.by);
  read.text("verdict", state.verdict);
  read.text("action", state.action);
  read.texts("serials", state.serials);
  read.text("note", state.note);
  return read.finish(std::move(state));
}

json to_json(const Incident& incident) {
  return {{"id", incident.id},
          {"opened_at", times(incident.opened_at)},
          {"opened_ns", incident.opened_at.time_since_epoch().count()},
          {"closed_at", times(incident.closed_at)},
          {"closed_ns", incident.closed_at.time_since_epoch().count()},
          {"attempt", attempt_or_null(incident.attempt)},
          {"subject", incident.subject.text()},
          {"cause", incident.cause},
          {"verdicts", incident.verdicts},
          {"told", incident.told}};
}

Result<Incident> incident_from_json(const json& object) {
  JsonReader read(object);
  Incident incident;
  read.text("id", incident.id);
  read.nanoseconds("opened_ns", incident.opened_at);
  read.nanoseconds("closed_ns", incident.closed_at);
  read.attempt("attempt", incident.attempt);
  read.subject("subject", incident.subject);
  read.text("cause", incident.cause);
  read.texts("verdicts", incident.verdicts);
  read.texts_if_present("told", incident.told);
  return read.finish(std::move(incident));
}

json to_json(const Cause& cause) {
  return {{"id", cause.id},
          {"class", name_of(cause.cause_class)},
          {"severity", name_of(cause.severity)},
          {"remedy", name_of(cause.remedy)},
          {"summary", cause.summary},
          {"explanation", cause.explanation},
          {"next_step", cause.next_step},
          {"cases", cause.cases}};
}

json to_json(const SchedulerNode& node) {
  return {{"name", node.name},
          {"state", node.state_text},
          {"available", node.available},
          {"drained", node.drained},
          {"down", node.down},
          {"maintenance", node.maintenance},
          {"spare", node.spare},
          {"idle", node.idle},
          {"drain_reason", node.drain_reason},
          {"drain_owner", node.drain_owner},
          {"switch", node.network_switch},
          {"rack", node.rack},
          {"partitions", node.partitions},
          {"boot_ns", node.boot_time.time_since_epoch().count()}};
}

Result<SchedulerNode> scheduler_node_from_json(const json& object) {
  JsonReader read(object);
  SchedulerNode node;
  read.text("name", node.name);
  read.text("state", node.state_text);
  read.boolean("available", node.available);
  read.boolean("drained", node.drained);
  read.boolean("down", node.down);
  read.boolean("maintenance", node.maintenance);
  read.boolean("spare", node.spare);
  read.boolean("idle", node.idle);
  read.text("drain_reason", node.drain_reason);
  read.text("drain_owner", node.drain_owner);
  read.text("switch", node.network_switch);
  read.text("rack", node.rack);
  read.texts("partitions", node.partitions);
  read.nanoseconds("boot_ns", node.boot_time);
  return read.finish(std::move(node));
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse_json(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return Error{ErrorCode::corrupt, "not JSON"};
  return value;
}

}  // namespace faultline
