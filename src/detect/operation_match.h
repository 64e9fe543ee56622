// Do the ranks that met in one collective mean the same? Nobody is taken to be right beforehand:
// the many are, and where two stand against two, what the sister groups did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detect/operation_board.h"

namespace faultline {

bool is_collective(const LaneKey& key);
/// The peer of "send>5" and "recv<5", -1 of others.
std::int32_t peer_of(const LaneKey& key);
/// The other end of the transfers that `rank` has in this lane.
LaneKey seen_by_peer(const LaneKey& key, std::int32_t rank);
/// Nobody gets through it before everybody has come. Not so of those with a root, which may be done
/// on one side early, and of exchanges, where some may have nothing to give.
bool needs_everybody(const Event& event);

/// "all_reduce 11", "recv 3 from rank 5".
std::string operation_name(const RankOperation& operation);

struct OddRanks {
  std::vector<std::int32_t> ranks;  // those who differ; everybody where it cannot be told who
  bool sided = false;               // it could be told
  RankOperation usual, unusual;
  std::string differs;  // "all_gather against all_reduce", "8192 elements against 4096"
};

/// nullopt if they agree, or fewer than two have recorded operation `seq` of this lane.
std::optional<OddRanks> find_odd_ranks(const OperationBoard& board, const LaneKey& key,
                                       std::int64_t seq);

/// How the two ends of one transfer differ, "1024 elements against 512 elements"; "" if they agree,
/// or do not say.
std::string unequal_ends(const Event& one, const Event& other);

/// The number of elements in "[8,16],[4]" or "429312": 132; -1 if it is none of these.
std::int64_t element_count(std::string_view sizes);

}  // namespace faultline
