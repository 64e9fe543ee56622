#include "detect/launch_counts.h"

#include <map>
#include <string>
#include <vector>

namespace faultline {
namespace {

/// Of one group, by number.
using Launches = std::map<std::int64_t, std::vector<const RankOperation*>>;

std::map<std::string, Launches> launches(const OperationBoard& board, Instant since) {
  std::map<std::string, Launches> groups;
  for (const auto& [rank, trace] : board.traces()) {
    for (const auto& [key, lane] : trace->lanes) {
      const Event* event = lane.completed.event;
      if (event == nullptr || event->field("counted").empty()) continue;
      if (known(event->observed_at) && event->observed_at < since) continue;
      groups[key.group][lane.completed.seq].push_back(&lane.completed);
    }
  }
  return groups;
}

}  // namespace

const RankOperation* least_launched(const OperationBoard& board, Instant since) {
  const RankOperation* least = nullptr;
  for (const auto& [group, counts] : launches(board, since)) {
    if (counts.size() < 2 || counts.begin()->second.size() != 1) continue;
    const RankOperation* last = counts.begin()->second.front();
    if (least != nullptr && least->rank != last->rank) return nullptr;
    least = last;
  }
  return least;
}

}  // namespace faultline
