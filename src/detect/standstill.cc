#include "detect/standstill.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "detect/operation_match.h"

namespace faultline {
namespace {

std::optional<std::int64_t> number_of(const Event& event, std::string_view field) {
  return parse_number<std::int64_t>(event.field(field));
}

/// Of each group's collectives the newest that anybody has seen done.
std::map<LaneKey, std::int64_t> done_by_anybody(const OperationBoard& board) {
  std::map<LaneKey, std::int64_t> done;
  for (const auto& [rank, trace] : board.traces()) {
    for (const auto& [key, lane] : trace->lanes) {
      const RankOperation& newest = lane.completed;
      if (newest.event == nullptr || newest.seq < 0 || !needs_everybody(*newest.event)) continue;
      std::int64_t& seq = done.try_emplace(key, newest.seq).first->second;
      seq = std::max(seq, newest.seq);
    }
  }
  return done;
}

/// Somebody has not handed in what, by another's trace, he was needed for: one of the two is of an
/// earlier moment.
bool contradict(const OperationBoard& board) {
  const auto done = done_by_anybody(board);
  return std::any_of(board.traces().begin(), board.traces().end(), [&](const auto& trace) {
    return std::any_of(trace.second->lanes.begin(), trace.second->lanes.end(),
                       [&](const auto& lane) {
                         const auto found = done.find(lane.first);
                         const std::int64_t own = lane.second.last_seq;
                         return found != done.end() && own >= 0 && own < found->second;
                       });
  });
}

/// The time-out of an operation may be shorter than the gap.
Duration long_for(const RankOperation& operation) {
  const auto timeout_ms = number_of(*operation.event, "timeout_ms");
  if (!timeout_ms) return standstill_min;
  return std::min(standstill_min, Duration{std::chrono::milliseconds{*timeout_ms}} / 2);
}

/// Whether the rank had waited for long when its trace was written; unknown if it waits for
/// nothing, or nobody says when that was.
std::optional<bool> waited_long(const RankTrace& trace) {
  if (trace.read == nullptr || !known(trace.read->observed_at)) return std::nullopt;
  const auto after_ms = number_of(*trace.read, "written_after_ms");
  if (!after_ms) return std::nullopt;
  const Instant written = trace.read->observed_at + std::chrono::milliseconds{*after_ms};
  std::optional<bool> waited;
  for (const auto& [key, lane] : trace.lanes) {
    if (lane.pending.empty() || !known(lane.pending.front().event->observed_at)) continue;
    const RankOperation& front = lane.pending.front();
    if (written - front.event->observed_at >= long_for(front)) return true;
    waited = false;
  }
  return waited;
}

bool all_is_young(const OperationBoard& board) {
  bool any = false;
  for (const auto& [rank, trace] : board.traces()) {
    const auto waited = waited_long(*trace);
    if (waited.value_or(false)) return false;
    any = any || waited.has_value();
  }
  return any;
}

bool most_are_not_put_away(const OperationBoard& board) {
  const auto count =
      std::count_if(board.traces().begin(), board.traces().end(), [](const auto& trace) {
        const Event* read = trace.second->read;
        return read != nullptr && number_of(*read, "unretired").value_or(0) > 0;
      });
  return static_cast<std::size_t>(count) * 2 > board.traces().size();
}

}  // namespace

bool was_moving(const OperationBoard& board) {
  return all_is_young(board) || contradict(board) || most_are_not_put_away(board);
}

}  // namespace faultline
