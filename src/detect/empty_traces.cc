#include "detect/empty_traces.h"

#include <string_view>

#include "base/text.h"
#include "detect/operation_match.h"

namespace faultline {
namespace {

/// Whether this lane has come to where it could not be without all members of its group, or without
/// its peer.
bool went_on(const LaneKey& key, const Lane& lane) {
  const bool done = lane.completed.event != nullptr;
  if (done && (key.lane != "collective" || needs_everybody(*lane.completed.event))) return true;
  // Without a number its beginning is lost, and nobody knows.
  return !lane.pending.empty() && lane.pending.front().seq != 1 && lane.pending.front().seq != 0;
}

}  // namespace

std::set<std::int32_t> ranks_with_lost_record(const OperationBoard& board) {
  std::set<std::int32_t> took_part;
  std::set<std::string_view> groups;
  for (const auto& [rank, trace] : board.traces()) {
    if (trace->lanes.empty() && trace->truncated) took_part.insert(rank);
    for (const auto& [key, lane] : trace->lanes) {
      if (!went_on(key, lane)) continue;
      if (key.lane == "collective") groups.insert(key.group);
      if (const std::int32_t peer = peer_of(key); peer >= 0) took_part.insert(peer);
    }
  }
  for (const auto& [name, group] : board.groups()) {
    if (groups.contains(name)) took_part.insert(group.ranks.begin(), group.ranks.end());
  }
  std::erase_if(took_part, [&](std::int32_t rank) {
    const RankTrace* trace = board.trace(rank);
    return trace == nullptr || !trace->lanes.empty();
  });
  return took_part;
}

}  // namespace faultline
