// A black box as events, in the form in which flight-recorder dumps give theirs
// (flight_recorder_events.h): of each lane its newest completed operation, and the first that are
// not completed.
#pragma once

#include <string>
#include <vector>

#include "ingest/ring_snapshot.h"
#include "model/event.h"

namespace faultline {

/// `path` is where the black box lies, `until` the moment to which waits count.
///
/// trace_read: format ("black_box"), comm_lib, world, entries, truncated, and written_after_ms,
/// from
///   the newest operation until `until`.
/// group_seen: group (the communicator's number, in hexadecimal), desc (its name), ranks (this one;
///   of the communicator of all ranks, all).
/// operation_completed, operation_pending: group, lane, seq (from 1), record (the order of their
///   start, in nanoseconds of the machine's clock), op, state ("scheduled": no channel has begun;
///   "started"; "completed"), in_sizes (elements), in_dtypes, last, pending. Peers in lanes are
///   those of the communicator, "send>#1", but in that of all ranks.
/// An operation without channels that a later one of its communicator has passed is over: a library
/// that does not tell all ends leaves some in flight.
/// Nothing for a process whose rank is not known.
std::vector<Event> ring_events(const RingSnapshot& ring, const std::string& path,
                               const RingTime& until);

}  // namespace faultline
