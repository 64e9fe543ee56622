#include "adapters/slurm/slurm_states.h"

#include "base/contains.h"
#include "ingest/slurm_words.h"

namespace faultline {

void apply_job_states(const std::vector<std::string>& words, SlurmJob& job) {
  for (const auto& raw : words) {
    const std::string_view word = raw;
    if (word == "COMPLETING") {
      job.completing = true;
      continue;
    }
    const auto state = slurm_job_state(word);
    // Flags such as CONFIGURING or REQUEUED come beside a base state, which says more.
    if (state != AttemptState::unknown && job.state == AttemptState::unknown) job.state = state;
  }
  if (job.completing &&
      (job.state == AttemptState::unknown || job.state == AttemptState::running)) {
    job.state = AttemptState::completing;
  }
}

void apply_node_states(const std::vector<std::string>& words, SlurmNode& slurm_node) {
  apply_slurm_node_words(words, slurm_node.node);
  slurm_node.reserved = contains(words, std::string_view("RESERVED"));
}

void apply_hold(std::int64_t priority, SlurmJob& job) {
  job.held = job.state == AttemptState::pending && priority == 0 &&
             (job.reason.starts_with("JobHeld") || held_by_requeue(job) ||
              job.reason.find("held") != std::string::npos);
}

std::int32_t exit_code_of_status(std::int64_t wait_status) {
  const auto signal = static_cast<std::int32_t>(wait_status & 0x7f);
  return signal != 0 ? 128 + signal : static_cast<std::int32_t>((wait_status >> 8) & 0xff);
}

std::string update_target(const SlurmJob& job) {
  return job.array_tasks.empty() ? job.id : job.array_job + "_[" + job.array_tasks + "]";
}

bool held_by_requeue(const SlurmJob& job) {
  constexpr std::string_view text = "job requeued in held state";
  return job.description == text || job.reason == text;
}

}  // namespace faultline
