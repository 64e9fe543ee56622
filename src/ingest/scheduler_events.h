// What a scheduler says of attempts and nodes, as events: the same whether the controller asks it
// or somebody kept what its clients printed.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "model/attempt.h"
#include "model/cluster_view.h"
#include "model/event.h"

namespace faultline {

/// attempt_started or attempt_ended. The scheduler's own start and end times count, on its clock;
/// without one it is `at`, when the controller learnt of it.
Event attempt_event(EventKind kind, const Attempt& attempt, Instant at);

/// node_seen at `at`, on the controller's clock. `was_down`: it had been seen down before, so that
/// other news of it is not another loss.
Event node_event(const SchedulerNode& node, bool was_down, Instant at);

/// The same event as a document tells it: nobody received it, and `raw` says where it stands. Its
/// time, if known, is the scheduler's.
Event as_told(Event event, RawLine raw);

/// A piece of a document as RawLine::text: printable, bounded, each run of blanks and line ends one
/// blank.
std::string one_line(std::string_view text);

}  // namespace faultline
