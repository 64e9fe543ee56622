// What was gathered -> one diagnosis for each run in it.
#pragma once

#include <vector>

#include "catalog/catalog.h"
#include "diagnose/diagnosis.h"
#include "diagnose/gather.h"

namespace faultline {

/// Never empty: a folder without any run gives one diagnosis in which nothing is wrong, or one
/// about its nodes. `now` is when it is asked, for what has no time at all.
std::vector<Diagnosis> diagnose(const Catalog& catalog, Gathered gathered, Instant now);

}  // namespace faultline
