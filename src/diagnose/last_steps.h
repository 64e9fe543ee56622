// When a job was at work last. A log tells it at its end; it says something of a failure only where
// an order from outside ended the job, and a log of nothing but steps is none of a failed run.
#pragma once

#include <vector>

#include "catalog/catalog.h"
#include "model/event.h"

namespace faultline {

/// Removes what tells of last steps where no job was ended by its scheduler or by a person.
void drop_idle_steps(std::vector<Event>& events, const Catalog& catalog);

}  // namespace faultline
