// How a job ended, by a line of its scheduler's log. Answers of sacct or kubectl tell it as a
// record; a log tells it in words, as what becomes of the job at its limit or for a more urgent
// one.
#pragma once

#include "catalog/catalog.h"
#include "diagnose/gather.h"

namespace faultline {

/// Adds an attempt_ended for each job whose end such words tell and no record does. Nothing where
/// anything speaks of a broken node: many jobs reach their limits around it.
void add_told_ends(Gathered& gathered, const Catalog& catalog);

}  // namespace faultline
