// The JSON shapes of Slurm's clients.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "adapters/slurm/slurm_command.h"
#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_states.h"
#include "base/text.h"
#include "ingest/json_values.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

/// The node list: "n[1-3]"; where that is missing, job_resources.nodes as a string or as {"list":
/// "n[1-3]"}.
std::vector<std::string> job_nodes(const Json& job) {
  const auto direct = json_text(json_field(job, "nodes"));
  if (!direct.empty()) return slurm_hosts(direct);
  const auto& nodes = json_field(json_field(job, "job_resources"), "nodes");
  if (nodes.is_object()) return slurm_hosts(json_text(json_field(nodes, "list")));
  return slurm_hosts(json_text(nodes));
}

/// A wait status, or what json_exit_code() reads.
std::optional<std::int32_t> exit_code(const Json& value) {
  if (value.is_object() && value.contains("return_code")) return json_exit_code(value);
  const auto status = json_number(value);
  return status ? std::optional(exit_code_of_status(*status)) : std::nullopt;
}

void read_array(const Json& json, SlurmJob& job) {
  const auto array = json_number(json_field(json, "array_job_id")).value_or(0);
  if (array <= 0) return;
  job.array_job = std::to_string(array);
  if (const auto task = json_number(json_field(json, "array_task_id"))) {
    job.id = job.array_job + "_" + std::to_string(*task);
    return;
  }
  std::string tasks = json_text(json_field(json, "array_task_string"));
  tasks = tasks.substr(0, tasks.find('%'));
  if (tasks.empty() || tasks.find_first_not_of("0123456789,-:") != std::string::npos) return;
  job.id = job.array_job;
  job.array_tasks = tasks;
}

std::optional<SlurmJob> read_job(const Json& json) {
  const auto id = json_number(json_field(json, "job_id"));
  if (!json.is_object() || id.value_or(0) <= 0) return std::nullopt;
  SlurmJob job;
  job.number = job.id = std::to_string(*id);
  read_array(json, job);
  if (const auto het = json_number(json_field(json, "het_job_id")).value_or(0); het > 0) {
    job.het_job = std::to_string(het);
    job.id = job.het_job + "+" +
             std::to_string(std::max<std::int64_t>(
                 json_number(json_field(json, "het_job_offset")).value_or(0), 0));
  }
  job.name = printable(json_text(json_field(json, "name")), 256);
  job.user = printable(json_text(json_field(json, "user_name")), 64);
  if (job.user.empty()) {
    if (const auto uid = json_number(json_field(json, "user_id"))) job.user = std::to_string(*uid);
  }
  std::vector<std::string> states;
  append_json_words(json_field(json, "job_state"), states);
  apply_job_states(states, job);
  job.reason = printable(json_text(json_field(json, "state_reason")), 256);
  job.description = printable(json_text(json_field(json, "state_description")), 256);
  job.nodes = job_nodes(json);
  job.excluded = slurm_hosts(json_text(json_field(json, "excluded_nodes")));
  job.required = slurm_hosts(json_text(json_field(json, "required_nodes")));
  job.restart = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      json_number(json_field(json, "restart_cnt")).value_or(0), 0, 1'000'000));
  job.batch = json_boolean(json_field(json, "batch_flag"));
  job.requeue = json_boolean(json_field(json, "requeue"));
  job.start = json_instant(json_field(json, "start_time"));
  job.end = json_instant(json_field(json, "end_time"));
  job.exit_code = exit_code(json_field(json, "exit_code"));
  job.admin_comment = printable(json_text(json_field(json, "admin_comment")), 512);
  apply_hold(json_number(json_field(json, "priority")).value_or(1), job);
  return job;
}

std::optional<SlurmNode> read_node(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  SlurmNode result;
  auto& node = result.node;
  node.name = json_text(json_field(json, "name"));
  if (!valid_node_name(node.name)) return std::nullopt;
  std::vector<std::string> states;
  append_json_words(json_field(json, "state"), states);
  append_json_words(json_field(json, "state_flags"), states);
  apply_node_states(states, result);
  node.drain_reason = printable(json_text(json_field(json, "reason")), 512);
  node.drain_owner = printable(json_text(json_field(json, "reason_set_by_user")), 64);
  node.partitions = json_list(json_field(json, "partitions"));
  node.boot_time = json_instant(json_field(json, "boot_time"));
  result.features = json_list(json_field(json, "active_features"));
  if (result.features.empty()) result.features = json_list(json_field(json, "features"));
  return result;
}

/// What the entries of "errors" say; not dump(), whose depth is that of the document.
std::string complaint(const Json& errors) {
  std::vector<std::string> said;
  for (const auto& entry : errors) {
    for (const char* name : {"error", "description"}) {
      if (auto words = json_text(json_field(entry, name)); !words.empty())
        said.push_back(std::move(words));
    }
    if (entry.is_string()) said.push_back(json_text(entry));
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
  const auto& errors = json_field(json, "errors");
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
