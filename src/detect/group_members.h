// Who is missing in process groups, by the lines of those who are there. A line names its group and
// its rank's place in it ("[PG ID 3 PG GUID 17(dp) Rank 2]"), and its tag the rank in the whole
// job: ranks of a group are evenly spaced, and groups of one kind are equally large, so a gap has a
// name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "detect/failure_case.h"

namespace faultline {

/// By the group's name; of groups in which nobody is seen to be missing nothing.
std::map<std::string, std::set<std::int32_t>> missing_members(const FailureCase& failure);

}  // namespace faultline
