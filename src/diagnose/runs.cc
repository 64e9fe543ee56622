#include "diagnose/runs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "diagnose/rank_file_name.h"

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

std::string name_of(const JobFile& file) {
  return file.path.substr(file.folder.empty() ? 0 : file.folder.size() + 1);
}

/// One rank's output or trace, whatever run it is of: the end of its name, the rank, and which of
/// the two it is.
using RankFile = std::tuple<std::string, std::int32_t, bool>;

/// What tells it from the same of another run.
struct RankPlace {
  std::string folder;
  std::string stem;
};

std::pair<RankFile, RankPlace> rank_file(const JobFile& file) {
  const std::int32_t rank = *file.ranks.begin();
  RankFileName name = rank_file_name(name_of(file), rank);
  return {{std::move(name.tail), rank, file.trace}, {file.folder, std::move(name.stem)}};
}

/// Files that are taken to be of one run so far.
struct Group {
  std::vector<const JobFile*> files;
  std::string job;
  Instant first, last;
  std::set<std::string> folders;
  std::map<RankFile, RankPlace> place_of_rank;  // the first that has it

  void add(const JobFile& file) {
    files.push_back(&file);
    folders.insert(file.folder);
    if (file.ranks.size() == 1) place_of_rank.insert(rank_file(file));
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

/// The same rank's output in another folder, or under another run's name: a copy of the layout, for
/// another run.
bool repeats_a_rank(const Group& group, const JobFile& file) {
  if (file.ranks.size() != 1) return false;
  const auto [key, place] = rank_file(file);
  const auto other = group.place_of_rank.find(key);
  return other != group.place_of_rank.end() &&
         (other->second.folder != place.folder || name_other_runs(other->second.stem, place.stem));
}

bool fits(const Group& group, const JobFile& file) {
  if (!group.job.empty() && !file.job.empty()) return group.job == file.job;
  return !apart_in_time(group, file) && !repeats_a_rank(group, file);
}

/// Bytes of the longest beginning that the two have in common, as far as it ends a part of a path
/// or, of names, anywhere.
std::size_t common_folders(std::string_view a, std::string_view b) {
  const auto same = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const bool whole = (same == a.size() || a[same] == '/') && (same == b.size() || b[same] == '/');
  if (whole) return same;
  const auto slash = a.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

/// How well a file fits: near in the tree of folders, then alike in name, then close in time.
std::tuple<std::size_t, std::size_t, Duration> closeness(const Group& group, const JobFile& file) {
  std::size_t folder = 0, name = 0;
  for (const std::string& there : group.folders)
    folder = std::max(folder, common_folders(there, file.folder));
  for (const auto& [key, place] : group.place_of_rank)
    name = std::max(name, common_beginning(place.stem, name_of(file)));
  Duration gap{0};
  if (known(group.first) && known(file.first))
    gap = std::max({Duration{0}, file.first - group.last, group.first - file.last});
  return {folder, name, -gap};
}

/// Outputs and traces of ranks that are there twice.
std::set<RankFile> copied_in(const std::vector<JobFile>& files) {
  std::set<RankFile> copied;
  Group all;
  for (const JobFile& file : files) {
    if (repeats_a_rank(all, file)) copied.insert(rank_file(file).first);
    all.add(file);
  }
  return copied;
}

/// Those that say most come first: whose job, which rank. Then those that began earlier, so that
/// files which follow each other in time stay together; those without times come last, where a run
/// is known to put them to. Where a layout is there twice, what it shows of the runs comes before
/// all that must be put to one of them, and what lies together comes together.
void put_in_order(std::vector<JobFile>& files) {
  const std::set<RankFile> copied = copied_in(files);
  const auto key = [&](const JobFile& file) {
    const bool one_rank = file.ranks.size() == 1;
    const bool tells_runs_apart = one_rank && copied.contains(rank_file(file).first);
    return std::tuple(file.job.empty(), !one_rank, !tells_runs_apart,
                      copied.empty() ? std::string() : file.path, !known(file.first), file.first);
  };
  std::stable_sort(files.begin(), files.end(),
                   [&](const JobFile& a, const JobFile& b) { return key(a) < key(b); });
}

std::vector<Group> groups_of(std::vector<JobFile>& files) {
  put_in_order(files);
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
  // Runs that nobody names are counted as they followed each other.
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::tuple(!known(a.first), a.first) < std::tuple(!known(b.first), b.first);
  });
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

Runs split_runs(std::vector<Event> events) {
  std::vector<JobFile> files = files_of(events);
  Runs all{runs_of(groups_of(files), events), {}};
  std::vector<Run>& runs = all.runs;
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
      all.of_nodes.push_back(std::move(event));
    }
  }
  return all;
}

std::vector<Event> events_of(Run& run, const Runs& all) {
  std::vector<Event> events = std::exchange(run.events, {});
  Instant first, last;
  for (const Event& event : events) {
    if (!known(event.observed_at)) continue;
    first = known(first) ? std::min(first, event.observed_at) : event.observed_at;
    last = std::max(last, reach_of(event));
  }
  const bool around = known(first) && all.runs.size() > runs_with_history_max;
  const auto concerns = [&](const Event& event) {
    if (!around || !known(event.observed_at)) return true;
    return event.observed_at >= first - history_before && event.observed_at <= last + history_after;
  };
  std::copy_if(all.of_nodes.begin(), all.of_nodes.end(), std::back_inserter(events), concerns);
  return events;
}

}  // namespace faultline
