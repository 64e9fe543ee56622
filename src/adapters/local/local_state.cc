#include "adapters/local/local_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "model/json.h"
#include "model/json_reader.h"
#include "model/names.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr int state_format = 1;
/// Beyond it the next number, or the difference of two times, would not fit any more.
constexpr std::uint64_t job_number_max = UINT64_MAX / 2;
constexpr Duration time_max{INT64_MAX / 2};  // in 2116

std::int64_t ns(Instant instant) { return instant.time_since_epoch().count(); }

json node_json(const LocalNode& node) {
  return {{"name", node.name},
          {"spare", node.spare},
          {"drained", node.drained},
          {"drain_reason", node.drain_reason},
          {"drain_owner", node.drain_owner}};
}

json process_json(const ProcessId& id) {
  return {{"pid", id.pid}, {"start_ticks", id.start_ticks}, {"boot_id", id.boot_id}};
}

json attempt_json(const LocalAttempt& attempt) {
  return {{"restart", attempt.restart},
          {"state", to_text(attempt.state)},
          {"started_ns", ns(attempt.started_at)},
          {"ended_ns", ns(attempt.ended_at)},
          {"nodes", attempt.nodes},
          {"exit_code", attempt.exit_code ? json(*attempt.exit_code) : json()},
          {"keeper", attempt.keeper ? process_json(*attempt.keeper) : json()},
          {"stop_asked_ns", ns(attempt.stop_asked_at)},
          {"detail", attempt.detail}};
}

json task_json(const LocalTask& task) {
  json attempts = json::array();
  for (const auto& attempt : task.attempts) attempts.push_back(attempt_json(attempt));
  return {{"job", task.job},
          {"array_job", task.array_job},
          {"array_task", task.array_task},
          {"array_limit", task.array_limit},
          {"name", task.name},
          {"user", task.user},
          {"node_count", task.node_count},
          {"excluded", task.excluded},
          {"held_by", task.held_by},
          {"cancelled", task.cancelled},
          {"requeued_by", task.requeued_by},
          {"requeue_acts", task.requeue_acts},
          {"submitted_ns", ns(task.submitted_at)},
          {"attempts", std::move(attempts)}};
}

Error corrupt(std::string text) { return {ErrorCode::corrupt, std::move(text)}; }

Result<LocalNode> node_from_json(const json& object) {
  LocalNode node;
  JsonReader read(object);
  read.text("name", node.name);
  read.boolean("spare", node.spare);
  read.boolean("drained", node.drained);
  read.text("drain_reason", node.drain_reason);
  read.text("drain_owner", node.drain_owner);
  auto result = read.finish(std::move(node));
  if (result && !valid_node_name(result->name)) {
    return corrupt("bad node name '" + printable(result->name, 64) + "'");
  }
  return result;
}

Result<LocalAttempt> local_attempt_from_json(const json& object) {
  LocalAttempt attempt;
  JsonReader read(object);
  read.integer("restart", attempt.restart);
  read.name("state", attempt.state);
  read.nanoseconds("started_ns", attempt.started_at);
  read.nanoseconds("ended_ns", attempt.ended_at);
  read.texts("nodes", attempt.nodes);
  read.optional_integer("exit_code", attempt.exit_code);
  read.nanoseconds("stop_asked_ns", attempt.stop_asked_at);
  read.text("detail", attempt.detail);
  if (read.raw("keeper").is_null()) return read.finish(std::move(attempt));
  ProcessId id;
  JsonReader keeper = read.object("keeper");
  keeper.integer("pid", id.pid);
  keeper.integer("start_ticks", id.start_ticks);
  keeper.text("boot_id", id.boot_id);
  attempt.keeper = id;
  return read.finish(std::move(attempt), keeper);
}

bool is_job_number(std::string_view job) {
  const auto number = parse_number<std::uint64_t>(job);
  return number && *number < job_number_max;
}

bool is_time(Instant instant) { return instant >= Instant{} && instant < Instant{time_max}; }

/// What comes out of whole numbers and texts, and yet cannot be.
Status check_task(const LocalTask& task) {
  // The id becomes part of file names.
  if (!valid_job_id(task.job) || !is_job_number(task.base_job()))
    return corrupt("bad job id '" + printable(task.job, 64) + "'");
  if (task.attempts.empty()) return corrupt("job " + task.job + " without attempts");
  bool times = is_time(task.submitted_at);
  for (const auto& attempt : task.attempts) {
    times = times && is_time(attempt.started_at) && is_time(attempt.ended_at) &&
            is_time(attempt.stop_asked_at);
  }
  return times ? ok_status() : Status(corrupt("job " + task.job + " at an impossible time"));
}

Result<LocalTask> task_from_json(const json& object) {
  LocalTask task;
  JsonReader read(object);
  read.text("job", task.job);
  read.text("array_job", task.array_job);
  read.integer("array_task", task.array_task);
  read.integer("array_limit", task.array_limit);
  read.text("name", task.name);
  read.text("user", task.user);
  read.integer("node_count", task.node_count);
  read.texts("excluded", task.excluded);
  read.text("held_by", task.held_by);
  read.boolean("cancelled", task.cancelled);
  read.text("requeued_by", task.requeued_by);
  read.texts("requeue_acts", task.requeue_acts);
  read.nanoseconds("submitted_ns", task.submitted_at);
  for (const auto& item : read.list("attempts")) {
    auto attempt = local_attempt_from_json(item);
    if (!attempt) return attempt.error().with_context("job " + printable(task.job, 64));
    task.attempts.push_back(std::move(attempt).value());
  }
  auto result = read.finish(std::move(task));
  if (!result) return result;
  if (const auto status = check_task(*result); !status) return status.error();
  return result;
}

/// What a lookup by name relies on.
Status check_unique(const LocalState& state) {
  std::set<std::string_view> seen;
  for (const auto& node : state.nodes) {
    if (!seen.insert(node.name).second) return corrupt("node " + node.name + " is there twice");
  }
  seen.clear();
  for (const auto& task : state.tasks) {
    if (!seen.insert(task.job).second) return corrupt("job " + task.job + " is there twice");
  }
  return ok_status();
}

}  // namespace

bool LocalTask::excludes(std::string_view node) const { return contains(excluded, node); }

void LocalTask::exclude(const std::vector<std::string>& nodes) {
  for (const auto& node : nodes) {
    if (!contains(excluded, node)) excluded.push_back(node);
  }
}

bool LocalTask::latest_on_any(const std::vector<std::string>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return contains(latest().nodes, node); });
}

const LocalNode* LocalState::node(std::string_view name) const {
  const auto it =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.name == name; });
  return it == nodes.end() ? nullptr : &*it;
}

LocalNode* LocalState::node(std::string_view name) {
  return const_cast<LocalNode*>(std::as_const(*this).node(name));
}

const LocalTask* LocalState::task(std::string_view job) const {
  const auto it =
      std::find_if(tasks.begin(), tasks.end(), [&](const auto& each) { return each.job == job; });
  return it == tasks.end() ? nullptr : &*it;
}

LocalTask* LocalState::task(std::string_view job) {
  return const_cast<LocalTask*>(std::as_const(*this).task(job));
}

std::vector<LocalTask*> LocalState::tasks_of(std::string_view job) {
  std::vector<LocalTask*> found;
  for (auto& each : tasks) {
    if (each.job == job || each.array_job == job) found.push_back(&each);
  }
  return found;
}

std::map<std::string, std::string, std::less<>> LocalState::busy_nodes() const {
  std::map<std::string, std::string, std::less<>> busy;
  for (const auto& each : tasks) {
    if (!live(each.latest())) continue;
    for (const auto& name : each.latest().nodes) busy.emplace(name, each.job);
  }
  return busy;
}

std::uint64_t LocalState::highest_job() const {
  std::uint64_t highest = 0;
  for (const auto& each : tasks) {
    highest = std::max(highest, parse_number<std::uint64_t>(each.base_job()).value_or(0));
  }
  return highest;
}

std::string state_text(const LocalState& state) {
  json nodes = json::array();
  for (const auto& node : state.nodes) nodes.push_back(node_json(node));
  json tasks = json::array();
  for (const auto& task : state.tasks) tasks.push_back(task_json(task));
  return dump(json{
             {"format", state_format}, {"nodes", std::move(nodes)}, {"tasks", std::move(tasks)}}) +
         "\n";
}

Result<LocalState> parse_state(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  JsonReader read(*parsed);
  int format = 0;
  read.integer("format", format);
  LocalState state;
  for (const auto& item : read.list("nodes")) {
    auto node = node_from_json(item);
    if (!node) return node.error();
    state.nodes.push_back(std::move(node).value());
  }
  for (const auto& item : read.list("tasks")) {
    auto task = task_from_json(item);
    if (!task) return task.error();
    state.tasks.push_back(std::move(task).value());
  }
  auto result = read.finish(std::move(state));
  if (!result) return result;
  if (format != state_format)
    return corrupt("format " + std::to_string(format) + " is not known here");
  if (const auto status = check_unique(*result); !status) return status.error();
  return result;
}

}  // namespace faultline
