// A job that got no GPU, or too little memory of one, and a report that shows who has it: both
// lines lie on the table, and only together they say what to do.
#pragma once

#include <vector>

#include "diagnose/run_place.h"
#include "model/verdict.h"

namespace faultline {

/// `verdicts`, the best first, are those of the run. Where its own failure is that a card was busy
/// or its memory not enough, and a report of its node shows the reason on one card, the first says
/// which process, or which compute mode. What the job's own processes have is no reason.
void name_holder_of_card(std::vector<Verdict>& verdicts, const RunPlace& run);

}  // namespace faultline
