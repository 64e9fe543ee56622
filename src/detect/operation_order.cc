#include "detect/operation_order.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::int64_t not_yet = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t like_max = 64;          // so many are asked
constexpr std::int64_t counts_apart_max = 2;  // of ranks that play the same part

/// When an operation was handed in, as its number among all of that rank. A trace tells exactly of
/// the newest that is done and the first that are not; of others between what bounds.
struct Position {
  std::int64_t first = 0, last = 0;

  [[nodiscard]] bool before(const Position& other) const { return last < other.first; }
};

Position position(const Lane& lane, std::int64_t seq) {
  if (lane.last_seq < seq) return {not_yet, not_yet};
  if (const RankOperation* operation = lane.at(seq)) return {operation->record, operation->record};
  if (!lane.pending.empty() && lane.pending.back().seq < seq)
    return {lane.pending.back().record + 1, not_yet - 1};
  if (lane.completed.event != nullptr && lane.completed.seq > seq)
    return {0, lane.completed.record - 1};
  return {0, not_yet - 1};
}

/// The newest of the lane that was handed in before that position; nullptr if there is none.
const RankOperation* newest_before(const Lane& lane, std::int64_t position) {
  const RankOperation* newest = nullptr;
  if (lane.completed.event != nullptr && lane.completed.record < position) newest = &lane.completed;
  for (const RankOperation& operation : lane.pending) {
    if (operation.record < position) newest = &operation;
  }
  return newest == nullptr || newest->seq < 0 ? nullptr : newest;
}

/// How far the rank's GPU has come in the lane; its program may be far ahead of that.
std::int64_t progress(const Lane& lane) {
  if (lane.completed.event != nullptr) return lane.completed.seq;
  return lane.pending.empty() ? -1 : lane.pending.front().seq - 1;
}

/// Play the same part, the lane `but_for` aside: they use the same kinds of lanes and have come
/// about as far in each.
bool alike(const KindLanes& one, const KindLanes& other, const LaneKind& but_for) {
  const auto agrees = [&](const auto& entry) {
    const auto& [kind, lane] = entry;
    if (kind == but_for) return true;
    const auto found = other.find(kind);
    if (found == other.end() || (found->second == nullptr) != (lane == nullptr)) return false;
    return lane == nullptr ||
           std::abs(progress(*lane) - progress(*found->second)) <= counts_apart_max;
  };
  const std::size_t own = one.size() - one.count(but_for);
  return own == other.size() - other.count(but_for) && std::all_of(one.begin(), one.end(), agrees);
}

/// The lane of this kind, nullptr if there is none, or more than one.
const Lane* lane_of(const KindLanes& lanes, const LaneKind& kind) {
  const auto found = lanes.find(kind);
  return found == lanes.end() ? nullptr : found->second;
}

/// How many of `like` come to `seq` of `kind` before they come to `instead`, less those who come to
/// it after.
std::int64_t votes(const std::vector<const KindLanes*>& like, const LaneKind& kind,
                   std::int64_t seq, const LaneKind& instead_kind, const RankOperation& instead) {
  std::int64_t count = 0;
  for (const KindLanes* lanes : like) {
    const Lane* missed = lane_of(*lanes, kind);
    const Lane* other = lane_of(*lanes, instead_kind);
    if (missed == nullptr || other == nullptr) continue;
    const Position here = position(*missed, seq), there = position(*other, instead.seq);
    count += (here.before(there) ? 1 : 0) - (there.before(here) ? 1 : 0);
  }
  return count;
}

}  // namespace

OperationOrder::OperationOrder(const OperationBoard& board) : board_(board) {
  for (const auto& [rank, trace] : board.traces()) {
    KindLanes& lanes = lanes_[rank];
    for (const auto& [key, lane] : trace->lanes) {
      const auto kind = kind_of(rank, key);
      if (!kind) continue;
      // Two lanes of one kind cannot be told apart on another rank.
      const auto [entry, fresh] = lanes.try_emplace(*kind, &lane);
      if (!fresh) entry->second = nullptr;
    }
  }
}

std::optional<LaneKind> OperationOrder::kind_of(std::int32_t rank, const LaneKey& key) const {
  const ProcessGroup* group = board_.group(key.group);
  if (group == nullptr || group->ranks.empty()) return std::nullopt;
  const auto& ranks = group->ranks;
  const std::int64_t step = ranks.size() < 2 ? 0 : *std::next(ranks.begin()) - *ranks.begin();
  std::string lane = key.lane;
  if (lane != "collective") {
    const auto peer = parse_number<std::int32_t>(
        std::string_view(lane).substr(std::min<std::size_t>(5, lane.size())));
    if (!peer) return std::nullopt;
    lane = lane.substr(0, 5) + (*peer > rank ? "+" : "-");
  }
  return LaneKind(group->desc, ranks.size(), step, lane);
}

const RankOperation* OperationOrder::went_past(std::int32_t rank, const LaneKey& key,
                                               std::int64_t seq) const {
  const auto own = lanes_.find(rank);
  const auto kind = kind_of(rank, key);
  if (own == lanes_.end() || !kind || seq < 0) return nullptr;
  const Lane* missed = lane_of(own->second, *kind);
  const std::int64_t came = missed == nullptr ? not_yet : position(*missed, seq).first;
  std::vector<const KindLanes*> like;
  for (const auto& [other, lanes] : lanes_) {
    if (like.size() == like_max) break;
    if (other != rank && alike(lanes, own->second, *kind)) like.push_back(&lanes);
  }
  for (const auto& [other_kind, lane] : own->second) {
    if (other_kind == *kind || lane == nullptr) continue;
    const RankOperation* instead = newest_before(*lane, came);
    if (instead != nullptr && votes(like, *kind, seq, other_kind, *instead) > 0) return instead;
  }
  return nullptr;
}

}  // namespace faultline
