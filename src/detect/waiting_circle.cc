#include "detect/waiting_circle.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "detect/operation_match.h"
#include "detect/operation_order.h"

namespace faultline {
namespace {

using Ranks = std::set<std::int32_t>;

constexpr std::size_t examined_max = 1024;

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
std::set<std::int32_t> closed_circle(const WaitGraph& graph, std::int32_t rank, Edges edges) {
  while (true) {
    std::set<std::int32_t> circle = graph.waited_for_by(rank, edges);
    const std::set<std::int32_t> held = graph.held_up_by(rank, edges);
    const auto leads_out = std::find_if(circle.begin(), circle.end(), [&](std::int32_t other) {
      return other != rank && !held.contains(other);
    });
    // From there nothing leads back here, so what it reaches is smaller each time.
    if (leads_out == circle.end()) return circle.contains(rank) ? circle : std::set<std::int32_t>{};
    rank = *leads_out;
  }
}

Ranks common(const Ranks& one, const Ranks& other) {
  Ranks both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::inserter(both, both.end()));
  return both;
}

/// The circle's own meetings: somebody of it waits there for somebody of it.
std::vector<const Meeting*> meetings_of(const Ranks& circle, const WaitGraph& graph) {
  std::vector<const Meeting*> own;
  for (const Meeting& meeting : graph.meetings()) {
    const bool is_own =
        !common(meeting.at_front(), circle).empty() && !common(meeting.lacking(), circle).empty();
    if (is_own) own.push_back(&meeting);
  }
  return own;
}

/// Those of ranks that only wait for it: somebody of it is not there at all.
std::vector<const Meeting*> meetings_behind(const Ranks& circle, const WaitGraph& graph) {
  std::vector<const Meeting*> behind;
  for (const Meeting& meeting : graph.meetings()) {
    const bool outside = common(meeting.waiting, circle).empty() && meeting.behind.empty();
    if (outside && !common(meeting.absent, circle).empty()) behind.push_back(&meeting);
  }
  return behind;
}

/// The lane in which `rank` would have handed in what the meeting lacks.
LaneKey lane_missed(const Meeting& meeting) {
  return is_collective(meeting.key) ? meeting.key : seen_by_peer(meeting.key, meeting.seen.rank);
}

/// Who of the circle went past a meeting that others wait in.
std::optional<StuckFinding> wrong_order(const Ranks& circle,
                                        const std::vector<const Meeting*>& meetings,
                                        const OperationBoard& board) {
  OperationOrder order(board);
  StuckFinding finding;
  finding.kind = StuckKind::wrong_order;
  Ranks ranks;
  std::size_t examined = 0;
  for (const Meeting* meeting : meetings) {
    for (const std::int32_t rank : common(meeting->lacking(), circle)) {
      if (++examined > examined_max) break;
      const RankOperation* instead = order.went_past(rank, lane_missed(*meeting), meeting->seq);
      if (instead == nullptr || !ranks.insert(rank).second) continue;
      finding.operation = meeting->seen;
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

/// How many lanes of this group the rank has with that peer, one for each direction.
std::size_t lanes_with(std::int32_t rank, std::int32_t peer, const std::string& group,
                       const OperationBoard& board) {
  const RankTrace* trace = board.trace(rank);
  if (trace == nullptr) return 0;
  const std::string name = std::to_string(peer);
  return static_cast<std::size_t>(trace->lane({group, "send>" + name}) != nullptr) +
         static_cast<std::size_t>(trace->lane({group, "recv<" + name}) != nullptr);
}

/// Whether this is the only transfer that its rank ever had with this peer, and the peer had none.
bool are_strangers(const Meeting& meeting, const OperationBoard& board) {
  const std::int32_t rank = meeting.seen.rank, peer = peer_of(meeting.key);
  const std::string& group = meeting.key.group;
  return board.trace(peer) != nullptr && lanes_with(peer, rank, group, board) == 0 &&
         lanes_with(rank, peer, group, board) == 1 &&
         board.trace(rank)->lane(meeting.key)->completed.event == nullptr;
}

/// The one that is alone in what it waits in, where most of the circle wait for it elsewhere.
std::optional<StuckFinding> alone_elsewhere(const Ranks& circle,
                                            const std::vector<const Meeting*>& meetings,
                                            const WaitGraph& graph) {
  for (const Meeting* meeting : meetings) {
    const Ranks front = meeting->at_front(), lacking = meeting->lacking();
    if (lacking.size() != 1 || front.size() < 2 || front.size() * 2 <= circle.size()) continue;
    const std::int32_t rank = *lacking.begin();
    const auto elsewhere = graph.waits_in(rank);
    const bool alone = !elsewhere.empty() &&
                       std::all_of(elsewhere.begin(), elsewhere.end(), [](const Meeting* other) {
                         return other->waiting.size() == 1 && other->lacking().size() > 1;
                       });
    if (!alone) continue;
    StuckFinding finding;
    finding.kind = StuckKind::wrong_order;
    finding.ranks = {rank};
    finding.operation = meeting->seen;
    finding.last = elsewhere.front()->seen;
    finding.waiting = front.size();
    finding.evidence = {finding.last.event, finding.operation.event};
    return finding;
  }
  return std::nullopt;
}

StuckFinding circle_finding(const Ranks& circle, const std::vector<const Meeting*>& meetings,
                            const WaitGraph& graph, const OperationBoard& board) {
  StuckFinding finding;
  finding.kind = StuckKind::deadlock;
  const Meeting& meeting = *meetings.front();
  finding.operation = meeting.seen;
  finding.waiting = circle.size();
  finding.evidence.push_back(meeting.seen.event);
  if (const auto first = first_to_stop(circle, board)) {
    finding.ranks = {*first};
    if (const RankOperation* newest = board.trace(*first)->newest()) finding.last = *newest;
  } else {
    // For whom they wait there waits himself in this.
    finding.ranks.assign(circle.begin(), circle.end());
    const auto next = graph.waits_in(*common(meeting.lacking(), circle).begin());
    if (!next.empty()) finding.last = next.front()->seen;
  }
  if (finding.last.event != nullptr)
    finding.evidence.insert(finding.evidence.begin(), finding.last.event);
  return finding;
}

}  // namespace

std::optional<StuckFinding> find_circle(const WaitGraph& graph, const OperationBoard& board,
                                        Edges edges) {
  Ranks in_no_circle;
  for (const Meeting& meeting : graph.meetings()) {
    const Ranks ranks = edges == Edges::all ? meeting.lacking() : meeting.surely_lacking;
    if (ranks.empty() || !in_no_circle.insert(*ranks.begin()).second) continue;
    const Ranks circle = closed_circle(graph, *ranks.begin(), edges);
    if (circle.size() < 2) continue;
    const auto meetings = meetings_of(circle, graph);
    if (auto finding = wrong_order(circle, meetings, board)) return finding;
    if (auto finding = wrong_order(circle, meetings_behind(circle, graph), board)) return finding;
    if (auto finding = alone_elsewhere(circle, meetings, graph)) return finding;
    return circle_finding(circle, meetings, graph, board);
  }
  return std::nullopt;
}

std::optional<StuckFinding> find_wrong_peer(const WaitGraph& graph, const OperationBoard& board) {
  StuckFinding finding;
  finding.kind = StuckKind::wrong_peer;
  for (const Meeting& asks : graph.meetings()) {
    const std::int32_t rank = asks.seen.rank;
    if (is_collective(asks.key) || asks.behind.contains(rank) || !are_strangers(asks, board))
      continue;
    const auto held_up = graph.held_up_in(rank);
    const auto familiar = std::find_if(held_up.begin(), held_up.end(), [&](const Meeting* waits) {
      const LaneKey missed = lane_missed(*waits);
      return !is_collective(waits->key) && waits->seen.rank != rank &&
             missed.group == asks.key.group &&
             missed.lane.substr(0, 5) == asks.key.lane.substr(0, 5) &&
             lanes_with(rank, waits->seen.rank, missed.group, board) > 0;
    });
    if (familiar == held_up.end()) continue;
    // Two that ask for strangers may as well have been asked for by them.
    if (!finding.ranks.empty() && finding.ranks.front() != rank) return std::nullopt;
    finding.ranks = {rank};
    finding.operation = (*familiar)->seen;
    finding.last = asks.seen;
  }
  if (finding.ranks.empty()) return std::nullopt;
  finding.waiting = 1;
  finding.evidence = {finding.last.event, finding.operation.event};
  return finding;
}

}  // namespace faultline
