// Where each rank stands in each process group, as the traces of a job tell it: what it has handed
// in, what of that is not done, and who else belongs there.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/event.h"

namespace faultline {

inline constexpr std::size_t board_events_max = 1U << 20U;  // 16,384 ranks with 64 lanes each

/// One operation as one rank recorded it.
struct RankOperation {
  const Event* event = nullptr;  // its other fields: op, state, in_sizes, in_dtypes, frame, ...
  std::int32_t rank = -1;
  std::int64_t seq = -1;     // its number in its lane; -1 if the trace does not say
  std::int64_t record = -1;  // its number among everything that the rank handed in
  std::int64_t turn = -1;    // the same; of a batch the number of its first, for it begins as one
};

/// One group's collectives, or one group's transfers in one direction with one peer: operations
/// that are carried out in the order in which they were handed in.
struct LaneKey {
  std::string group;
  std::string lane;  // "collective", "send>5", "recv<5" (global ranks)

  auto operator<=>(const LaneKey&) const = default;
};

struct Lane {
  RankOperation completed;             // the newest; no event if there is none
  std::vector<RankOperation> pending;  // in order, the first few
  std::int64_t last_seq = -1;          // of the newest that was handed in

  /// The operation with this number, or nullptr.
  [[nodiscard]] const RankOperation* at(std::int64_t seq) const;
};

struct RankTrace {
  const Event* read = nullptr;
  std::map<LaneKey, Lane> lanes;
  std::int64_t last_record = -1;
  bool truncated = false;  // the beginning of the record is lost

  [[nodiscard]] const Lane* lane(const LaneKey& key) const;
  /// What it handed in last; nullptr if nothing.
  [[nodiscard]] const RankOperation* newest() const;
};

struct ProcessGroup {
  std::string desc;
  std::set<std::int32_t> ranks;
};

/// Pointers and references stay valid while the board lives.
class OperationBoard {
 public:
  OperationBoard() = default;
  OperationBoard(const OperationBoard&) = delete;
  OperationBoard& operator=(const OperationBoard&) = delete;

  /// False for other events, for what is known already, and when there is no more room.
  bool add(const Event& event);

  /// Of two traces of one rank the later one, by what it handed in.
  [[nodiscard]] const std::map<std::int32_t, const RankTrace*>& traces() const { return traces_; }
  [[nodiscard]] const RankTrace* trace(std::int32_t rank) const;
  [[nodiscard]] const std::map<std::string, ProcessGroup>& groups() const { return groups_; }
  /// nullptr if nobody has told who is in it.
  [[nodiscard]] const ProcessGroup* group(const std::string& name) const;
  [[nodiscard]] bool empty() const { return traces_.empty(); }

 private:
  void add_group(const Event& event);
  void add_operation(const Event& event, RankTrace& trace);

  std::list<Event> events_;
  std::set<EventId> known_;
  std::map<std::pair<std::int32_t, std::string>, RankTrace> by_file_;  // rank and raw.path
  std::map<std::int32_t, const RankTrace*> traces_;
  std::map<std::string, ProcessGroup> groups_;
};

/// "0-3,8" and "0-28:4" (every fourth), what is no number left out; at most `ranks_max`.
std::set<std::int32_t> parse_ranks(std::string_view text, std::size_t ranks_max);

}  // namespace faultline
