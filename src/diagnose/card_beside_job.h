// A job that says that a GPU failed, or had too little memory, and a report of a GPU that does not
// answer or counts errors: the rules of a failure ask the kernels alone, so each of the two would
// be told without the other.
#pragma once

#include <vector>

#include "catalog/catalog.h"
#include "diagnose/run_place.h"
#include "model/verdict.h"

namespace faultline {

/// `verdicts`, the best first, are those of the run. Where its own failure may be that of a GPU and
/// reports show exactly one card on its only node that explains it, the card comes first, or
/// becomes the subject of what the job says. Memory that is not enough is a card's failure only if
/// the rank ran on that very card.
void put_card_beside_job(std::vector<Verdict>& verdicts, const RunPlace& run,
                         const Catalog& catalog);

}  // namespace faultline
