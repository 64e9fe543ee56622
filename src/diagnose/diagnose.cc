#include "diagnose/diagnose.h"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "base/text.h"
#include "diagnose/last_steps.h"
#include "diagnose/places.h"
#include "diagnose/printed_dates.h"
#include "diagnose/replay.h"
#include "diagnose/runs.h"
#include "diagnose/shared_volumes.h"
#include "diagnose/told_ends.h"
#include "diagnose/unseen_boots.h"

namespace faultline {
namespace {

constexpr std::size_t missing_max = 8;
constexpr std::size_t files_named_max = 4;

/// When the latest of the files was written.
Instant written_last(const Gathered& gathered, Instant now) {
  Instant last;
  for (const ReadFile& read : gathered.files) {
    if (known(read.file.modified) && read.file.modified <= now)
      last = std::max(last, read.file.modified);
  }
  return known(last) ? last : now;
}

std::string common_folder(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  std::string_view common = files.front();
  for (const std::string& file : files) {
    std::size_t same = 0;
    while (same < common.size() && same < file.size() && common[same] == file[same]) ++same;
    common = common.substr(0, same);
  }
  const auto slash = common.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(common.substr(0, slash));
}

/// Kubernetes where its answers are among the files and none of Slurm's is.
NodeManager manager_of(const std::vector<ReadFile>& files) {
  const auto any = [&](std::initializer_list<ContentKind> kinds) {
    return std::any_of(files.begin(), files.end(), [&](const ReadFile& file) {
      return std::find(kinds.begin(), kinds.end(), file.kind) != kinds.end();
    });
  };
  const bool kubernetes = any(
      {ContentKind::kubernetes_json, ContentKind::kubernetes_yaml, ContentKind::kubernetes_text});
  const bool slurm =
      any({ContentKind::scheduler_log, ContentKind::sacct_parsable, ContentKind::sacct_json,
           ContentKind::slurm_nodes_json, ContentKind::scontrol_show, ContentKind::sinfo_reasons});
  return kubernetes && !slurm ? NodeManager::kubernetes : NodeManager::slurm;
}

bool is_dump(const Event& event) {
  return event.kind == EventKind::trace_read && event.field("format") == "flight_recorder";
}

/// Dumps that claim the rank of another one of the same run: one of them is named wrongly, and
/// whatever its rank did is told of none.
std::vector<InputWarning> rivals_for_a_rank(const std::vector<Event>& events) {
  std::map<std::int32_t, const Event*> first;
  std::vector<InputWarning> warnings;
  for (const Event& event : events) {
    if (!is_dump(event) || event.subject.kind != SubjectKind::rank) continue;
    const auto [other, fresh] = first.emplace(event.subject.rank, &event);
    if (fresh || other->second->raw.path == event.raw.path) continue;
    warnings.push_back({event.raw.path,
                        "claims rank " + std::to_string(event.subject.rank) + ", as " +
                            other->second->raw.path + " does",
                        "whose rank it really is"});
  }
  return warnings;
}

/// Ranks of one run that write dumps of several versions run several versions of PyTorch, or a file
/// is of another run. They are compared by what all have.
std::vector<InputWarning> several_versions(const std::vector<Event>& events) {
  std::map<std::string, std::vector<std::string>> files_by_version;
  for (const Event& event : events) {
    if (is_dump(event) && !event.field("version").empty())
      files_by_version[std::string(event.field("version"))].push_back(event.raw.path);
  }
  if (files_by_version.size() < 2) return {};
  const auto most = std::max_element(
      files_by_version.begin(), files_by_version.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<InputWarning> warnings;
  for (const auto& [version, files] : files_by_version) {
    if (version == most->first) continue;
    std::vector<std::string> named(
        files.begin() + 1,
        files.begin() + static_cast<std::ptrdiff_t>(std::min(files.size(), files_named_max)));
    const std::size_t more = files.size() - 1 - named.size();
    if (more > 0) named.push_back(std::to_string(more) + " more");
    warnings.push_back({files.front(),
                        (named.empty() ? "" : "(and " + join(named, ", ") + ") ") +
                            "is a dump of flight recorder version " + version +
                            ", others of the run (" + most->second.front() + ") are of " +
                            most->first,
                        "what only one of the versions tells", false});
  }
  return warnings;
}

/// Where something was not read, "nothing wrong" is more than anybody knows.
void doubt(Diagnosis& diagnosis, const std::vector<InputWarning>& warnings) {
  if (diagnosis.status == DiagnosisStatus::attributed) return;
  for (const InputWarning& warning : warnings) {
    if (!warning.may_matter) continue;
    if (diagnosis.status == DiagnosisStatus::nothing_wrong)
      diagnosis.explanation =
          "Nothing in what could be read says that anything broke, but not all of it could be "
          "read.";
    diagnosis.status = DiagnosisStatus::undecided;
    if (diagnosis.missing.size() >= missing_max) return;
    diagnosis.missing.push_back(warning.file + " " + warning.what +
                                "; not read: " + warning.left_out);
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const Catalog& catalog, Gathered gathered, Instant now) {
  const Instant fallback = written_last(gathered, now);
  const NodeManager manager = manager_of(gathered.files);
  settle_years(gathered, now);
  settle_places(gathered);
  settle_boots(gathered);
  settle_shared_volumes(gathered, catalog);
  add_told_ends(gathered, catalog);
  drop_idle_steps(gathered.events, catalog);
  std::vector<Diagnosis> diagnoses;
  Runs all = split_runs(std::move(gathered.events));
  for (Run& run : all.runs) {
    const std::vector<InputWarning> rivals = rivals_for_a_rank(run.events);
    const std::vector<InputWarning> versions = several_versions(run.events);
    const Replay replay = replay_run(catalog, run.attempt, events_of(run, all), fallback);
    Diagnosis diagnosis = conclude(catalog, replay, gathered.lines, manager);
    doubt(diagnosis, gathered.warnings);
    doubt(diagnosis, rivals);
    diagnosis.warnings = rivals;
    diagnosis.warnings.insert(diagnosis.warnings.end(), versions.begin(), versions.end());
    diagnosis.files = run.files.size();
    diagnosis.folder = common_folder(run.files);
    diagnoses.push_back(std::move(diagnosis));
  }
  return diagnoses;
}

}  // namespace faultline
