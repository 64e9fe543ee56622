// Which job a process belongs to. Its cgroup is the scheduler's word; its environment is the
// user's, and is believed only where it agrees or where there is no such cgroup.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "agent/ports.h"

namespace faultline {

class ProcfsTable final : public ProcessTable {
 public:
  explicit ProcfsTable(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}
  /// nullopt if there is no such process.
  std::optional<ProcessOrigin> origin(std::int64_t pid) override;

 private:
  std::filesystem::path proc_;
};

/// "123" from the text of /proc/PID/cgroup, with Slurm's v1 (/slurm/uid_0/job_123/step_0) and v2
/// (/system.slice/slurmstepd.scope/job_123/step_0/user/task_0) paths; "" if there is none.
std::string job_of_cgroup(std::string_view text);

}  // namespace faultline
