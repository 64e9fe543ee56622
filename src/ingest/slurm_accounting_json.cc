// `sacct --json`, and what `scontrol show job --json` and `squeue --json` say of jobs. 21.08
// to 22.05 print plain numbers and one word for a state, 23.02 and later {set, infinite, number}
// and lists of words.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/json_elements.h"
#include "ingest/json_values.h"
#include "ingest/scheduler_events.h"
#include "ingest/slurm_accounting.h"
#include "ingest/slurm_runs.h"
#include "ingest/slurm_words.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

/// The member of a member: {"time": {"start": 7}}.
const Json& inner(const Json& object, const char* name, const char* member) {
  return json_field(json_field(object, name), member);
}

AttemptState state_of(const Json& value) {
  std::vector<std::string> words;
  append_json_words(value, words);
  for (const auto& word : words) {
    // Flags such as CONFIGURING stand behind the base state.
    if (const auto state = slurm_record_state(word); state != AttemptState::unknown) return state;
  }
  return AttemptState::unknown;
}

/// The first that is there.
const Json& either(const Json& one, const Json& other) { return one.is_null() ? other : one; }

/// "123", "123_4" for a task of an array, "123+1" for a part of a heterogeneous job.
std::string job_id(const Json& job) {
  const auto id = json_number(json_field(job, "job_id")).value_or(0);
  const auto array =
      json_number(either(inner(job, "array", "job_id"), json_field(job, "array_job_id")))
          .value_or(0);
  const auto& by_id = either(inner(job, "array", "task_id"), json_field(job, "array_task_id"));
  const auto task = json_number(either(by_id, inner(job, "array", "task")));
  if (array > 0 && task) return std::to_string(array) + "_" + std::to_string(*task);
  const auto leader =
      json_number(either(inner(job, "het", "job_id"), json_field(job, "het_job_id"))).value_or(0);
  if (leader <= 0) return std::to_string(id);
  const auto part =
      json_number(either(inner(job, "het", "job_offset"), json_field(job, "het_job_offset")))
          .value_or(0);
  return std::to_string(leader) + "+" + std::to_string(part);
}

std::string exit_text(std::optional<std::int32_t> code) {
  if (!code) return "-";
  return *code > 128 ? "0:" + std::to_string(*code - 128) : std::to_string(*code) + ":0";
}

/// {"id": "batch"}, {"id": 0}, {"id": {"job_id": 7, "step_id": "0"}} or {"id": "7.batch"}.
std::string step_name(const Json& step) {
  const Json& id = json_field(step, "id");
  const Json& told = id.is_object() ? json_field(id, "step_id") : id;
  std::string name = json_text(told);
  if (name.empty()) {
    const auto number = json_number(told);
    name = number ? std::to_string(*number) : json_text(json_field(step, "name"));
  }
  return printable(name.substr(name.rfind('.') + 1), 64);
}

/// "n[1-4]" of {"range": "n[1-4]"} or {"list": ["n1", "n2"]}.
std::string step_nodes(const Json& step) {
  const Json& nodes = json_field(step, "nodes");
  std::string list = json_text(json_field(nodes, "range"));
  if (list.empty()) list = join(json_list(json_field(nodes, "list")), ",");
  return slurm_hosts(list).empty() ? std::string{} : list;
}

bool add_job(const Json& job, RawLine raw, SlurmRuns& runs) {
  SlurmRun run;
  Attempt& attempt = run.attempt;
  const std::string id = job_id(job);
  if (id == "0" || !set_slurm_job(id, attempt)) return false;
  attempt.state = state_of(either(inner(job, "state", "current"), json_field(job, "job_state")));
  attempt.name = printable(json_text(json_field(job, "name")), 256);
  attempt.user =
      printable(json_text(either(json_field(job, "user"), json_field(job, "user_name"))), 64);
  attempt.started_at =
      json_instant(either(inner(job, "time", "start"), json_field(job, "start_time")));
  // Of a job that runs it is when its time will be over.
  if (ended(attempt.state))
    attempt.ended_at = json_instant(either(inner(job, "time", "end"), json_field(job, "end_time")));
  run.node_list = json_text(json_field(job, "nodes"));
  attempt.nodes = slurm_hosts(run.node_list);
  attempt.exit_code = json_exit_code(json_field(job, "exit_code"));
  if (const auto count = json_number(json_field(job, "restart_cnt")); count && *count >= 0)
    run.restart = static_cast<std::uint32_t>(std::min<std::int64_t>(*count, 1'000'000));
  run.ran = known(attempt.started_at);
  if (attempt.state == AttemptState::cancelled)
    run.cancelled_by = json_text(json_field(job, "kill_request_user"));
  const auto reason =
      json_text(either(inner(job, "state", "reason"), json_field(job, "state_reason")));
  if (reason != "None") run.reason = reason;
  run.failed_node = json_text(json_field(job, "failed_node"));
  run.raw = std::move(raw);
  runs.add(std::move(run));
  const Json& steps = json_field(job, "steps");
  if (!steps.is_array()) return true;
  for (const Json& step : steps) {
    const auto exit = json_exit_code(json_field(step, "exit_code"));
    runs.add_step(id,
                  {step_name(json_field(step, "step")), exit_text(exit), exit, step_nodes(step)});
  }
  return true;
}

}  // namespace

Result<std::vector<Event>> decode_slurm_accounting_json(std::string_view document,
                                                        const Origin& origin, Counters& counters) {
  SlurmRuns runs;
  std::size_t jobs = 0;
  const auto counts = visit_json_elements(
      document, "jobs", [&](const Json& job, std::uint64_t offset, std::string_view bytes) {
        if (add_job(job, {origin.path, offset, {}, one_line(bytes)}, runs)) ++jobs;
      });
  counters.add("slurm_accounting_rows_bad_total", counts.records - jobs + counts.left_out);
  if (counts.cut) counters.add("scheduler_documents_cut_total");
  if (jobs == 0)
    return Error{ErrorCode::corrupt, "no job in this JSON; run: sacct --duplicates --json"};
  return std::move(runs).events();
}

}  // namespace faultline
