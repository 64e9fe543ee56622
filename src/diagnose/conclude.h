// Verdicts of a run -> the diagnosis that people read: which of them is the first cause, what it
// rests on, what followed, and what to do.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/advice.h"
#include "diagnose/diagnosis.h"
#include "diagnose/replay.h"

namespace faultline {

/// Line numbers of events in their files; those of sources without lines are not in it.
using LineNumbers = std::map<EventId, std::uint64_t>;

/// `manager` is whose commands are given.
Diagnosis conclude(const Catalog& catalog, const Replay& replay, const LineNumbers& lines,
                   NodeManager manager);

}  // namespace faultline
