// Files of one rank each, by their names: "kill-rank3.stdout.log" and "hang-rank3.stdout.log" in
// one folder are of two runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace faultline {

struct RankFileName {
  /// What stands before the rank's number: "kill-rank"; "" where the name does not hold it.
  std::string stem;
  /// What stands behind it, or the whole name: ".stdout.log".
  std::string tail;
};

/// Of a file's name without its folder.
RankFileName rank_file_name(std::string_view name, std::int32_t rank);

/// Two files of the same rank and tail: their stems name different runs, and not the two outputs of
/// a process, or local ranks of two hosts.
bool name_other_runs(std::string_view stem, std::string_view other);

}  // namespace faultline
