#include "adapters/slurm/slurm_scheduler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "adapters/slurm/slurm_queries.h"
#include "adapters/slurm/slurm_states.h"
#include "adapters/slurm/slurm_tie.h"
#include "base/text.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

Attempt attempt_of(const SlurmJob& job) {
  Attempt attempt;
  attempt.id = {job.id, job.restart};
  attempt.name = job.name;
  attempt.user = job.user;
  attempt.array_job = job.array_job;
  attempt.het_job = job.het_job;
  attempt.state = job.state;
  attempt.excluded_nodes = job.excluded;
  attempt.restartable = job.batch && job.requeue;
  if (job.state == AttemptState::pending)
    return attempt;  // its nodes, if any, are those of the attempt before
  attempt.started_at = job.start;
  attempt.nodes = job.nodes;
  if (ended(job.state)) {
    attempt.ended_at = job.end;
    attempt.exit_code = job.exit_code;
  }
  return attempt;
}

/// "slurm 22.05.8" -> {22, 5}.
std::pair<int, int> version_numbers(std::string_view text) {
  const auto space = text.find(' ');
  const auto parts = split(space == std::string_view::npos ? text : text.substr(space + 1), '.');
  if (parts.size() < 2) return {0, 0};
  return {parse_number<int>(parts[0]).value_or(0), parse_number<int>(parts[1]).value_or(0)};
}

}  // namespace

SlurmScheduler::SlurmScheduler(const SlurmOptions& options, const Clock& clock, Counters& counters)
    : SlurmScheduler(options, clock, counters, process_runner(options)) {}

SlurmScheduler::SlurmScheduler(SlurmOptions options, const Clock& clock, Counters& counters,
                               CommandRunner runner)
    : command_(std::move(options), std::move(runner)),
      clock_(clock),
      counters_(counters),
      accounting_(command_, clock, counters) {}

Result<ClusterView> SlurmScheduler::view() {
  FAULTLINE_TRY(find_version());
  ClusterView view;
  view.taken_at = clock_.now();
  view.scheduler = version_;
  auto nodes = read_nodes();
  if (!nodes) return nodes.error();
  const auto jobs = read_jobs();
  if (!jobs) return jobs.error();
  read_topology();
  add_nodes(std::move(nodes).value(), view);
  add_attempts(*jobs, view);
  return view;
}

Result<std::string> SlurmScheduler::daemon_id() {
  const auto config = command_.run({"scontrol", "show", "config"});
  if (!config) return config.error();
  for (const auto line : split(*config, '\n')) {
    // "BOOT_TIME               = 1795987075", between other settings.
    if (!line.starts_with("BOOT_TIME ")) continue;
    const auto started = trim(line.substr(line.find('=') + 1));
    if (known(slurm_epoch(started))) return std::string(started);
  }
  return Error{ErrorCode::corrupt, "`scontrol show config` says no BOOT_TIME"};
}

Status SlurmScheduler::find_version() {
  if (!version_.empty()) return ok_status();
  const auto text = command_.run({"sinfo", "--version"});
  if (!text) return text.error();
  // Debian says "slurm-wlm 22.05.8".
  const auto words = trim(*text);
  version_ = "slurm " + printable(words.substr(words.rfind(' ') + 1), 64);
  const auto numbers = version_numbers(version_);
  new_json_ = numbers >= std::pair{23, 2};
  return ok_status();
}

Result<std::vector<SlurmNode>> SlurmScheduler::read_nodes() {
  const std::vector<std::string> argv =
      new_json_ ? std::vector<std::string>{"scontrol", "--json", "show", "nodes"}
                : std::vector<std::string>{"sinfo", "--json"};
  const auto as_text = [this](std::size_t* left_out) -> Result<std::vector<SlurmNode>> {
    const auto text = command_.run({"scontrol", "-o", "show", "node"});
    return text ? parse_nodes_text(*text, left_out) : Result<std::vector<SlurmNode>>(text.error());
  };
  return read<SlurmNode>(argv, parse_nodes_json, as_text);
}

Result<std::vector<SlurmJob>> SlurmScheduler::read_jobs() {
  const std::vector<std::string> argv =
      new_json_ ? std::vector<std::string>{"scontrol", "--json", "show", "jobs"}
                : std::vector<std::string>{"squeue", "--json"};
  const auto as_text = [this](std::size_t* left_out) {
    return read_jobs_as_text(command_, {}, left_out);
  };
  return read<SlurmJob>(argv, parse_jobs_json, as_text);
}

/// JSON if it works, else text. With a slurmctld that is away the JSON clients of 22.05 say no more
/// than "Unspecified error" and end with 0, so that the text client is asked as well: it says what
/// is wrong, or that JSON alone is.
template <class Value, class Parse, class AsText>
Result<std::vector<Value>> SlurmScheduler::read(const std::vector<std::string>& argv, Parse parse,
                                                AsText as_text) {
  std::size_t left_out = 0;
  if (json_failures_ < json_failures_max) {
    const auto text = command_.run(argv);
    auto values = text ? parse(*text, &left_out) : Result<std::vector<Value>>(text.error());
    if (values) {
      json_failures_ = 0;
      counters_.add("slurm_records_left_out_total", left_out);
      return values;
    }
    const auto code = values.error().code;
    if (code == ErrorCode::unavailable || code == ErrorCode::deadline_exceeded) return values;
  }
  auto values = as_text(&left_out);
  counters_.add("slurm_records_left_out_total", left_out);
  if (values && json_failures_ < json_failures_max) {
    ++json_failures_;
    counters_.add("slurm_json_refused_total");
  }
  return values;
}

void SlurmScheduler::read_topology() {
  const Instant now = clock_.now();
  if (known(topology_read_at_) && now - topology_read_at_ < topology_age_max) return;
  // A site without a topology plugin answers with an error; its switches are then simply unknown.
  if (const auto text = command_.run({"scontrol", "-o", "show", "topology"}))
    leaf_switch_ = parse_topology(*text);
  topology_read_at_ = now;
}

void SlurmScheduler::add_nodes(std::vector<SlurmNode>&& nodes, ClusterView& view) {
  std::set<std::string, std::less<>> maintenance;
  std::set<std::string, std::less<>> spare_reservation;
  const auto text = command_.run({"scontrol", "-o", "show", "reservation"});
  for (const auto& reservation :
       text ? parse_reservations(*text) : std::vector<SlurmReservation>{}) {
    // The node's own flag follows a new reservation only seconds later.
    if (reservation.active && reservation.maintenance) {
      maintenance.insert(reservation.nodes.begin(), reservation.nodes.end());
    }
    if (reservation.name == command_.options().spare_reservation) {
      spare_reservation.insert(reservation.nodes.begin(), reservation.nodes.end());
    }
  }
  const auto& options = command_.options();
  for (auto& [node, features, reserved] : nodes) {
    if (maintenance.contains(node.name)) {
      node.maintenance = true;
      node.available = node.idle = false;
    }
    const bool configured =
        spare_reservation.contains(node.name) ||
        (!options.spare_feature.empty() &&
         std::find(features.begin(), features.end(), options.spare_feature) != features.end());
    const bool any_idle =
        options.spare_reservation.empty() && options.spare_feature.empty() && !reserved;
    node.spare = node.idle && (configured || any_idle);
    if (const auto found = leaf_switch_.find(node.name); found != leaf_switch_.end())
      node.network_switch = found->second;
    view.nodes.insert_or_assign(node.name, std::move(node));
  }
}

void SlurmScheduler::add_attempts(const std::vector<SlurmJob>& jobs, ClusterView& view) {
  std::map<std::string, Attempt, std::less<>> current;
  for (const auto& job : jobs) {
    if (!valid_job_id(job.id)) {
      counters_.add("slurm_bad_job_ids_total");
      continue;
    }
    if (job.state == AttemptState::pending && is_tied(job)) view.half_done.push_back(act_of(job));
    Attempt attempt = attempt_of(job);
    const auto before = current_.find(attempt.id.job);
    if (before != current_.end() && before->second.id.restart < attempt.id.restart) {
      // While the nodes of the attempt before still complete, 22.05 shows them under the new one.
      if (attempt.state == AttemptState::completing) {
        attempt.state = AttemptState::pending;
        attempt.nodes.clear();
        attempt.started_at = {};
      }
      remember_ended(before->second, view.taken_at);
    }
    current.insert_or_assign(attempt.id.job, attempt);
    view.attempts.push_back(std::move(attempt));
  }
  add_forgotten(current);
  current_ = std::move(current);
  while (!earlier_.empty() &&
         (earlier_.size() > remembered_attempts_max ||
          view.taken_at - earlier_.front().ended_at > remembered_attempts_age_max)) {
    earlier_.pop_front();
  }
  view.attempts.insert(view.attempts.end(), earlier_.begin(), earlier_.end());
}

/// What ran when last seen and is in no list any more ended in between. Where nobody can say how,
/// it is left out, and its end stays unknown.
void SlurmScheduler::add_forgotten(const std::map<std::string, Attempt, std::less<>>& listed) {
  std::vector<Attempt> forgotten;
  for (const auto& [job, attempt] : current_) {
    const bool ran = attempt.state != AttemptState::pending && !ended(attempt.state);
    if (ran && !listed.contains(job)) forgotten.push_back(attempt);
  }
  for (auto& attempt : accounting_.ends_of(forgotten)) earlier_.push_back(std::move(attempt));
}

void SlurmScheduler::remember_ended(Attempt attempt, Instant now) {
  if (attempt.state == AttemptState::pending) return;  // it never ran
  if (!ended(attempt.state)) {
    attempt.state = AttemptState::requeued;
    attempt.ended_at = now;
  } else if (!known(attempt.ended_at)) {
    attempt.ended_at = now;
  }
  earlier_.push_back(std::move(attempt));
}

}  // namespace faultline
