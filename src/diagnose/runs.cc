#include "diagnose/runs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::int64_t timeout_ms_max = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t timeout_ms_usual =
    std::int64_t{30} * 60 * 1000;  // PyTorch's longest default

const std::string unnamed = Subject::of_unnamed_job().attempt.job;

/// What one of a job's files says of the run that it is from.
struct JobFile {
  std::string path;
  std::string folder;
  std::string job;  // "" if it does not say
  Instant first, last;
  std::set<std::int32_t> ranks;
  bool trace = false;
};

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// The job that a file names: in its name, or in lines of its launcher ("STEP 123.0").
void learn_job(JobFile& file, const Event& event) {
  if (!file.job.empty()) return;
  if (event.attempt && event.attempt->job != unnamed) {
    file.job = event.attempt->job;
  } else if (const auto job = event.field("jobid"); !job.empty()) {
    file.job = job;
  }
}

/// Until when the event says that the run was there. A trace is written when somebody's time-out is
/// over, and the output of its rank may say nothing with a time before that.
Instant reach_of(const Event& event) {
  const bool recorded =
      event.kind == EventKind::operation_pending || event.kind == EventKind::operation_completed;
  if (!recorded) return event.observed_at;
  const auto timeout_ms =
      parse_number<std::int64_t>(event.field("timeout_ms")).value_or(timeout_ms_usual);
  const Duration waits = std::chrono::milliseconds{std::min(timeout_ms, timeout_ms_max)};
  return event.observed_at + std::max(Duration{0}, waits);
}

std::vector<JobFile> files_of(const std::vector<Event>& events) {
  std::map<std::string, std::size_t> index;
  std::vector<JobFile> files;
  for (const Event& event : events) {
    if (!of_job(event)) continue;
    const auto [entry, fresh] = index.try_emplace(event.raw.path, files.size());
    if (fresh) {
      files.emplace_back();
      files.back().path = event.raw.path;
      files.back().folder = folder_of(event.raw.path);
    }
    JobFile& file = files[entry->second];
    learn_job(file, event);
    if (event.subject.kind == SubjectKind::rank) file.ranks.insert(event.subject.rank);
    file.trace = file.trace || event.source == EventSource::collective_trace;
    if (!known(event.observed_at)) continue;
    file.first = known(file.first) ? std::min(file.first, event.observed_at) : event.observed_at;
    file.last = std::max(file.last, reach_of(event));
  }
  return files;
}

/// One rank's output or trace, whatever folder it lies in.
using RankFile = std::tuple<std::string, std::int32_t, bool>;

RankFile rank_file(const JobFile& file) {
  return {file.path.substr(file.folder.size()), *file.ranks.begin(), file.trace};
}

/// Files that are taken to be of one run so far.
struct Group {
  std::vector<const JobFile*> files;
  std::string job;
  Instant first, last;
  std::set<std::string> folders;
  std::map<RankFile, std::string> folder_of_rank;  // the first that has it

  void add(const JobFile& file) {
    files.push_back(&file);
    folders.insert(file.folder);
    if (file.ranks.size() == 1) folder_of_rank.emplace(rank_file(file), file.folder);
    if (job.empty()) job = file.job;
    if (!known(file.first)) return;
    first = known(first) ? std::min(first, file.first) : file.first;
    last = std::max(last, file.last);
  }
};

bool apart_in_time(const Group& group, const JobFile& file) {
  if (!known(group.first) || !known(file.first)) return false;
  return file.first - group.last > run_gap_min || group.first - file.last > run_gap_min;
}

/// The same rank's output in another folder: a copy of the layout, for another run.
bool repeats_a_rank(const Group& group, const JobFile& file) {
  if (file.ranks.size() != 1) return false;
  const auto other = group.folder_of_rank.find(rank_file(file));
  return other != group.folder_of_rank.end() && other->second != file.folder;
}

bool fits(const Group& group, const JobFile& file) {
  if (!group.job.empty() && !file.job.empty()) return group.job == file.job;
  return !apart_in_time(group, file) && !repeats_a_rank(group, file);
}

/// How well a file fits: in a folder that is there already, then close in time.
std::pair<bool, Duration> closeness(const Group& group, const JobFile& file) {
  const bool folder = group.folders.contains(file.folder);
  Duration gap{0};
  if (known(group.first) && known(file.first))
    gap = std::max({Duration{0}, file.first - group.last, group.first - file.last});
  return {folder, -gap};
}

std::vector<Group> groups_of(std::vector<JobFile>& files) {
  // Those that say most come first; those without times last, where a run is known to put them to.
  std::stable_sort(files.begin(), files.end(), [](const JobFile& a, const JobFile& b) {
    const auto key = [](const JobFile& file) {
      return std::tuple(file.job.empty(), !known(file.first), file.first);
    };
    return key(a) < key(b);
  });
  std::vector<Group> groups;
  for (const JobFile& file : files) {
    Group* best = nullptr;
    for (Group& group : groups) {
      if (!fits(group, file)) continue;
      if (best == nullptr || closeness(group, file) > closeness(*best, file)) best = &group;
    }
    if (best == nullptr) best = &groups.emplace_back();
    best->add(file);
  }
  return groups;
}

/// The job's name where its files do not say it and the scheduler tells of one job alone.
std::optional<AttemptId> only_attempt(const std::vector<Event>& events) {
  std::optional<AttemptId> only;
  for (const Event& event : events) {
    if (of_job(event) || !event.attempt || event.attempt->job == unnamed) continue;
    if (only && only->job != event.attempt->job) return std::nullopt;
    if (!only || *only < *event.attempt) only = event.attempt;
  }
  return only;
}

/// The latest restart of a job that the scheduler tells of.
AttemptId attempt_of(const std::string& job, const std::vector<Event>& events) {
  AttemptId attempt{job, 0};
  for (const Event& event : events) {
    if (!of_job(event) && event.attempt && event.attempt->job == job)
      attempt = std::max(attempt, *event.attempt);
  }
  return attempt;
}

void set_attempt(Event& event, const AttemptId& attempt) {
  event.attempt = attempt;
  if (event.subject.attempt.job.empty()) return;
  const bool whole_job = event.subject.kind == SubjectKind::job;
  event.subject.attempt = whole_job ? AttemptId{attempt.job, 0} : attempt;
}

/// The runs that a job's files are of.
std::vector<Run> runs_of(const std::vector<Group>& groups, const std::vector<Event>& events) {
  const std::optional<AttemptId> only = only_attempt(events);
  std::vector<Run> runs;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Run run;
    run.attempt = only.value_or(Subject::of_unnamed_job().attempt);
    if (!groups[i].job.empty()) run.attempt = attempt_of(groups[i].job, events);
    // Runs that nobody names are told apart by their number.
    if (groups[i].job.empty() && groups.size() > 1)
      run.attempt = AttemptId{unnamed + "-" + std::to_string(i + 1), 0};
    for (const JobFile* file : groups[i].files) run.files.push_back(file->path);
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Attempts that did not complete, by their scheduler's word.
std::vector<Run> runs_of_scheduler(const std::vector<Event>& events) {
  std::map<AttemptId, Instant> ended;
  for (const Event& event : events) {
    const bool failed = event.kind == EventKind::attempt_ended && event.attempt &&
                        event.field("state") != to_text(AttemptState::completed);
    if (failed) ended[*event.attempt] = event.observed_at;
  }
  std::vector<std::pair<Instant, AttemptId>> latest;
  for (const auto& [attempt, at] : ended) latest.emplace_back(at, attempt);
  std::sort(latest.begin(), latest.end(), std::greater<>());
  if (latest.size() > scheduler_runs_max) latest.resize(scheduler_runs_max);
  std::vector<Run> runs;
  for (auto& [at, attempt] : latest) runs.push_back({std::move(attempt), {}, {}});
  return runs;
}

}  // namespace

bool of_job(const Event& event) {
  return event.source == EventSource::job_log || event.source == EventSource::launcher ||
         event.source == EventSource::collective_trace;
}

std::vector<Run> split_runs(std::vector<Event> events) {
  std::vector<JobFile> files = files_of(events);
  std::vector<Run> runs = runs_of(groups_of(files), events);
  if (runs.empty()) runs = runs_of_scheduler(events);
  if (runs.empty())
    runs.push_back({only_attempt(events).value_or(Subject::of_unnamed_job().attempt), {}, {}});
  std::map<std::string, std::size_t> run_of_file;
  std::map<AttemptId, std::size_t> run_of_attempt;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    run_of_attempt.emplace(runs[i].attempt, i);
    for (const std::string& file : runs[i].files) run_of_file.emplace(file, i);
  }
  for (Event& event : events) {
    if (of_job(event)) {
      Run& run = runs[run_of_file.at(event.raw.path)];
      set_attempt(event, run.attempt);
      run.events.push_back(std::move(event));
    } else if (event.attempt && event.attempt->job != unnamed) {
      const auto run = run_of_attempt.find(*event.attempt);
      if (run != run_of_attempt.end()) runs[run->second].events.push_back(std::move(event));
    } else {
      for (std::size_t i = 1; i < runs.size(); ++i) runs[i].events.push_back(event);
      runs.front().events.push_back(std::move(event));
    }
  }
  return runs;
}

}  // namespace faultline
