// Whose words are those of a file that names no machine? Where all that was read speaks of one
// machine alone, that one's; and a folder's name is a machine's only if something else says so.
#pragma once

#include "diagnose/gather.h"

namespace faultline {

/// Before the events are split into runs: what they say of a machine is what rules go by.
void settle_places(Gathered& gathered);

}  // namespace faultline
