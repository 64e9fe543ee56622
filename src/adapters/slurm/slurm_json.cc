// The JSON shapes of Slurm's clients.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_states.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

const Json& field(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

/// 7, "7", 7.0 or {"set": true, "infinite": false, "number": 7}; nothing if it is not set.
std::optional<std::int64_t> number(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    constexpr double exact_max = 9e15;  // beyond 2^53 a double is no count of anything
    const double number = value.get<double>();
    if (!(number >= -exact_max && number <= exact_max)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_string()) return parse_number<std::int64_t>(value.get_ref<const std::string&>());
  if (!value.is_object()) return std::nullopt;
  const auto& set = field(value, "set");
  const auto& infinite = field(value, "infinite");
  if ((set.is_boolean() && !set.get<bool>()) || (infinite.is_boolean() && infinite.get<bool>()))
    return std::nullopt;
  const auto& inner = field(value, "number");
  return inner.is_object() ? std::nullopt : number(inner);
}

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string{};
}

bool boolean(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return number(value).value_or(0) != 0;
}

/// "IDLE", ["IDLE", "DRAIN"] or nothing; upper case.
void append_words(const Json& value, std::vector<std::string>& words) {
  const auto append = [&](const Json& word) {
    if (!word.is_string()) return;
    std::string upper = word.get<std::string>();
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (!upper.empty()) words.push_back(std::move(upper));
  };
  if (value.is_array()) {
    for (const auto& word : value) append(word);
  } else {
    append(value);
  }
}

/// "a,b" or ["a", "b"].
std::vector<std::string> list(const Json& value) {
  std::vector<std::string> items;
  const auto append = [&](std::string_view item) {
    if (!trim(item).empty()) items.emplace_back(trim(item));
  };
  if (value.is_string()) {
    for (const auto item : split(value.get_ref<const std::string&>(), ',')) append(item);
  } else if (value.is_array()) {
    for (const auto& item : value) append(text(item));
  }
  return items;
}

Instant instant(const Json& value) {
  constexpr std::int64_t seconds_max = 9'000'000'000;  // nanoseconds in 64 bits end in 2262
  const auto seconds = number(value);
  return seconds && *seconds > 0 && *seconds < seconds_max ? Instant{std::chrono::seconds{*seconds}}
                                                           : Instant{};
}

/// The node list: "n[1-3]"; where that is missing, job_resources.nodes as a string or as {"list":
/// "n[1-3]"}.
std::vector<std::string> job_nodes(const Json& job) {
  const auto direct = text(field(job, "nodes"));
  if (!direct.empty()) return hosts_of(direct);
  const auto& nodes = field(field(job, "job_resources"), "nodes");
  if (nodes.is_object()) return hosts_of(text(field(nodes, "list")));
  return hosts_of(text(nodes));
}

/// A wait status, or {"return_code": 3 or {set..}, "signal": {"id" or "signal_id": 9 or {set..}}}.
std::optional<std::int32_t> exit_code(const Json& value) {
  if (!value.is_object() || !value.contains("return_code")) {
    const auto status = number(value);
    return status ? std::optional(exit_code_of_status(*status)) : std::nullopt;
  }
  const auto& signal = field(value, "signal");
  const auto id = number(signal.is_object() && signal.contains("id") ? field(signal, "id")
                                                                     : field(signal, "signal_id"));
  constexpr std::int64_t signal_max = 64;
  if (id.value_or(0) > 0 && *id <= signal_max) return static_cast<std::int32_t>(128 + *id);
  const auto code = number(field(value, "return_code"));
  return code ? std::optional(static_cast<std::int32_t>(*code)) : std::nullopt;
}

void read_array(const Json& json, SlurmJob& job) {
  const auto array = number(field(json, "array_job_id")).value_or(0);
  if (array <= 0) return;
  job.array_job = std::to_string(array);
  if (const auto task = number(field(json, "array_task_id"))) {
    job.id = job.array_job + "_" + std::to_string(*task);
    return;
  }
  std::string tasks = text(field(json, "array_task_string"));
  tasks = tasks.substr(0, tasks.find('%'));
  if (tasks.empty() || tasks.find_first_not_of("0123456789,-:") != std::string::npos) return;
  job.id = job.array_job;
  job.array_tasks = tasks;
}

std::optional<SlurmJob> read_job(const Json& json) {
  const auto id = number(field(json, "job_id"));
  if (!json.is_object() || id.value_or(0) <= 0) return std::nullopt;
  SlurmJob job;
  job.number = job.id = std::to_string(*id);
  read_array(json, job);
  if (const auto het = number(field(json, "het_job_id")).value_or(0); het > 0) {
    job.het_job = std::to_string(het);
    job.id = job.het_job + "+" +
             std::to_string(
                 std::max<std::int64_t>(number(field(json, "het_job_offset")).value_or(0), 0));
  }
  job.name = printable(text(field(json, "name")), 256);
  job.user = printable(text(field(json, "user_name")), 64);
  if (job.user.empty()) {
    if (const auto uid = number(field(json, "user_id"))) job.user = std::to_string(*uid);
  }
  std::vector<std::string> states;
  append_words(field(json, "job_state"), states);
  apply_job_states(states, job);
  job.reason = printable(text(field(json, "state_reason")), 256);
  job.description = printable(text(field(json, "state_description")), 256);
  job.nodes = job_nodes(json);
  job.excluded = hosts_of(text(field(json, "excluded_nodes")));
  job.required = hosts_of(text(field(json, "required_nodes")));
  job.restart = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(number(field(json, "restart_cnt")).value_or(0), 0, 1'000'000));
  job.batch = boolean(field(json, "batch_flag"));
  job.requeue = boolean(field(json, "requeue"));
  job.start = instant(field(json, "start_time"));
  job.end = instant(field(json, "end_time"));
  job.exit_code = exit_code(field(json, "exit_code"));
  job.admin_comment = printable(text(field(json, "admin_comment")), 512);
  apply_hold(number(field(json, "priority")).value_or(1), job);
  return job;
}

std::optional<SlurmNode> read_node(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  SlurmNode result;
  auto& node = result.node;
  node.name = text(field(json, "name"));
  if (!valid_node_name(node.name)) return std::nullopt;
  std::vector<std::string> states;
  append_words(field(json, "state"), states);
  append_words(field(json, "state_flags"), states);
  apply_node_states(states, result);
  node.drain_reason = printable(text(field(json, "reason")), 512);
  node.drain_owner = printable(text(field(json, "reason_set_by_user")), 64);
  node.partitions = list(field(json, "partitions"));
  node.boot_time = instant(field(json, "boot_time"));
  result.features = list(field(json, "active_features"));
  if (result.features.empty()) result.features = list(field(json, "features"));
  return result;
}

/// What the entries of "errors" say; not dump(), whose depth is that of the document.
std::string complaint(const Json& errors) {
  std::vector<std::string> said;
  for (const auto& entry : errors) {
    for (const char* name : {"error", "description"}) {
      if (auto words = text(field(entry, name)); !words.empty()) said.push_back(std::move(words));
    }
    if (entry.is_string()) said.push_back(text(entry));
  }
  return said.empty() ? "an error without a text" : join(said, "; ");
}

/// The elements of `name` in a document; clients put their complaints into "errors".
Result<std::vector<Json>> elements(std::string_view document, const char* name) {
  auto json = Json::parse(document, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Error{ErrorCode::corrupt, "not a JSON document of Slurm"};
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) {
    return Error{ErrorCode::corrupt, std::string("no \"") + name + "\" in Slurm's JSON"};
  }
  const auto& errors = field(json, "errors");
  if (found->empty() && errors.is_array() && !errors.empty()) {
    const std::string said = complaint(errors);
    return Error{classify_slurm_error(said), "slurm: " + printable(said, 300)};
  }
  return std::vector<Json>(std::make_move_iterator(found->begin()),
                           std::make_move_iterator(found->end()));
}

template <class Value, class Read>
Result<std::vector<Value>> read_all(std::string_view document, const char* name, Read read,
                                    std::size_t* left_out) {
  auto json = elements(document, name);
  if (!json) return json.error();
  std::vector<Value> values;
  for (const auto& element : *json) {
    if (auto value = read(element)) values.push_back(std::move(*value));
  }
  if (left_out != nullptr) *left_out += json->size() - values.size();
  return values;
}

}  // namespace

Result<std::vector<SlurmJob>> parse_jobs_json(std::string_view text, std::size_t* left_out) {
  return read_all<SlurmJob>(text, "jobs", read_job, left_out);
}

Result<std::vector<SlurmNode>> parse_nodes_json(std::string_view text, std::size_t* left_out) {
  return read_all<SlurmNode>(text, "nodes", read_node, left_out);
}

}  // namespace faultline
