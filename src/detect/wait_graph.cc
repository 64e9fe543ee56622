#include "detect/wait_graph.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "detect/empty_traces.h"
#include "detect/operation_match.h"

namespace faultline {
namespace {

bool have_common(const std::set<std::int32_t>& one, const std::set<std::int32_t>& other) {
  return std::any_of(one.begin(), one.end(), [&](auto rank) { return other.contains(rank); });
}

}  // namespace

std::set<std::int32_t> Meeting::lacking() const {
  std::set<std::int32_t> ranks = absent;
  ranks.insert(behind.begin(), behind.end());
  return ranks;
}

std::set<std::int32_t> Meeting::at_front() const {
  std::set<std::int32_t> ranks;
  std::set_difference(waiting.begin(), waiting.end(), behind.begin(), behind.end(),
                      std::inserter(ranks, ranks.end()));
  return ranks;
}

bool Meeting::is_complete() const { return absent.empty() && behind.empty() && unread.empty(); }

WaitGraph::WaitGraph(const OperationBoard& board, const std::set<std::int32_t>& said_waiting)
    : board_(board), said_waiting_(said_waiting), lost_record_(ranks_with_lost_record(board)) {
  for (const auto& [rank, trace] : board.traces()) add_rank(rank, *trace);
  for (Meeting& meeting : meetings_) complete(meeting);
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    // Who has something else before it waits for that, and does not hold up himself.
    for (const std::int32_t rank : meetings_[i].at_front()) waits_in_[rank].push_back(i);
    for (const std::int32_t rank : meetings_[i].lacking()) holds_up_[rank].push_back(i);
  }
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    meetings_[i].surely_lacking = surely_lacking(meetings_[i]);
    for (const std::int32_t rank : meetings_[i].surely_lacking) surely_holds_up_[rank].push_back(i);
  }
}

/// A program may go on behind a send, so that one that is not taken need not be what it waits in.
/// Who is only behind in a collective is in another one first; where somebody who waits for him has
/// not come to that, or comes to it later, the two call them in different order.
std::set<std::int32_t> WaitGraph::surely_lacking(const Meeting& meeting) const {
  if (meeting.key.lane.starts_with("send>")) return {};
  std::set<std::int32_t> ranks = meeting.absent;
  if (!is_collective(meeting.key)) return ranks;
  const std::set<std::int32_t> front = meeting.at_front();
  for (const std::int32_t rank : meeting.behind) {
    const auto first = waits_in(rank);
    const bool ordered_otherwise =
        std::any_of(first.begin(), first.end(), [&](const Meeting* other) {
          return is_collective(other->key) && have_common(other->lacking(), front);
        });
    if (ordered_otherwise) ranks.insert(rank);
  }
  return ranks;
}

std::vector<const Meeting*> WaitGraph::of(std::int32_t rank, const MeetingsOfRank& all) const {
  std::vector<const Meeting*> meetings;
  const auto found = all.find(rank);
  if (found == all.end()) return meetings;
  for (const std::size_t i : found->second) meetings.push_back(&meetings_[i]);
  return meetings;
}

std::vector<const Meeting*> WaitGraph::waits_in(std::int32_t rank) const {
  return of(rank, waits_in_);
}

std::vector<const Meeting*> WaitGraph::held_up_in(std::int32_t rank) const {
  return of(rank, holds_up_);
}

bool WaitGraph::waits(std::int32_t rank) const {
  const auto meetings = waits_in(rank);
  return std::any_of(meetings.begin(), meetings.end(), [](const Meeting* meeting) {
    return !meeting->absent.empty() || !meeting->behind.empty();
  });
}

std::set<std::int32_t> WaitGraph::held_up_by(std::int32_t rank, Edges edges) const {
  return walk(rank, edges == Edges::all ? holds_up_ : surely_holds_up_,
              [](const Meeting& meeting) { return meeting.at_front(); });
}

std::set<std::int32_t> WaitGraph::waited_for_by(std::int32_t rank, Edges edges) const {
  return walk(rank, waits_in_, [edges](const Meeting& meeting) {
    if (edges == Edges::all) return meeting.lacking();
    return meeting.surely_lacking;
  });
}

/// From rank to meeting to rank. It may come back to where it began.
template <class Members>
std::set<std::int32_t> WaitGraph::walk(std::int32_t from, const MeetingsOfRank& meetings_of,
                                       Members members) const {
  std::set<std::int32_t> reached;
  std::set<std::size_t> seen;
  std::vector<std::int32_t> open{from};
  while (!open.empty()) {
    const auto meetings = meetings_of.find(open.back());
    open.pop_back();
    if (meetings == meetings_of.end()) continue;
    for (const std::size_t i : meetings->second) {
      if (!seen.insert(i).second) continue;
      for (const std::int32_t rank : members(meetings_[i])) {
        if (reached.insert(rank).second) open.push_back(rank);
      }
    }
  }
  return reached;
}

void WaitGraph::add_rank(std::int32_t rank, const RankTrace& trace) {
  std::int64_t& first = first_turn_[rank] = std::numeric_limits<std::int64_t>::max();
  for (const auto& [key, lane] : trace.lanes) {
    if (lane.pending.empty()) continue;
    const RankOperation& front = lane.pending.front();
    first = std::min(first, front.turn);
    meeting_of(key, front, rank).waiting.insert(rank);
  }
}

Meeting& WaitGraph::meeting_of(const LaneKey& key, const RankOperation& operation,
                               std::int32_t rank) {
  // The two ends of a transfer are one meeting each: what is missing is always the other end.
  const LaneKey own =
      is_collective(key) ? key : LaneKey{key.group, key.lane + "@" + std::to_string(rank)};
  const auto [entry, fresh] = index_.try_emplace({own, operation.seq}, meetings_.size());
  if (fresh) {
    Meeting meeting;
    meeting.key = key;
    meeting.seq = operation.seq;
    meeting.seen = operation;
    meetings_.push_back(std::move(meeting));
  }
  return meetings_[entry->second];
}

void WaitGraph::complete(Meeting& meeting) const {
  if (const std::int32_t peer = peer_of(meeting.key); peer >= 0) {
    place(meeting, meeting.seen.rank, meeting.key, meeting.seq);
    place(meeting, peer, seen_by_peer(meeting.key, meeting.seen.rank), meeting.seq);
    return;
  }
  const ProcessGroup* group = board_.group(meeting.key.group);
  if (group != nullptr && !group->ranks.empty()) {
    for (const std::int32_t rank : group->ranks) place(meeting, rank, meeting.key, meeting.seq);
    return;
  }
  for (const auto& [rank, trace] : board_.traces()) {
    if (trace->lane(meeting.key) != nullptr) place(meeting, rank, meeting.key, meeting.seq);
  }
}

/// Where `rank`, which belongs to the meeting, stands towards it.
void WaitGraph::place(Meeting& meeting, std::int32_t rank, const LaneKey& key,
                      std::int64_t seq) const {
  const RankTrace* trace = board_.trace(rank);
  if (meeting.waiting.contains(rank)) {
    const std::int64_t turn = trace->lane(key)->pending.front().turn;
    if (turn > first_turn_.at(rank)) meeting.behind.insert(rank);
    return;
  }
  if (trace == nullptr || lost_record_.contains(rank)) {
    if (!said_waiting_.contains(rank)) meeting.unread.insert(rank);
    return;
  }
  const Lane* lane = trace->lane(key);
  const bool counted = seq >= 0 && lane != nullptr && lane->last_seq >= 0;
  const bool joined = lane != nullptr && (counted ? lane->last_seq >= seq : !lane->pending.empty());
  if (!joined) {
    meeting.absent.insert(rank);
    return;
  }
  const bool done = lane->pending.empty() || (counted && lane->pending.front().seq > seq);
  if (done) return;
  // Handed in, but something that it handed in before is not done either.
  // Where the beginning is lost, both ends of a transfer stand at the first that is not done.
  const RankOperation* own = counted ? lane->at(seq) : &lane->pending.front();
  const std::int64_t turn = own == nullptr ? lane->pending.back().turn + 1 : own->turn;
  if (turn > first_turn_.at(rank)) meeting.behind.insert(rank);
}

}  // namespace faultline
