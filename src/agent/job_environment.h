// The job that a process's environment names, in the spelling that all of faultline uses: "123",
// "123_4" for an array task, "123+1" for a part of a heterogeneous job. One place, because the
// launcher and /proc must agree.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/subject.h"

namespace faultline {

/// Looks up one environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

struct NamedAttempt {
  AttemptId attempt;  // job is "" if the environment names none
  std::string from;   // "slurm", "local", "torchrun" or "openmpi"
};

NamedAttempt attempt_of_environment(const Environment& environment);

/// A number that is not negative; nullopt if absent or malformed.
std::optional<std::int32_t> number_of(const Environment& environment, std::string_view name);

}  // namespace faultline
