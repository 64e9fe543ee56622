#include "detect/operation_order.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/text.h"
#include "detect/operation_match.h"

namespace faultline {
namespace {

constexpr std::int64_t not_yet = std::numeric_limits<std::int64_t>::max();
constexpr int asked_max = 64;                    // of thousands of ranks so many are enough
constexpr std::size_t compared_max = 1'000'000;  // in all: hostile traces have thousands of lanes
constexpr std::int64_t counts_apart_max = 8;     // of ranks that play the same part

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

/// What was handed in last, as a measure of how far the program has come.
std::int64_t handed_in(const Lane& lane) { return lane.last_seq; }

/// Kinds of lanes that one of them has and the other has not, or of which `count` is not about the
/// same; at most two, since one says who plays the same part and two say that they do not.
std::vector<LaneKind> differences(const KindLanes& one, const KindLanes& other,
                                  std::int64_t (*count)(const Lane&)) {
  std::vector<LaneKind> differ;
  const auto agrees = [&](const Lane* lane, KindLanes::const_iterator found) {
    if (found == other.end() || (found->second == nullptr) != (lane == nullptr)) return false;
    return lane == nullptr || std::abs(count(*lane) - count(*found->second)) <= counts_apart_max;
  };
  for (const auto& [kind, lane] : one) {
    if (differ.size() < 2 && !agrees(lane, other.find(kind))) differ.push_back(kind);
  }
  for (const auto& [kind, lane] : other) {
    if (differ.size() < 2 && !one.contains(kind)) differ.push_back(kind);
  }
  return differ;
}

/// The lane of this kind, nullptr if there is none, or more than one.
const Lane* lane_of(const KindLanes& lanes, const LaneKind& kind) {
  const auto found = lanes.find(kind);
  return found == lanes.end() ? nullptr : found->second;
}

/// Whether a rank with these lanes comes to `seq` of `missed` before it comes to `instead` (1), or
/// after (-1); 0 if its trace does not tell.
int vote(const Lane* missed, std::int64_t seq, const Lane* other, const RankOperation& instead) {
  if (missed == nullptr || other == nullptr) return 0;
  const Position here = position(*missed, seq), there = position(*other, instead.seq);
  return (here.before(there) ? 1 : 0) - (there.before(here) ? 1 : 0);
}

}  // namespace

OperationOrder::OperationOrder(const OperationBoard& board) : board_(board) {
  for (const auto& [rank, trace] : board.traces()) {
    KindLanes& lanes = lanes_[rank];
    for (const auto& [key, lane] : trace->lanes) {
      const auto kind = kind_of(rank, key);
      if (!kind) continue;
      if (!is_collective(key)) stages_.emplace(rank, stage_of(rank, key));
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
  if (!is_collective(key)) {
    const auto peer = parse_number<std::int32_t>(
        std::string_view(lane).substr(std::min<std::size_t>(5, lane.size())));
    if (!peer) return std::nullopt;
    lane = lane.substr(0, 5) + (*peer > rank ? "+" : "-");
  }
  return LaneKind(group->desc, ranks.size(), step, lane);
}

const RankOperation* OperationOrder::went_past(std::int32_t rank, const LaneKey& key,
                                               std::int64_t seq) {
  if (!lanes_.contains(rank) || seq < 0) return nullptr;
  const Lane* missed = board_.trace(rank)->lane(key);
  const std::int64_t came = missed == nullptr ? not_yet : position(*missed, seq).first;
  for (const auto& [other_key, lane] : board_.trace(rank)->lanes) {
    const RankOperation* instead = other_key == key ? nullptr : newest_before(lane, came);
    if (instead != nullptr && votes(rank, key, seq, other_key, *instead) > 0) return instead;
  }
  return nullptr;
}

std::int64_t OperationOrder::stage_of(std::int32_t rank, const LaneKey& key) const {
  const auto& ranks = board_.group(key.group)->ranks;
  return std::distance(ranks.begin(), ranks.find(rank));
}

/// Each stage of a pipeline sends and receives in an order of its own.
bool OperationOrder::same_stage(std::int32_t rank, std::int32_t other) const {
  const auto own = stages_.find(rank), their = stages_.find(other);
  return own != stages_.end() && their != stages_.end() && own->second == their->second;
}

bool OperationOrder::alike(std::int32_t rank, std::int32_t other, const LaneKind& but_for) {
  const auto [entry, fresh] = differences_.try_emplace({rank, other});
  auto& [of_programs, of_gpus] = entry->second;
  if (fresh) {
    of_programs = differences(lanes_.at(other), lanes_.at(rank), handed_in);
    of_gpus = differences(lanes_.at(other), lanes_.at(rank), progress);
  }
  const auto only_there = [&](const std::vector<LaneKind>& differ) {
    return differ.empty() || (differ.size() == 1 && differ.front() == but_for);
  };
  return only_there(of_programs) || only_there(of_gpus);
}

/// How many others come to the operation before they come to `instead`, less those who come to it
/// after. Who is in both groups counts both as the rank does, whatever part he plays; who plays the
/// same part counts groups of the same kind so.
int OperationOrder::votes(std::int32_t rank, const LaneKey& key, std::int64_t seq,
                          const LaneKey& other_key, const RankOperation& instead) {
  const auto kind = kind_of(rank, key), other_kind = kind_of(rank, other_key);
  if (!kind || !other_kind) return 0;
  const bool collectives = is_collective(key) && is_collective(other_key);
  const KindLanes& own = lanes_.at(rank);
  const bool comparable = *kind != *other_kind && lane_of(own, *other_kind) != nullptr;
  int votes = 0, guesses = 0, asked = 0;
  for (const auto& [other, trace] : board_.traces()) {
    if (asked == asked_max) break;
    if (++compared_ > compared_max) return 0;
    if (other == rank) continue;
    const Lane *missed = trace->lane(key), *their = trace->lane(other_key);
    if (collectives && missed != nullptr && their != nullptr) {
      ++asked;
      votes += vote(missed, seq, their, instead);
    } else if (const KindLanes& lanes = lanes_.at(other);
               comparable && (collectives || same_stage(rank, other)) &&
               alike(rank, other, *kind)) {
      ++asked;
      guesses += vote(lane_of(lanes, *kind), seq, lane_of(lanes, *other_kind), instead);
    }
  }
  // Of two that differ either may be the one in the wrong: one alone accuses nobody.
  const int balance = votes + guesses;
  return balance == 1 ? 0 : balance;
}

}  // namespace faultline
