// Slurm's words as its clients print them: states, exit codes, times, host lists. Shared by whoever
// asks Slurm and by whoever reads what somebody else has asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/attempt.h"
#include "model/cluster_view.h"

namespace faultline {

inline constexpr std::size_t slurm_hosts_max = 65536;

/// The state of a job that is in the queue: to it REQUEUED means that it waits again.
AttemptState slurm_job_state(std::string_view word);

/// The state of a run as accounting has it: "CANCELLED by 1000", "REQUEUED".
AttemptState slurm_record_state(std::string_view text);

/// "1:0" is an exit code, "0:9" a signal: 128 + 9.
std::optional<std::int32_t> slurm_exit_code(std::string_view text);

/// Seconds since 1970, as SLURM_TIME_FORMAT=%s has it; what is no number and 0 are not known.
Instant slurm_epoch(std::string_view seconds);

/// Seconds since 1970, or a local "2026-11-29T21:18:32"; "Unknown", "None", "N/A" and 0 are not
/// known. `utc_offset` is local time minus UTC.
Instant slurm_instant(std::string_view text, Duration utc_offset);

/// "n[1-3]" to names; "(null)", "None assigned" and an unreadable list are empty.
std::vector<std::string> slurm_hosts(std::string_view list);

/// "DOWN*+DRAIN" is DOWN, DRAIN and NOT_RESPONDING; "idle~" and "drng" of sinfo's short form get
/// their long names.
std::vector<std::string> slurm_node_words(std::string_view state);

/// Sets a node's flags and state_text from such words.
void apply_slurm_node_words(const std::vector<std::string>& words, SchedulerNode& node);

}  // namespace faultline
