// How far the clocks of hosts are apart, by what happened to all of them at once: a communicator
// that was made, a collective that all were in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/event.h"

namespace faultline {

/// Less is within what ranks differ by anyway when they come to a collective.
inline constexpr Duration clock_skew_min = std::chrono::seconds{2};
/// More is another day or another run, not a clock.
inline constexpr Duration clock_skew_max = std::chrono::hours{26};

/// What to add to the stamps of each host to get those of most others; hosts that need nothing are
/// not in it. Of two hosts the later clock counts as right: nobody can tell, and only their
/// difference matters.
std::map<std::string, Duration> estimate_clock_skew(const std::vector<Event>& events);

/// Moves every event with a host in `skew` and a time of its own; field `clock_skew_ms` says how
/// far.
void correct_clocks(std::vector<Event>& events, const std::map<std::string, Duration>& skew);

}  // namespace faultline
