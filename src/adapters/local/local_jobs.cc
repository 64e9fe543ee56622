#include "adapters/local/local_jobs.h"

#include <signal.h>

#include "adapters/local/job_processes.h"
#include "adapters/local/local_request.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr Duration force_after =
    std::chrono::seconds{5};  // beyond the grace that the keeper itself waits

}  // namespace

LocalJobs::LocalJobs(const StateFolder& folder, std::string program, Duration grace,
                     const Clock& clock, Counters& counters)
    : folder_(folder),
      program_(std::move(program)),
      grace_(grace),
      clock_(clock),
      counters_(counters) {}

std::filesystem::path LocalJobs::file(const LocalTask& task, std::string_view suffix) const {
  return folder_.attempt_file(task.job, task.latest().restart, suffix);
}

std::optional<RunFile> LocalJobs::run_file(const LocalTask& task) const {
  const auto text = read_own_file(file(task, "run"), attempt_file_bytes_max);
  if (!text) return std::nullopt;
  const auto run = parse_run_file(*text);
  return run ? std::optional(*run) : std::nullopt;
}

std::optional<LocalEnd> LocalJobs::exit_file(const LocalTask& task) const {
  const auto text = read_own_file(file(task, "exit"), attempt_file_bytes_max);
  if (!text) return std::nullopt;
  const auto end = parse_exit_file(*text);
  if (end) return *end;
  counters_.add("local_bad_exit_files_total");
  return LocalEnd{std::nullopt, clock_.now(),
                  "its exit file is damaged: " + printable(end.error().message, 128)};
}

Result<LaunchFile> LocalJobs::launch_of(const LocalTask& task) const {
  const auto text = read_own_file(folder_.submit_file(task.base_job()), request_bytes_max);
  if (!text) return text.error();
  const auto request = parse_request(*text);
  if (!request) return request.error();
  LaunchFile launch;
  launch.argv = request->argv;
  launch.directory = request->directory;
  launch.grace = grace_;
  launch.environment = request->environment;
  // Last, so that no job of a job keeps the outer one's name.
  launch.environment.push_back("FAULTLINE_JOB=" + task.job);
  launch.environment.push_back("FAULTLINE_RESTART=" + std::to_string(task.latest().restart));
  launch.environment.push_back("FAULTLINE_NODES=" + join(task.latest().nodes, ","));
  if (!task.array_job.empty()) {
    launch.environment.push_back("FAULTLINE_ARRAY_TASK=" + std::to_string(task.array_task));
  }
  return launch;
}

Status LocalJobs::start(LocalTask& task) {
  const auto launch = launch_of(task);
  if (!launch) return launch.error();
  FAULTLINE_TRY(write_durably(file(task, "launch"), to_file(*launch)));
  const auto keeper = start_process_group({program_, "local-keeper", folder_.root().string(),
                                           task.job, std::to_string(task.latest().restart)},
                                          {}, file(task, "out"));
  if (!keeper) return keeper.error().with_context("the keeper of job " + task.job);
  task.latest().keeper = *keeper;
  counters_.add("local_attempts_started_total");
  return ok_status();
}

std::optional<LocalEnd> LocalJobs::look(LocalTask& task) {
  auto& attempt = task.latest();
  if (auto end = exit_file(task)) {
    if (attempt.keeper) leaving_.push_back(*attempt.keeper);
    return end;
  }
  const auto run = run_file(task);
  // Whoever claimed the attempt is its keeper, whatever a crashed controller last knew.
  if (run && attempt.keeper != run->keeper) {
    if (attempt.keeper) leaving_.push_back(*attempt.keeper);
    attempt.keeper = run->keeper;
    counters_.add("local_attempts_adopted_total");
  }
  if (!attempt.keeper || group_alive(*attempt.keeper)) return std::nullopt;
  // It may have ended between the two looks.
  if (auto end = exit_file(task)) return end;
  if (const auto late = run_file(task); late && late->keeper != *attempt.keeper)
    return std::nullopt;
  if (run && run->command) signal_session(*run->command, SIGKILL);
  counters_.add("local_exit_codes_lost_total");
  const bool other_boot = identify_process(attempt.keeper->pid).boot_id != attempt.keeper->boot_id;
  return LocalEnd{std::nullopt, clock_.now(),
                  attempt.keeper->pid == 0 ? "stopped before it began"
                  : other_boot             ? "the machine was restarted; the exit code is lost"
                  : run                    ? "its keeper was killed; the exit code is lost"
                        : "its keeper ended before the job began; see its output"};
}

void LocalJobs::stop(LocalTask& task) {
  auto& attempt = task.latest();
  if (!known(attempt.stop_asked_at)) {
    attempt.stop_asked_at = clock_.now();
    attempt.state = AttemptState::completing;
  }
  if (!attempt.keeper) {
    // A keeper whose start was not written down may still come: it must find the place taken.
    const RunFile nobody{{0, 0, identify_process(1).boot_id}, std::nullopt};
    if (create_once(file(task, "run"), to_file(nobody))) attempt.keeper = nobody.keeper;
    return;
  }
  if (clock_.now() - attempt.stop_asked_at < grace_ + force_after) {
    signal_group(*attempt.keeper, SIGTERM);
    return;
  }
  counters_.add("local_stops_forced_total");
  if (const auto run = run_file(task); run && run->command) signal_session(*run->command, SIGKILL);
  signal_group(*attempt.keeper, SIGKILL);
}

void LocalJobs::forget(const LocalTask& task) {
  std::error_code ignored;
  for (const auto& attempt : task.attempts) {
    for (const auto* suffix : {"launch", "run", "exit"}) {
      std::filesystem::remove(folder_.attempt_file(task.job, attempt.restart, suffix), ignored);
    }
  }
}

void LocalJobs::clear(const LocalTask& task) {
  std::error_code ignored;
  for (const auto* suffix : {"run", "exit"}) std::filesystem::remove(file(task, suffix), ignored);
}

void LocalJobs::reap() {
  std::erase_if(leaving_, [](const ProcessId& keeper) { return !group_alive(keeper); });
}

}  // namespace faultline
