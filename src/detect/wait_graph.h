// Who waits for whom: every operation that somebody has not finished is a meeting of those who wait
// in it, and those who are not there hold it up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "detect/operation_board.h"

namespace faultline {

/// One thing that ranks wait in, wherever it was recorded.
struct Meeting {
  LaneKey key;
  std::int64_t seq = -1;
  RankOperation seen;              // as the first of those who wait recorded it
  std::set<std::int32_t> waiting;  // it is the first that they have not finished in this lane
  std::set<std::int32_t> absent;   // belong there and have not handed it in
  std::set<std::int32_t> unread;   // belong there and left no trace, or one that says nothing
  std::set<std::int32_t> behind;   // have handed it in, and something earlier is not done

  /// Those who are not there, whatever the ranks without a trace did.
  std::set<std::int32_t> surely_lacking;

  /// Those whom it lacks, by their traces.
  [[nodiscard]] std::set<std::int32_t> lacking() const;
  /// Those who have nothing else before it.
  [[nodiscard]] std::set<std::int32_t> at_front() const;
  [[nodiscard]] bool is_complete() const;
};

/// The edges of a walk: all, or those that hold whatever the ranks without a trace did.
enum class Edges { all, certain };

class WaitGraph {
 public:
  /// `said_waiting`: were heard to wait elsewhere than in a trace.
  WaitGraph(const OperationBoard& board, const std::set<std::int32_t>& said_waiting);

  [[nodiscard]] const std::vector<Meeting>& meetings() const { return meetings_; }
  /// The meetings that `rank` waits in before all else.
  [[nodiscard]] std::vector<const Meeting*> waits_in(std::int32_t rank) const;
  /// The meetings that lack `rank`.
  [[nodiscard]] std::vector<const Meeting*> held_up_in(std::int32_t rank) const;
  /// Is in something that somebody with a trace is missing from.
  [[nodiscard]] bool waits(std::int32_t rank) const;
  /// Everybody who waits for `rank`, directly or through others.
  [[nodiscard]] std::set<std::int32_t> held_up_by(std::int32_t rank, Edges edges) const;
  /// Everybody for whom `rank` waits, directly or through others.
  [[nodiscard]] std::set<std::int32_t> waited_for_by(std::int32_t rank, Edges edges) const;

 private:
  void add_rank(std::int32_t rank, const RankTrace& trace);
  Meeting& meeting_of(const LaneKey& key, const RankOperation& operation, std::int32_t rank);
  void complete(Meeting& meeting) const;
  void place(Meeting& meeting, std::int32_t rank, const LaneKey& key, std::int64_t seq) const;
  [[nodiscard]] std::set<std::int32_t> surely_lacking(const Meeting& meeting) const;
  using MeetingsOfRank = std::map<std::int32_t, std::vector<std::size_t>>;
  [[nodiscard]] std::vector<const Meeting*> of(std::int32_t rank, const MeetingsOfRank& all) const;
  template <class Members>
  std::set<std::int32_t> walk(std::int32_t from, const MeetingsOfRank& meetings_of,
                              Members members) const;

  const OperationBoard& board_;
  const std::set<std::int32_t>& said_waiting_;
  std::set<std::int32_t> lost_record_;
  std::vector<Meeting> meetings_;
  std::map<std::pair<LaneKey, std::int64_t>, std::size_t> index_;
  /// Of everything that a rank has handed in and not seen done the first.
  std::map<std::int32_t, std::int64_t> first_turn_;
  MeetingsOfRank waits_in_;  // the meetings that a rank waits in before all else, by number
  MeetingsOfRank holds_up_;  // those that it is missing from
  MeetingsOfRank surely_holds_up_;
};

}  // namespace faultline
