// Events of one run, in the order in which they happened, through the detectors: as the controller
// would have lived through them. The clock is that of the events.
#pragma once

#include <cstddef>
#include <vector>

#include "catalog/catalog.h"
#include "model/attempt.h"
#include "model/event.h"
#include "model/verdict.h"

namespace faultline {

/// Of one run, many times the largest; names beyond are not kept.
inline constexpr std::size_t run_nodes_max = 65536;

struct Replay {
  AttemptId attempt;
  std::vector<Event> events;      // with times where they could be placed, ordered
  std::vector<Verdict> verdicts;  // that stand at the end
  /// The run met something that ends runs, by its own words, its traces or its scheduler.
  bool failed = false;
  Instant ended_at;
};

/// `fallback` is when things happened of which nothing says when (the files' own time). Events of a
/// job that its scheduler does not tell of get an attempt around them: it starts with the first and
/// fails with the last of its lines, if it fails.
Replay replay_run(const Catalog& catalog, const AttemptId& attempt, std::vector<Event> events,
                  Instant fallback);

}  // namespace faultline
