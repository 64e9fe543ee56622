// Who holds up the collectives of a job? Every rank that waits in an operation names, by that, whom
// it waits for. Whoever is waited for and waits itself is a victim like the others: the walk goes
// on to the rank that waits for nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "detect/operation_board.h"

namespace faultline {

enum class StuckKind {
  mismatch,     // ranks met in one operation with different kinds, sizes or types of data
  not_joined,   // `ranks` never entered what the others wait in, and wait for nobody themselves
  no_trace,     // only ranks that left no trace can be it
  wrong_order,  // `ranks` went past what the others of their circle wait in, to something later
  wrong_peer,   // `ranks` wait for a peer that has nothing to do with them, others for them
  deadlock,     // ranks wait for each other in a circle
  inside,       // all are in the operation, and it does not end
  moving,       // the traces were written while the job ran, so that they accuse nobody
};
FAULTLINE_ENUM_NAMES(StuckKind, "mismatch", "not_joined", "no_trace", "wrong_order", "wrong_peer",
                     "deadlock", "inside", "moving");

struct StuckFinding {
  StuckKind kind = StuckKind::inside;
  std::vector<std::int32_t> ranks;   // whom it speaks of; the most waited for first; empty: cannot
                                     // be told which of those in the operation
  std::vector<std::int32_t> unread;  // belong there and left no trace, or one that says nothing
  RankOperation operation;           // what is waited in, as one of those who wait recorded it
  std::size_t waiting = 0;           // ranks that wait in it or because of it
  RankOperation last;  // what the first of `ranks` handed in last; of a deadlock what whoever is
                       // waited for in `operation` waits in; may have no event
  bool first_lost = false;  // an earlier one that hangs may have been lost from the record
  std::string differs;      // of a mismatch: "all_gather against all_reduce"
  bool others = false;      // of a mismatch: there are some who do not differ
  std::vector<const Event*> evidence;  // one operation of each side, `last` among them
};

/// The one finding that explains the most; nullopt if no rank waits in anything. `said_waiting`:
/// ranks that were heard to wait in a collective elsewhere than in a trace; without one of their
/// own they are victims, too.
std::optional<StuckFinding> find_stuck_operation(const OperationBoard& board,
                                                 const std::set<std::int32_t>& said_waiting = {});

}  // namespace faultline
