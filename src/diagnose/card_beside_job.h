// A job that says that a GPU failed, and a report of a GPU that does not answer or counts errors:
// the rules of a failure ask the kernels alone, so each of the two would be told without the other.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "model/verdict.h"

namespace faultline {

/// `verdicts`, the best first, are those of one run, which ran on `nodes` and began at `start`.
/// Where its own failure may be that of a GPU and reports show exactly one card on its only node
/// that explains it, the card comes first, or becomes the subject of what the job says.
void put_card_beside_job(std::vector<Verdict>& verdicts, const std::vector<std::string>& nodes,
                         Instant start, const Catalog& catalog);

}  // namespace faultline
