#include "detect/operation_board.h"

#include <algorithm>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::int32_t rank_number_max = (1 << 24) - 1;
constexpr std::size_t group_ranks_max = 262144;
constexpr std::size_t lane_pending_max = 16;

std::int64_t number_of(const Event& event, std::string_view field) {
  return parse_number<std::int64_t>(event.field(field)).value_or(-1);
}

bool is_trace(EventKind kind) {
  return kind == EventKind::trace_read || kind == EventKind::group_seen ||
         kind == EventKind::operation_pending || kind == EventKind::operation_completed;
}

}  // namespace

std::set<std::int32_t> parse_ranks(std::string_view text, std::size_t ranks_max) {
  std::set<std::int32_t> ranks;
  for (const std::string_view part : split(text, ',')) {
    const auto colon = part.find(':');
    const std::string_view range = part.substr(0, colon);
    const auto dash = range.find('-');
    const auto first = parse_number<std::int32_t>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<std::int32_t>(range.substr(dash + 1));
    const auto step = colon == std::string_view::npos
                          ? std::optional<std::int32_t>(1)
                          : parse_number<std::int32_t>(part.substr(colon + 1));
    if (!first || !last || !step || *first < 0 || *step < 1 || *last > rank_number_max) continue;
    for (std::int64_t rank = *first; rank <= *last && ranks.size() < ranks_max; rank += *step)
      ranks.insert(static_cast<std::int32_t>(rank));
  }
  return ranks;
}

const RankOperation* Lane::at(std::int64_t seq) const {
  if (completed.event != nullptr && completed.seq == seq) return &completed;
  const auto found = std::find_if(pending.begin(), pending.end(),
                                  [seq](const auto& operation) { return operation.seq == seq; });
  return found == pending.end() ? nullptr : &*found;
}

const Lane* RankTrace::lane(const LaneKey& key) const {
  const auto found = lanes.find(key);
  return found == lanes.end() ? nullptr : &found->second;
}

const RankOperation* RankTrace::newest() const {
  const RankOperation* newest = nullptr;
  const auto consider = [&](const RankOperation& operation) {
    if (operation.event == nullptr) return;
    if (newest == nullptr || operation.record > newest->record) newest = &operation;
  };
  for (const auto& [key, lane] : lanes) {
    consider(lane.completed);
    for (const RankOperation& operation : lane.pending) consider(operation);
  }
  return newest;
}

bool OperationBoard::add(const Event& event) {
  if (!is_trace(event.kind) || event.subject.rank < 0) return false;
  if (events_.size() >= board_events_max || !known_.insert(event.id).second) return false;
  const Event& kept = events_.emplace_back(event);
  const std::int32_t rank = kept.subject.rank;
  RankTrace& trace = by_file_[{rank, kept.raw.path}];
  if (kept.kind == EventKind::group_seen) {
    add_group(kept);
  } else if (kept.kind == EventKind::trace_read) {
    trace.read = &kept;
    trace.truncated = kept.field("truncated") == "1";
  } else {
    add_operation(kept, trace);
  }
  const RankTrace*& chosen = traces_[rank];
  if (chosen == nullptr || trace.last_record > chosen->last_record) chosen = &trace;
  return true;
}

void OperationBoard::add_group(const Event& event) {
  ProcessGroup& group = groups_[std::string(event.field("group"))];
  if (group.desc.empty()) group.desc = event.field("desc");
  if (group.ranks.size() < group_ranks_max)
    group.ranks.merge(parse_ranks(event.field("ranks"), group_ranks_max));
}

void OperationBoard::add_operation(const Event& event, RankTrace& trace) {
  Lane& lane = trace.lanes[{std::string(event.field("group")), std::string(event.field("lane"))}];
  RankOperation operation{&event, event.subject.rank, number_of(event, "seq"),
                          number_of(event, "record"), number_of(event, "batch")};
  if (operation.turn < 0) operation.turn = operation.record;
  trace.last_record = std::max(trace.last_record, operation.record);
  lane.last_seq = std::max({lane.last_seq, number_of(event, "last"), operation.seq});
  if (event.kind == EventKind::operation_completed) {
    if (lane.completed.event == nullptr || operation.record > lane.completed.record)
      lane.completed = operation;
    return;
  }
  if (lane.pending.size() >= lane_pending_max) return;
  const auto place = std::upper_bound(
      lane.pending.begin(), lane.pending.end(), operation,
      [](const RankOperation& a, const RankOperation& b) { return a.record < b.record; });
  lane.pending.insert(place, operation);
}

const RankTrace* OperationBoard::trace(std::int32_t rank) const {
  const auto found = traces_.find(rank);
  return found == traces_.end() ? nullptr : found->second;
}

const ProcessGroup* OperationBoard::group(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace faultline
