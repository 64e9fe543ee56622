// What a dry run showed of a decision's act: the commands that would be run, for who is asked about
// it or only watches. It lies beside the decision, and goes with it.
#pragma once

#include <optional>

#include "store/store.h"

namespace faultline {

/// True of what is not done for want of a person's word, or in mode observe.
bool wants_dry_run(const Decision& decision);

Status put_dry_run(Store& store, const DecisionId& decision, const Outcome& outcome);
/// Nothing unless the decision still wants one: what was decided otherwise since is not shown.
Result<std::optional<Outcome>> dry_run_of(Store& store, const Decision& decision);

}  // namespace faultline
