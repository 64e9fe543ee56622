#include "ingest/scontrol_show.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/scheduler_events.h"
#include "ingest/scheduler_remarks.h"
#include "ingest/slurm_runs.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr auto npos = std::string_view::npos;

/// Where KEY=value has its value: the first one that starts a word. npos if there is none.
std::size_t place_of(std::string_view record, std::string_view key) {
  for (std::size_t at = record.find(key); at != npos; at = record.find(key, at + 1)) {
    const bool starts_word = at == 0 || record[at - 1] == ' ' || record[at - 1] == '\n';
    if (starts_word && record.substr(at + key.size(), 1) == "=") return at + key.size() + 1;
  }
  return npos;
}

/// Its value, up to the next blank; "" for "(null)" and if there is none.
std::string_view value_of(std::string_view record, std::string_view key) {
  const auto at = place_of(record, key);
  if (at == npos) return {};
  const auto rest = record.substr(at);
  const auto value = rest.substr(0, rest.find_first_of(" \r\n"));
  return value == "(null)" ? std::string_view{} : value;
}

/// A job's record with its name, which may hold anything, cut out.
struct JobRecord {
  std::string_view head;  // before the name: the job's numbers
  std::string_view name;
  std::string_view rest;
};

std::optional<JobRecord> split_job(std::string_view record) {
  constexpr std::string_view key = "JobName";
  constexpr std::string_view next = " UserId=";
  const auto name_at = place_of(record, key);
  if (name_at == npos) return std::nullopt;
  const bool one_line = trim(record).find('\n') == npos;
  const auto name_end = one_line ? record.find(next, name_at) : record.find('\n', name_at);
  if (name_end == npos) return std::nullopt;
  if (one_line && record.find(next, name_end + 1) != npos) return std::nullopt;
  return JobRecord{record.substr(0, name_at), trim(record.substr(name_at, name_end - name_at)),
                   record.substr(name_end)};
}

/// "123", "123_4" for a task of an array, "123+1" for a part of a heterogeneous job.
std::string job_id(std::string_view head) {
  if (const auto array = value_of(head, "ArrayJobId"); !array.empty())
    return std::string(array) + "_" + std::string(value_of(head, "ArrayTaskId"));
  if (const auto leader = value_of(head, "HetJobId"); !leader.empty())
    return std::string(leader) + "+" + std::string(value_of(head, "HetJobOffset"));
  return std::string(value_of(head, "JobId"));
}

/// "ECC errors [root@2026-11-29T21:18:32]": why a node is as it is, by whom and since when.
struct NodeReason {
  std::string_view text;
  std::string_view owner;
  Instant since;
};

NodeReason reason_of(std::string_view record, Duration utc_offset) {
  NodeReason reason;
  const auto at = place_of(record, "Reason");
  if (at == npos) return reason;
  auto rest = record.substr(at);
  rest = rest.substr(0, rest.find('\n'));
  for (const std::string_view next : {" Comment=", " Extra="})
    rest = rest.substr(0, rest.find(next));
  reason.text = trim(rest);
  const auto open = reason.text.rfind(" [");
  if (open == npos || !reason.text.ends_with(']')) return reason;
  const auto stamp = reason.text.substr(open + 2, reason.text.size() - open - 3);
  const auto sign = stamp.rfind('@');
  if (sign == npos) return reason;
  reason.owner = stamp.substr(0, sign);
  reason.since = slurm_instant(stamp.substr(sign + 1), utc_offset);
  reason.text = reason.text.substr(0, open);
  return reason;
}

class ScontrolShow {
 public:
  ScontrolShow(const Origin& origin, Counters& counters,
               std::shared_ptr<const SignatureDatabase> signatures)
      : origin_(origin), remarks_(std::move(signatures), origin, counters) {}

  /// False if it is no record.
  bool take(std::string_view record, std::uint64_t offset) {
    RawLine raw{origin_.path, offset, {}, one_line(record)};
    return record.starts_with("NodeName=") ? take_node(record, std::move(raw))
                                           : take_job(record, std::move(raw));
  }

  std::vector<Event> events() {
    std::vector<Event> events = std::move(runs_).events();
    std::move(nodes_.begin(), nodes_.end(), std::back_inserter(events));
    return events;
  }

 private:
  bool take_job(std::string_view record, RawLine raw) {
    const auto job = split_job(record);
    if (!job) return false;
    const std::string id = job_id(job->head);
    const bool array_tail = value_of(job->head, "ArrayTaskId").find_first_of("-,%") != npos;
    SlurmRun run;
    Attempt& attempt = run.attempt;
    if (!set_slurm_job(id, attempt)) return array_tail;
    const auto value = [&](std::string_view key) { return value_of(job->rest, key); };
    const auto user = value("UserId");
    attempt.name = printable(job->name, 256);
    attempt.user = printable(user.substr(0, user.find('(')), 64);
    attempt.state = slurm_job_state(value("JobState"));
    attempt.started_at = slurm_instant(value("StartTime"), origin_.utc_offset);
    if (ended(attempt.state)) {
      attempt.ended_at = slurm_instant(value("EndTime"), origin_.utc_offset);
      attempt.exit_code = slurm_exit_code(value("ExitCode"));
    }
    run.node_list = value("NodeList");
    attempt.nodes = slurm_hosts(run.node_list);
    attempt.restartable = value("BatchFlag") != "0" && value("Requeue") == "1";
    run.restart = parse_number<std::uint32_t>(value("Restarts"));
    run.ran = known(attempt.started_at);
    if (const auto reason = value("Reason"); reason != "None") run.reason = reason;
    run.raw = std::move(raw);
    runs_.add(std::move(run));
    return true;
  }

  bool take_node(std::string_view record, RawLine raw) {
    SchedulerNode node;
    node.name = value_of(record, "NodeName");
    if (!valid_node_name(node.name)) return false;
    apply_slurm_node_words(slurm_node_words(value_of(record, "State")), node);
    node.boot_time = slurm_instant(value_of(record, "BootTime"), origin_.utc_offset);
    const NodeReason reason = reason_of(record, origin_.utc_offset);
    node.drain_reason = printable(reason.text, 512);
    node.drain_owner = printable(reason.owner, 64);
    Event seen = as_told(node_event(node, false, reason.since), std::move(raw));
    auto known_reasons = remarks_.of_reason(seen);
    nodes_.push_back(std::move(seen));
    std::move(known_reasons.begin(), known_reasons.end(), std::back_inserter(nodes_));
    return true;
  }

  const Origin& origin_;
  SchedulerRemarks remarks_;
  SlurmRuns runs_;
  std::vector<Event> nodes_;
};

bool starts_record(std::string_view line) {
  return line.starts_with("JobId=") || line.starts_with("NodeName=");
}

/// Where the record that starts at `at` ends: before the next one, or before a blank line.
std::size_t end_of_record(std::string_view text, std::size_t at) {
  while (true) {
    const auto line_end = text.find('\n', at);
    if (line_end == npos) return text.size();
    at = line_end + 1;
    const bool continues = text.substr(at, 1) == " ";
    if (!continues) return at;
  }
}

}  // namespace

Result<std::vector<Event>> decode_scontrol_show(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  ScontrolShow show(origin, counters, std::move(signatures));
  std::size_t records = 0;
  std::size_t bad = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_record(text, at);
    if (starts_record(text.substr(at))) {
      ++records;
      if (!show.take(text.substr(at, end - at), at)) ++bad;
    }
    at = end;
  }
  counters.add("slurm_records_bad_total", bad);
  if (records == 0) {
    return Error{ErrorCode::invalid_argument,
                 "no record that starts with JobId= or NodeName=; run: scontrol show job JOB, "
                 "or: scontrol show node NODE"};
  }
  return show.events();
}

}  // namespace faultline
