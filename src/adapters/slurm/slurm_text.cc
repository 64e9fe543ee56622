// The text shapes of Slurm's clients.
#include <algorithm>
#include <utility>

#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_states.h"
#include "base/text.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// One line of job_text_format. nullopt if it is not one.
std::optional<SlurmJob> read_line(std::string_view line) {
  const auto fields = split(line, '|');
  constexpr std::size_t fields_min = 14;  // the reason, last, may itself hold a '|'
  if (fields.size() < fields_min || !digits(fields[0])) return std::nullopt;
  SlurmJob job;
  job.number = fields[0];
  job.id = fields[0];
  const auto shown = fields[1];
  const auto tasks = fields[4].substr(0, fields[4].find('%'));
  if (digits(tasks) && digits(fields[3])) {
    job.array_job = fields[3];
    job.id = job.array_job + "_" + std::string(tasks);
  } else if (!tasks.empty() && tasks != "N/A" && digits(fields[3]) &&
             tasks.find_first_not_of("0123456789,-:") == std::string_view::npos) {
    job.array_job = fields[3];
    job.id = job.array_job;
    job.array_tasks = tasks;
  } else if (const auto plus = shown.find('+'); plus != std::string_view::npos &&
                                                digits(shown.substr(0, plus)) &&
                                                digits(shown.substr(plus + 1))) {
    job.het_job = shown.substr(0, plus);
    job.id = shown;
  }
  apply_job_states({std::string(fields[2])}, job);
  job.user = printable(fields[5], 64);
  job.excluded = slurm_hosts(fields[6]);
  job.nodes = slurm_hosts(fields[7]);
  job.start = slurm_epoch(fields[8]);
  job.end = slurm_epoch(fields[9]);
  job.node_count = parse_number<std::uint32_t>(fields[10]).value_or(0);
  job.partitions = printable(fields[11], 256);
  job.required = slurm_hosts(fields[12]);
  const auto reason_at = static_cast<std::size_t>(fields[13].data() - line.data());
  job.reason = printable(line.substr(reason_at), 256);
  return job;
}

/// Cuts the next column of `width` bytes off a line.
std::string_view cut(std::string_view& line, std::size_t width) {
  const auto column = trim(line.substr(0, width));
  line.remove_prefix(std::min(width, line.size()));
  return column;
}

/// One line of job_text_columns.
void read_columns(std::string_view line, std::vector<SlurmJob>& jobs) {
  const auto number = cut(line, 16);
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return job.number == number; });
  if (found == jobs.end()) return;
  auto& job = *found;
  job.restart = parse_number<std::uint32_t>(cut(line, 8)).value_or(0);
  job.batch = cut(line, 4) != "0";  // 2: a batch job that was requeued
  job.requeue = cut(line, 4) == "1";
  cut(line, 16 + 8);  // the heterogeneous job's id and offset, known from the job's own id
  apply_hold(parse_number<std::int64_t>(cut(line, 24)).value_or(1), job);
  if (const auto status = parse_number<std::int64_t>(cut(line, 8)))
    job.exit_code = exit_code_of_status(*status);
  job.eligible = slurm_epoch(cut(line, 24));
  const auto comment = trim(line);
  if (comment != "(null)") job.admin_comment = printable(comment, 512);
}

/// The value of KEY=value in "scontrol -o" text: the first one, as Slurm's own fields stand before
/// free text.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool starts_word = at == 0 || line[at - 1] == ' ';
    if (!starts_word || line.substr(at + key.size(), 1) != "=") continue;
    const auto rest = line.substr(at + key.size() + 1);
    return rest.substr(0, rest.find(' '));
  }
  return {};
}

/// "Reason=fan broken [root@1795988052]", last on the line.
void read_reason(std::string_view line, SchedulerNode& node) {
  constexpr std::string_view key = " Reason=";
  const auto at = line.find(key);
  if (at == std::string_view::npos) return;
  auto reason = trim(line.substr(at + key.size()));
  const auto open = reason.rfind(" [");
  if (open != std::string_view::npos && reason.ends_with(']')) {
    const auto stamp = reason.substr(open + 2, reason.size() - open - 3);
    node.drain_owner = printable(stamp.substr(0, stamp.rfind('@')), 64);
    reason = reason.substr(0, open);
  }
  node.drain_reason = printable(reason, 512);
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> items;
  for (const auto item : split(text, ',')) {
    if (!item.empty() && item != "(null)") items.emplace_back(item);
  }
  return items;
}

}  // namespace

Result<std::vector<SlurmJob>> parse_jobs_text(std::string_view lines, std::string_view columns,
                                              std::size_t* left_out) {
  std::vector<SlurmJob> jobs;
  for (const auto line : split(lines, '\n')) {
    if (auto job = read_line(line)) {
      jobs.push_back(std::move(*job));
    } else if (left_out != nullptr && !trim(line).empty()) {
      ++*left_out;
    }
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  for (const auto line : split(columns, '\n')) read_columns(line, jobs);
  return jobs;
}

Result<std::vector<SlurmNode>> parse_nodes_text(std::string_view text, std::size_t* left_out) {
  std::vector<SlurmNode> nodes;
  for (const auto line : split(text, '\n')) {
    SlurmNode result;
    auto& node = result.node;
    node.name = value_of(line, "NodeName");
    if (!valid_node_name(node.name)) {
      if (left_out != nullptr && !trim(line).empty()) ++*left_out;
      continue;
    }
    apply_node_states(slurm_node_words(value_of(line, "State")), result);
    node.partitions = list_of(value_of(line, "Partitions"));
    node.boot_time = slurm_epoch(value_of(line, "BootTime"));
    result.features = list_of(value_of(line, "ActiveFeatures"));
    read_reason(line, node);
    nodes.push_back(std::move(result));
  }
  if (nodes.empty()) return Error{ErrorCode::corrupt, "no node in Slurm's answer"};
  return nodes;
}

std::map<std::string, std::string> parse_topology(std::string_view text) {
  std::map<std::string, std::string> leaf_of;
  for (const auto line : split(text, '\n')) {
    if (value_of(line, "Level") != "0") continue;
    const auto name = value_of(line, "SwitchName");
    for (auto& node : slurm_hosts(value_of(line, "Nodes")))
      leaf_of.emplace(std::move(node), printable(name, 64));
  }
  return leaf_of;
}

std::vector<SlurmReservation> parse_reservations(std::string_view text) {
  std::vector<SlurmReservation> reservations;
  for (const auto line : split(text, '\n')) {
    SlurmReservation reservation;
    reservation.name = value_of(line, "ReservationName");
    if (reservation.name.empty()) continue;
    reservation.nodes = slurm_hosts(value_of(line, "Nodes"));
    reservation.active = value_of(line, "State") == "ACTIVE";
    const auto flags = list_of(value_of(line, "Flags"));
    reservation.maintenance = std::find(flags.begin(), flags.end(), "MAINT") != flags.end();
    reservations.push_back(std::move(reservation));
  }
  return reservations;
}

}  // namespace faultline
