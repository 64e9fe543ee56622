// In which order do the ranks of a program call their operations? Members of the same groups and
// ranks with the same part in the program do so in one order; where ranks wait for each other in a
// circle, who differs from them made it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "detect/operation_board.h"

namespace faultline {

/// What a lane is to its rank, whatever its group is called: the groups of one kind have the same
/// description, size and distance between their ranks; a transfer goes so many places on or back.
using LaneKind = std::tuple<std::string, std::size_t, std::int64_t, std::string>;

/// A rank's lanes by what they are to it; nullptr where several are the same.
using KindLanes = std::map<LaneKind, const Lane*>;

class OperationOrder {
 public:
  explicit OperationOrder(const OperationBoard& board);

  /// What `rank` has handed in before it came to operation `seq` of this lane, and its like do
  /// after it: it has left that operation out, or calls the two the other way round. nullptr if
  /// there is nothing of the kind, or nobody to compare it with.
  /// Nor is there where the traces have so many lanes that too many would have to be compared.
  [[nodiscard]] const RankOperation* went_past(std::int32_t rank, const LaneKey& key,
                                               std::int64_t seq);

 private:
  [[nodiscard]] std::optional<LaneKind> kind_of(std::int32_t rank, const LaneKey& key) const;

  [[nodiscard]] int votes(std::int32_t rank, const LaneKey& key, std::int64_t seq,
                          const LaneKey& other_key, const RankOperation& instead);
  /// The place of `rank` in the group of its transfers.
  [[nodiscard]] std::int64_t stage_of(std::int32_t rank, const LaneKey& key) const;
  [[nodiscard]] bool same_stage(std::int32_t rank, std::int32_t other) const;
  /// The two play the same part, whatever they do in lanes of this kind: their programs have come
  /// as far, or their GPUs have.
  [[nodiscard]] bool alike(std::int32_t rank, std::int32_t other, const LaneKind& but_for);

  const OperationBoard& board_;
  std::map<std::int32_t, KindLanes> lanes_;
  std::map<std::int32_t, std::int64_t> stages_;  // of those that have transfers
  /// In what two ranks differ, by what was handed in and by what is done; as far as was asked.
  using Differences = std::pair<std::vector<LaneKind>, std::vector<LaneKind>>;
  std::map<std::pair<std::int32_t, std::int32_t>, Differences> differences_;
  std::size_t compared_ = 0;
};

}  // namespace faultline
