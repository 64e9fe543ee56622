// Ranks that wait for each other in one collective and called different things there.
#pragma once

#include <optional>

#include "detect/failure_case.h"

namespace faultline {

/// Ranks that met in one collective of their group and meant different ones. The many are right: at
/// least three to each who is not.
std::optional<Explanation> different_calls(const FailureCase& failure);

}  // namespace faultline
