// Which job wrote a log, from its name: all that a log found by a site's own pattern tells.
#pragma once

#include <optional>
#include <string_view>

#include "model/subject.h"

namespace faultline {

/// Understands `{job}-{node}-{rank}.log`, as `faultline run` names its logs, and Slurm's
/// `slurm-{job}.out`. nullopt for every other name. The restart is not in a name; it is 0.
std::optional<AttemptId> attempt_of_log_name(std::string_view path, std::string_view node);

}  // namespace faultline
