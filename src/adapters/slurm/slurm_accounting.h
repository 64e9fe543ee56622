// How attempts ended that slurmctld no longer lists (it forgets them after MinJobAge, or with its
// state): slurmdbd's records, by sacct. A site without slurmdbd loses nothing else.
#pragma once

#include <string_view>
#include <vector>

#include "adapters/slurm/slurm_command.h"
#include "base/clock.h"
#include "base/counters.h"
#include "model/attempt.h"

namespace faultline {

/// slurmdbd may be slow or away; the view of the cluster must not wait for it.
inline constexpr Duration accounting_deadline = std::chrono::seconds{2};
/// After it did not answer, or a site has none.
inline constexpr Duration accounting_pause = std::chrono::minutes{5};
inline constexpr std::size_t accounting_attempts_max = 200;  // asked for in one command

/// The formats of `sacct --parsable2`: no free text, so that no name can forge a field.
inline constexpr std::string_view accounting_format = "JobID,State,ExitCode,Start,End";

struct SlurmRecord {
  std::string job;  // "6", "2_1", "4+1"
  AttemptState state = AttemptState::unknown;
  std::int32_t exit_code = 0;
  Instant start;
  Instant end;
};
/// What is no record of an attempt that ran is left out.
std::vector<SlurmRecord> parse_accounting(std::string_view text);

class SlurmAccounting {
 public:
  SlurmAccounting(const SlurmCommand& command, const Clock& clock, Counters& counters)
      : command_(command), clock_(clock), counters_(counters) {}

  /// Those of `forgotten` that slurmdbd knows the end of, with state, exit code and end. Not
  /// thread-safe.
  std::vector<Attempt> ends_of(const std::vector<Attempt>& forgotten);

 private:
  const SlurmCommand& command_;
  const Clock& clock_;
  Counters& counters_;
  Duration quiet_until_{0};  // monotonic
};

}  // namespace faultline
