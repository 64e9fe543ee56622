// What a file's name hints at where its lines do not say: the rank that wrote it, its job, its
// node; and what submitit says of them at its top. What a line says of itself counts before them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

struct NameHint {
  std::int32_t rank = -1;  // "rank3.stderr.log", "rank_2/out", "attempt_0/3/stderr.log"
  std::string job;         // "slurm-123_4.out", "job-123.log"; a valid job id, or ""
  std::string node;        // "kern-n3.log", "n3/dmesg", "slurm-123-n3.out"; a valid name, or ""
  /// "train_123_n3_1.out": a task on `node` wrote the file. Without its number the node may be only
  /// that of the batch script, into whose file all nodes of the job write.
  bool written_by_task = false;
  /// The folder alone says `node`, and no word in it that it is a machine: it may be called after a
  /// ticket or a trial ("b04/dmesg.txt").
  bool node_by_folder = false;
};

/// Of "run/rank3.stderr.log", with '/' between folders.
NameHint name_hint(std::string_view path);

/// submitit begins a task's log with the task's place: "JobEnvironment(job_id=77, hostname=n3,
/// local_rank=3(8), node=1(4), global_rank=11(32))". A text with several of them is of no one task.
void learn_from_submitit_line(std::string_view text, NameHint& hint);

/// The rank of a dump whose name ends in a number, as PyTorch names them: "nccl_trace_rank_17",
/// "trace.12.pickle", "dump3.json"; -1 without one. Only for files that are known to be such dumps.
std::int32_t trailing_rank(std::string_view path);

/// The one number by which each of several paths differs from those that are like it but for
/// numbers: 3 of "3/nccl_trace" beside "2/nccl_trace", 0 of "dump_0_2026-11-12" beside
/// "dump_1_2026-11-12". Paths without such a number are left out, and so are those that name a
/// rank.
std::map<std::string, std::int32_t> numbers_among_siblings(const std::vector<std::string>& paths);

}  // namespace faultline
