#include "diagnose/diagnose.h"

#include <algorithm>

#include "diagnose/replay.h"
#include "diagnose/runs.h"

namespace faultline {
namespace {

/// When the latest of the files was written.
Instant written_last(const Gathered& gathered, Instant now) {
  Instant last;
  for (const ReadFile& read : gathered.files) {
    if (known(read.file.modified) && read.file.modified <= now)
      last = std::max(last, read.file.modified);
  }
  return known(last) ? last : now;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Catalog& catalog, Gathered gathered, Instant now) {
  const Instant fallback = written_last(gathered, now);
  std::vector<Diagnosis> diagnoses;
  for (Run& run : split_runs(std::move(gathered.events))) {
    const Replay replay = replay_run(catalog, run.attempt, std::move(run.events), fallback);
    diagnoses.push_back(conclude(catalog, replay, gathered.lines));
  }
  return diagnoses;
}

}  // namespace faultline
