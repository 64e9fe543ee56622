#include "detect/stuck_operation.h"

#include <algorithm>
#include <map>

#include "detect/operation_match.h"
#include "detect/standstill.h"
#include "detect/wait_graph.h"
#include "detect/waiting_circle.h"

namespace faultline {
namespace {

/// What `rank` is missing from, and most others wait in before all else.
const Meeting* meeting_missing(const WaitGraph& graph, std::int32_t rank) {
  const Meeting* best = nullptr;
  std::size_t most = 0;
  for (const Meeting& meeting : graph.meetings()) {
    if (!meeting.absent.contains(rank) && !meeting.unread.contains(rank)) continue;
    const std::size_t waiting = meeting.at_front().size();
    if (best == nullptr || waiting > most) best = &meeting;
    most = std::max(most, waiting);
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
    finding.others = odd->sided;
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
      culprits.emplace_back(graph.held_up_by(rank, Edges::all).size(), rank);
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

/// What all members have entered and nothing else holds up. A transfer whose two ends are there is
/// not under way where one of them was handed in together with something that lacks its other end.
bool hangs_itself(const Meeting& meeting, const WaitGraph& graph) {
  return meeting.is_complete() &&
         std::all_of(meeting.waiting.begin(), meeting.waiting.end(), [&](std::int32_t rank) {
           const auto others = graph.waits_in(rank);
           return std::all_of(others.begin(), others.end(),
                              [](const Meeting* other) { return other->is_complete(); });
         });
}

/// Where nothing that is done is left in a record that has lost its beginning, the first that is
/// not done may be lost as well.
bool may_be_lost(const Meeting& meeting, const OperationBoard& board) {
  return std::any_of(meeting.waiting.begin(), meeting.waiting.end(), [&](std::int32_t rank) {
    const RankTrace& trace = *board.trace(rank);
    return trace.truncated &&
           std::all_of(trace.lanes.begin(), trace.lanes.end(),
                       [](const auto& lane) { return lane.second.completed.event == nullptr; });
  });
}

bool is_entered(const Meeting& meeting, const WaitGraph&) { return meeting.is_complete(); }

std::optional<StuckFinding> inside(const WaitGraph& graph, const OperationBoard& board,
                                   bool (*hangs)(const Meeting&, const WaitGraph&)) {
  const Meeting* best = nullptr;
  for (const Meeting& meeting : graph.meetings()) {
    if (!hangs(meeting, graph)) continue;
    if (best == nullptr || meeting.waiting.size() > best->waiting.size()) best = &meeting;
  }
  if (best == nullptr) return std::nullopt;
  StuckFinding finding;
  finding.kind = StuckKind::inside;
  finding.operation = best->seen;
  finding.waiting = best->waiting.size();
  finding.evidence.push_back(best->seen.event);
  finding.first_lost = may_be_lost(*best, board);
  if (is_collective(best->key)) finding.ranks = not_started(*best, board);
  add_last(finding, board);
  return finding;
}

std::optional<StuckFinding> first_finding(const WaitGraph& graph, const OperationBoard& board) {
  auto finding = mismatch(graph, board);
  if (!finding) finding = not_joined(graph, board);
  // What everybody has come to and does not end is no matter of order.
  if (!finding) finding = inside(graph, board, hangs_itself);
  // Ranks that wait for each other do so whatever the ranks without a trace did.
  if (!finding) finding = find_circle(graph, board, Edges::certain);
  if (!finding) finding = find_wrong_peer(graph, board);
  if (!finding) finding = no_trace(graph);
  if (!finding) finding = find_circle(graph, board, Edges::all);
  if (!finding) finding = inside(graph, board, is_entered);
  return finding;
}

}  // namespace

std::optional<StuckFinding> find_stuck_operation(const OperationBoard& board,
                                                 const std::set<std::int32_t>& said_waiting) {
  const WaitGraph graph(board, said_waiting);
  if (graph.meetings().empty()) return std::nullopt;
  auto finding = first_finding(graph, board);
  if (finding && finding->kind != StuckKind::mismatch && said_waiting.empty() &&
      was_moving(board)) {
    finding->kind = StuckKind::moving;
    finding->ranks.clear();
  }
  if (finding && finding->unread.empty()) {
    std::set<std::int32_t> unread;
    for (const Meeting& meeting : graph.meetings())
      unread.insert(meeting.unread.begin(), meeting.unread.end());
    finding->unread.assign(unread.begin(), unread.end());
  }
  return finding;
}

}  // namespace faultline
