// A flight-recorder dump as events. They are bounded by groups and peers, not by how many
// operations the ring holds: of each lane its last completed operation, and the first that are not
// completed.
#pragma once

#include <cstddef>
#include <vector>

#include "base/counters.h"
#include "ingest/flight_recorder.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

inline constexpr std::size_t lane_pending_max = 4;
inline constexpr std::size_t recorder_lanes_max = 2048;  // a rank with 1000 peers, both ways

/// A lane is one group's collectives, or its transfers in one direction with one peer: operations
/// that are carried out in the order in which they were handed in.
///
/// All events: source collective_trace, subject the rank, clock node_wall, raw.offset the byte in
/// the file where the group or operation stands, raw.text a short form of it. Of `origin` the path,
/// attempt, node and rank count; the rank as a hint (flight_recorder_rank.h), so a caller gives
/// what the file's name says. A dump of which nobody knows the rank gives its trace_read alone,
/// about the attempt. The events that have no time of their own have that of the newest operation.
///
/// trace_read: format ("flight_recorder"), version, comm_lib, entries, world (if the default group
///   is known), rank_by ("contents" or "name"), rank_conflict ("1": the file's name says another
///   rank, or one that is in none of the groups), truncated ("1": the beginning is lost),
///   written_after_ms (from the newest operation until the file was last written, if the origin
///   knows it), unretired (operations that are completed and that the watchdog, which looks several
///   times a second, has not put away yet).
/// group_seen: group (its name, with the ranks behind it where PyTorch's own name is a number,
///   which other groups may have too), desc, ranks (rank_ranges.h; several events if one is too
///   short).
/// operation_completed, operation_pending: group, lane ("collective", "send>5", "recv<5" with the
///   peer's global rank, "send>#1" with its rank in the group where nobody says who is in it),
///   seq (collective_seq_id; of a transfer its number in its lane, counted from 1, left out where
///   the beginning is lost), record, batch (of a transfer that was handed in together with others:
///   the record of the first of them), op ("all_reduce", "send"), state, in_sizes, out_sizes,
///   in_dtypes, out_dtypes, timeout_ms, last (seq of the newest on this lane), pending (how many
///   are), frame (the innermost line that is the program's own), stack (one frame a line).
///   What is not known is left out.
///
/// The members of a batch (batch_isend_irecv) never change their own state; they have that of the
/// entry that closes the batch, and are done where that was left out as done. A batch of
/// collectives is one operation: its first member, with the sizes of all.
std::vector<Event> flight_recorder_events(const FlightRecorderDump& dump, const Origin& origin,
                                          Counters& counters);

}  // namespace faultline
