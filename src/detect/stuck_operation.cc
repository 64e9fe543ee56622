#include "detect/stuck_operation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/text.h"
#include "detect/operation_match.h"
#include "detect/operation_order.h"
#include "detect/standstill.h"

namespace faultline {
namespace {

/// One thing that ranks wait in, wherever it was recorded.
struct Meeting {
  LaneKey key;
  std::int64_t seq = -1;
  RankOperation seen;              // as the first of those who wait recorded it
  std::set<std::int32_t> waiting;  // it is the first that they have not finished in this lane
  std::set<std::int32_t> absent;   // belong there and have not handed it in
  std::set<std::int32_t> unread;   // belong there and left no trace
  std::set<std::int32_t> behind;   // have handed it in, and something earlier is not done
};

class WaitGraph {
 public:
  WaitGraph(const OperationBoard& board, const std::set<std::int32_t>& said_waiting)
      : board_(board), said_waiting_(said_waiting) {
    for (const auto& [rank, trace] : board.traces()) add_rank(rank, *trace);
    for (Meeting& meeting : meetings_) complete(meeting);
    for (std::size_t i = 0; i < meetings_.size(); ++i) {
      const Meeting& meeting = meetings_[i];
      for (const std::int32_t rank : meeting.waiting) waits_in_[rank].push_back(i);
      for (const std::int32_t rank : meeting.absent) holds_up_[rank].push_back(i);
      for (const std::int32_t rank : meeting.behind) holds_up_[rank].push_back(i);
    }
  }

  [[nodiscard]] const std::vector<Meeting>& meetings() const { return meetings_; }

  /// Is in something that somebody with a trace is missing from.
  [[nodiscard]] bool waits(std::int32_t rank) const {
    const auto found = waits_in_.find(rank);
    return found != waits_in_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](std::size_t i) {
             return !meetings_[i].absent.empty() || !meetings_[i].behind.empty();
           });
  }
  /// Everybody who waits for `rank`, directly or through others.
  [[nodiscard]] std::set<std::int32_t> held_up_by(std::int32_t rank) const {
    return walk(rank, holds_up_, [](const Meeting& meeting, auto visit) {
      for (const std::int32_t waiting : meeting.waiting) visit(waiting);
    });
  }
  /// Everybody for whom `rank` waits, directly or through others.
  [[nodiscard]] std::set<std::int32_t> waited_for_by(std::int32_t rank) const {
    return walk(rank, waits_in_, [](const Meeting& meeting, auto visit) {
      for (const std::int32_t absent : meeting.absent) visit(absent);
      for (const std::int32_t behind : meeting.behind) visit(behind);
    });
  }

 private:
  void add_rank(std::int32_t rank, const RankTrace& trace);
  Meeting& meeting_of(const LaneKey& key, const RankOperation& operation, std::int32_t rank);
  void complete(Meeting& meeting) const;
  void place(Meeting& meeting, std::int32_t rank, const LaneKey& key, std::int64_t seq) const;
  using MeetingsOfRank = std::map<std::int32_t, std::vector<std::size_t>>;
  template <class Members>
  std::set<std::int32_t> walk(std::int32_t from, const MeetingsOfRank& meetings_of,
                              Members members) const;

  const OperationBoard& board_;
  const std::set<std::int32_t>& said_waiting_;
  std::vector<Meeting> meetings_;
  std::map<std::pair<LaneKey, std::int64_t>, std::size_t> index_;
  /// Of everything that a rank has handed in and not seen done the first.
  std::map<std::int32_t, std::int64_t> first_turn_;
  MeetingsOfRank waits_in_;  // the meetings that a rank is in, by number
  MeetingsOfRank holds_up_;  // those that it is missing from
};

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
      members(meetings_[i], [&](std::int32_t rank) {
        if (reached.insert(rank).second) open.push_back(rank);
      });
    }
  }
  return reached;
}

bool is_collective(const LaneKey& key) { return key.lane == "collective"; }

/// The peer of "send>5" and "recv<5", -1 of others.
std::int32_t peer_of(const LaneKey& key) {
  if (is_collective(key) || key.lane.size() < 6) return -1;
  return parse_number<std::int32_t>(std::string_view(key.lane).substr(5)).value_or(-1);
}

LaneKey seen_by_peer(const LaneKey& key, std::int32_t rank) {
  const bool sends = key.lane.starts_with("send>");
  return {key.group, (sends ? "recv<" : "send>") + std::to_string(rank)};
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
  if (trace == nullptr) {
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

// --- findings
// --------------------------------------------------------------------------------------

/// Ranks that have nothing else before it.
std::size_t at_front(const Meeting& meeting) {
  return static_cast<std::size_t>(
      std::count_if(meeting.waiting.begin(), meeting.waiting.end(),
                    [&](std::int32_t rank) { return !meeting.behind.contains(rank); }));
}

/// What `rank` is missing from, and most others wait in before all else.
const Meeting* meeting_missing(const WaitGraph& graph, std::int32_t rank) {
  const Meeting* best = nullptr;
  for (const Meeting& meeting : graph.meetings()) {
    if (!meeting.absent.contains(rank) && !meeting.unread.contains(rank)) continue;
    if (best == nullptr || at_front(meeting) > at_front(*best)) best = &meeting;
  }
  return best;
}

void add_last(StuckFinding& finding, const OperationBoard& board) {
  const RankTrace* trace = finding.ranks.empty() ? nullptr : board.trace(finding.ranks.front());
  const RankOperation* newest = trace == nullptr ? nullptr : trace->newest();
  if (newest != nullptr) finding.last = *newest;
  // Where the culprit stopped is what came first.
  if (newest != nullptr) finding.evidence.insert(finding.evidence.begin(), newest->event);
}

/// The operation of the other end's lane that meets number `seq` of this one. Where the beginning
/// is lost, both stand at the first that is not done.
const RankOperation* met_by(const Lane& lane, std::int64_t seq) {
  if (seq >= 0 && lane.last_seq >= 0) return lane.at(seq);
  return lane.pending.empty() ? nullptr : &lane.pending.front();
}

/// Which of the two ends is wrong nobody can tell.
std::optional<StuckFinding> unequal_transfer(const Meeting& meeting, const OperationBoard& board) {
  const std::int32_t rank = meeting.seen.rank, peer = peer_of(meeting.key);
  const RankTrace* trace = board.trace(peer);
  const Lane* lane = trace == nullptr ? nullptr : trace->lane(seen_by_peer(meeting.key, rank));
  const RankOperation* other = lane == nullptr ? nullptr : met_by(*lane, meeting.seq);
  if (other == nullptr) return std::nullopt;
  StuckFinding finding;
  finding.differs = unequal_ends(*meeting.seen.event, *other->event);
  if (finding.differs.empty()) return std::nullopt;
  finding.kind = StuckKind::mismatch;
  finding.ranks = {std::min(rank, peer), std::max(rank, peer)};
  finding.operation = meeting.seen;
  finding.waiting = 2;
  finding.evidence = {meeting.seen.event, other->event};
  finding.last = *other;
  return finding;
}

std::optional<StuckFinding> mismatch(const WaitGraph& graph, const OperationBoard& board) {
  for (const Meeting& meeting : graph.meetings()) {
    if (!is_collective(meeting.key)) {
      if (auto finding = unequal_transfer(meeting, board)) return finding;
      continue;
    }
    if (meeting.seq < 0) continue;
    const auto odd = find_odd_ranks(board, meeting.key, meeting.seq);
    if (!odd) continue;
    StuckFinding finding;
    finding.kind = StuckKind::mismatch;
    finding.ranks = odd->ranks;
    finding.operation = odd->usual;
    finding.waiting = meeting.waiting.size();
    finding.differs = odd->differs;
    finding.evidence = {odd->usual.event, odd->unusual.event};
    finding.last = odd->unusual;
    return finding;
  }
  return std::nullopt;
}

std::optional<StuckFinding> not_joined(const WaitGraph& graph, const OperationBoard& board) {
  std::set<std::int32_t> awaited;
  for (const Meeting& meeting : graph.meetings())
    awaited.insert(meeting.absent.begin(), meeting.absent.end());
  std::vector<std::pair<std::size_t, std::int32_t>> culprits;  // how many it holds up
  for (const std::int32_t rank : awaited) {
    const RankTrace* trace = board.trace(rank);
    const bool in_something =
        trace == nullptr ||
        std::any_of(trace->lanes.begin(), trace->lanes.end(),
                    [](const auto& lane) { return !lane.second.pending.empty(); });
    if (!in_something && !graph.waits(rank))
      culprits.emplace_back(graph.held_up_by(rank).size(), rank);
  }
  if (culprits.empty()) return std::nullopt;
  std::sort(culprits.begin(), culprits.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  StuckFinding finding;
  finding.kind = StuckKind::not_joined;
  finding.waiting = culprits.front().first;
  for (const auto& [held, rank] : culprits) finding.ranks.push_back(rank);
  const Meeting* meeting = meeting_missing(graph, finding.ranks.front());
  finding.operation = meeting->seen;
  finding.evidence.push_back(meeting->seen.event);
  add_last(finding, board);
  return finding;
}

std::optional<StuckFinding> no_trace(const WaitGraph& graph) {
  std::map<std::int32_t, std::size_t> waited_for;
  for (const Meeting& meeting : graph.meetings()) {
    for (const std::int32_t rank : meeting.unread) waited_for[rank] += meeting.waiting.size();
  }
  if (waited_for.empty()) return std::nullopt;
  StuckFinding finding;
  finding.kind = StuckKind::no_trace;
  for (const auto& [rank, waiting] : waited_for) finding.unread.push_back(rank);
  std::stable_sort(finding.unread.begin(), finding.unread.end(),
                   [&](auto a, auto b) { return waited_for[a] > waited_for[b]; });
  const Meeting* meeting = meeting_missing(graph, finding.unread.front());
  finding.operation = meeting->seen;
  finding.evidence.push_back(meeting->seen.event);
  if (finding.unread.size() == 1) finding.ranks = finding.unread;
  return finding;
}

/// Of a circle the rank that stopped first, where the others went on visibly longer.
std::optional<std::int32_t> first_to_stop(const std::set<std::int32_t>& circle,
                                          const OperationBoard& board) {
  constexpr Duration margin = std::chrono::seconds{1};  // stamps closer than this have no order
  std::vector<std::pair<Instant, std::int32_t>> stops;
  for (const std::int32_t rank : circle) {
    const RankOperation* newest = board.trace(rank)->newest();
    if (newest != nullptr && known(newest->event->observed_at))
      stops.emplace_back(newest->event->observed_at, rank);
  }
  std::sort(stops.begin(), stops.end());
  if (stops.size() < circle.size() || stops.size() < 2) return std::nullopt;
  if (stops[1].first - stops[0].first < margin) return std::nullopt;
  return stops[0].second;
}

/// Ranks that all wait for each other, and for nobody else; empty if there are none.
std::set<std::int32_t> closed_circle(const WaitGraph& graph, std::int32_t rank) {
  while (true) {
    std::set<std::int32_t> circle = graph.waited_for_by(rank);
    const std::set<std::int32_t> held = graph.held_up_by(rank);
    const auto leads_out = std::find_if(circle.begin(), circle.end(), [&](std::int32_t other) {
      return other != rank && !held.contains(other);
    });
    // From there nothing leads back here, so what it reaches is smaller each time.
    if (leads_out == circle.end()) return circle.contains(rank) ? circle : std::set<std::int32_t>{};
    rank = *leads_out;
  }
}

/// Those whom the meeting lacks: they are not there, or not with all that they did before.
std::set<std::int32_t> lacking(const Meeting& meeting) {
  std::set<std::int32_t> ranks = meeting.absent;
  ranks.insert(meeting.behind.begin(), meeting.behind.end());
  return ranks;
}

constexpr std::size_t examined_max = 1024;

/// Who of the circle went past a meeting that others of it wait in.
std::optional<StuckFinding> wrong_order(const std::set<std::int32_t>& circle,
                                        const WaitGraph& graph, const OperationBoard& board) {
  OperationOrder order(board);
  StuckFinding finding;
  finding.kind = StuckKind::wrong_order;
  std::set<std::int32_t> ranks;
  std::size_t examined = 0;
  for (const Meeting& meeting : graph.meetings()) {
    if (!is_collective(meeting.key)) continue;
    for (const std::int32_t rank : lacking(meeting)) {
      if (!circle.contains(rank) || ++examined > examined_max) continue;
      const RankOperation* instead = order.went_past(rank, meeting.key, meeting.seq);
      if (instead == nullptr || !ranks.insert(rank).second) continue;
      finding.operation = meeting.seen;
      finding.last = *instead;
    }
  }
  // Where most differ nobody can tell who is right.
  if (ranks.empty() || ranks.size() * 2 > circle.size()) return std::nullopt;
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.waiting = circle.size() - std::min(circle.size(), ranks.size());
  finding.evidence = {finding.last.event, finding.operation.event};
  return finding;
}

std::optional<StuckFinding> deadlock(const WaitGraph& graph, const OperationBoard& board) {
  std::set<std::int32_t> in_no_circle;
  for (const Meeting& meeting : graph.meetings()) {
    const std::set<std::int32_t> ranks = lacking(meeting);
    if (ranks.empty() || !in_no_circle.insert(*ranks.begin()).second) continue;
    const std::set<std::int32_t> circle = closed_circle(graph, *ranks.begin());
    if (circle.empty()) continue;
    if (auto finding = wrong_order(circle, graph, board)) return finding;
    StuckFinding finding;
    finding.kind = StuckKind::deadlock;
    finding.operation = meeting.seen;
    finding.waiting = circle.size();
    finding.evidence.push_back(meeting.seen.event);
    if (const auto first = first_to_stop(circle, board)) finding.ranks = {*first};
    if (finding.ranks.empty()) finding.ranks.assign(circle.begin(), circle.end());
    add_last(finding, board);
    return finding;
  }
  return std::nullopt;
}

/// In the operation that everybody has entered: those who have not started it on their GPU, where
/// the others have.
std::vector<std::int32_t> not_started(const Meeting& meeting, const OperationBoard& board) {
  std::vector<std::int32_t> scheduled;
  std::size_t started = 0;
  for (const std::int32_t rank : meeting.waiting) {
    const RankOperation* operation = board.trace(rank)->lane(meeting.key)->at(meeting.seq);
    if (operation == nullptr) continue;
    const std::string_view state = operation->event->field("state");
    if (state == "started") ++started;
    if (state == "scheduled") scheduled.push_back(rank);
  }
  return started > scheduled.size() ? scheduled : std::vector<std::int32_t>{};
}

std::optional<StuckFinding> inside(const WaitGraph& graph, const OperationBoard& board) {
  const Meeting* best = nullptr;
  for (const Meeting& meeting : graph.meetings()) {
    if (!meeting.absent.empty() || !meeting.behind.empty() || !meeting.unread.empty()) continue;
    if (best == nullptr || meeting.waiting.size() > best->waiting.size()) best = &meeting;
  }
  if (best == nullptr) return std::nullopt;
  StuckFinding finding;
  finding.kind = StuckKind::inside;
  finding.operation = best->seen;
  finding.waiting = best->waiting.size();
  finding.evidence.push_back(best->seen.event);
  if (is_collective(best->key)) finding.ranks = not_started(*best, board);
  add_last(finding, board);
  return finding;
}

}  // namespace

std::optional<StuckFinding> find_stuck_operation(const OperationBoard& board,
                                                 const std::set<std::int32_t>& said_waiting) {
  const WaitGraph graph(board, said_waiting);
  if (graph.meetings().empty()) return std::nullopt;
  auto finding = mismatch(graph, board);
  if (!finding) finding = not_joined(graph, board);
  if (!finding) finding = no_trace(graph);
  // What everybody has come to and does not end is no matter of order.
  if (!finding) finding = inside(graph, board);
  if (!finding) finding = deadlock(graph, board);
  if (finding && finding->kind != StuckKind::mismatch && said_waiting.empty() &&
      was_moving(board)) {
    finding->kind = StuckKind::moving;
    finding->ranks.clear();
  }
  if (finding && finding->unread.empty()) {
    for (const Meeting& meeting : graph.meetings())
      finding->unread.insert(finding->unread.end(), meeting.unread.begin(), meeting.unread.end());
    std::sort(finding->unread.begin(), finding->unread.end());
    finding->unread.erase(std::unique(finding->unread.begin(), finding->unread.end()),
                          finding->unread.end());
  }
  return finding;
}

}  // namespace faultline
