// What kernels and schedulers warn of where nothing has failed: corrected errors that add up, a
// task that hangs, a row that waits for its repair.
#pragma once

#include <optional>
#include <string_view>

#include "catalog/catalog.h"
#include "diagnose/replay.h"
#include "model/verdict.h"

namespace faultline {

/// The name of the rule, as the catalog explains it.
inline constexpr std::string_view warning_rule = "warning";

/// Beside a job that does not say how it ended, only what blames no node and was not at boot.
enum class WarningsOf { all, settings };

/// The gravest warning of events without a job, as a weak suspicion; nothing if a single corrected
/// error is all there is.
std::optional<Verdict> worst_warning(const Replay& replay, const Catalog& catalog,
                                     WarningsOf which = WarningsOf::all);

}  // namespace faultline
