// What the rules about collectives read out of a job's lines, and how they suspect a rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "detect/failure_case.h"

namespace faultline {

/// More than this is no longer a suspicion of anybody.
inline constexpr std::size_t named_suspects_max = 4;

/// -1 if the field holds no number.
std::int64_t number_in(const JobLine& line, std::string_view field);

/// The process group of a line: captured, or in the "[PG ID 12 PG GUID 99(NAME) Rank 4]" before its
/// words. Counters of different groups cannot be compared.
std::string group_of(const JobLine& line);

/// `rank` on its node, with what would make it surer; the rule adds why.
Explanation suspect_rank(std::int32_t rank, std::string_view cause, const FailureCase& failure);

}  // namespace faultline
