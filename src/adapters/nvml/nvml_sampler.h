// NVML behind a child process. A sick GPU can hang the driver inside any call, for ever and
// unkillably; so the calls are made by a process of their own, which answers over a pipe within a
// deadline or is given up.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/ports.h"
#include "base/clock.h"

namespace faultline {

/// This program as the child: {"/proc/self/exe", "nvml-child"}.
std::vector<std::string> nvml_child_command();

class NvmlSampler final : public GpuSampler {
 public:
  struct Limits {
    /// NVML may need seconds to start where persistence mode is off.
    Duration answer_max = std::chrono::seconds{15};
    /// Before a new child after one that failed; doubles.
    Duration pause_min = std::chrono::seconds{10};
    Duration pause_max = std::chrono::minutes{5};
  };
  NvmlSampler(std::vector<std::string> command, const Clock& clock, Limits limits);
  NvmlSampler(std::vector<std::string> command, const Clock& clock)
      : NvmlSampler(std::move(command), clock, Limits{}) {}
  ~NvmlSampler() override;
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  /// Waits at most `deadline`, then says unavailable and looks for the answer at the next call.
  /// deadline_exceeded once the child has not answered within its own limit: it is killed, and
  /// started again after a pause. not_found: no NVML here.
  Result<std::vector<GpuSample>> sample(Duration deadline) override;

 private:
  Status start();
  void kill_child();
  [[nodiscard]] bool zombie_left();
  Error give_up(ErrorCode code, std::string why);
  Result<std::string> wait_for_line(Duration deadline);

  std::vector<std::string> command_;
  const Clock& clock_;
  Limits limits_;
  pid_t pid_ = -1;
  pid_t dying_ = -1;  // killed, not gone yet: a process inside a hung driver call cannot die
  int to_child_ = -1;
  int from_child_ = -1;
  bool asked_ = false;
  Duration asked_at_{0};
  Duration quiet_until_{0};
  int failures_ = 0;
  std::string in_;
};

/// One line of the child's: samples, or an error that it met.
Result<std::vector<GpuSample>> parse_nvml_line(std::string_view line);

}  // namespace faultline
