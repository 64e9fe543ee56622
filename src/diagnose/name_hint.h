// What a file's name hints at where its content does not say: the rank that wrote it, its job, its
// node. Hints only; what a line says of itself counts before them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace faultline {

struct NameHint {
  std::int32_t rank = -1;  // "rank3.stderr.log", "rank_2/out", "attempt_0/3/stderr.log"
  std::string job;         // "slurm-123_4.out", "job-123.log"; a valid job id, or ""
  std::string node;        // "kern-n3.log", "n3/dmesg", "slurm-123-n3.out"; a valid name, or ""
  /// "train_123_n3_1.out": a task on `node` wrote the file. Without its number the node may be only
  /// that of the batch script, into whose file all nodes of the job write.
  bool written_by_task = false;
};

/// Of "run/rank3.stderr.log", with '/' between folders.
NameHint name_hint(std::string_view path);

/// The rank of a dump whose name ends in a number, as PyTorch names them: "nccl_trace_rank_17",
/// "trace.12.pickle", "dump3.json"; -1 without one. Only for files that are known to be such dumps.
std::int32_t trailing_rank(std::string_view path);

}  // namespace faultline
