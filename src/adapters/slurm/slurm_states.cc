#include "adapters/slurm/slurm_states.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::array<std::pair<std::string_view, AttemptState>, 20> base_states{{
    {"PENDING", AttemptState::pending},
    {"REQUEUED", AttemptState::pending},
    {"REQUEUE_HOLD", AttemptState::pending},
    {"REQUEUE_FED", AttemptState::pending},
    {"SPECIAL_EXIT", AttemptState::pending},
    {"RUNNING", AttemptState::running},
    {"SUSPENDED", AttemptState::running},
    {"STOPPED", AttemptState::running},
    {"SIGNALING", AttemptState::running},
    {"RESIZING", AttemptState::running},
    {"CONFIGURING", AttemptState::running},
    {"COMPLETED", AttemptState::completed},
    {"CANCELLED", AttemptState::cancelled},
    {"REVOKED", AttemptState::cancelled},
    {"FAILED", AttemptState::failed},
    {"TIMEOUT", AttemptState::timeout},
    {"NODE_FAIL", AttemptState::node_fail},
    {"PREEMPTED", AttemptState::preempted},
    {"OUT_OF_MEMORY", AttemptState::out_of_memory},
    {"STAGE_OUT", AttemptState::completing},
}};

AttemptState base_state(std::string_view word) {
  for (const auto& [name, state] : base_states) {
    if (name == word) return state;
  }
  if (word == "BOOT_FAIL") return AttemptState::node_fail;
  if (word == "DEADLINE") return AttemptState::timeout;
  return AttemptState::unknown;
}

bool any_of(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

}  // namespace

void apply_job_states(const std::vector<std::string>& words, SlurmJob& job) {
  for (const auto& raw : words) {
    const std::string_view word = raw;
    if (word == "COMPLETING") {
      job.completing = true;
      continue;
    }
    const auto state = base_state(word);
    // Flags such as CONFIGURING or REQUEUED come beside a base state, which says more.
    if (state != AttemptState::unknown && job.state == AttemptState::unknown) job.state = state;
  }
  if (job.completing &&
      (job.state == AttemptState::unknown || job.state == AttemptState::running)) {
    job.state = AttemptState::completing;
  }
}

void apply_node_states(const std::vector<std::string>& words, SlurmNode& slurm_node) {
  auto& node = slurm_node.node;
  node.drained = any_of(words, {"DRAIN", "DRAINED", "DRAINING"});
  node.down = any_of(words, {"DOWN", "ERROR"});
  node.maintenance = any_of(words, {"MAINT", "MAINTENANCE"});
  slurm_node.reserved = any_of(words, {"RESERVED"});
  const bool base_up = any_of(words, {"IDLE", "ALLOCATED", "MIXED", "COMPLETING", "ALLOC", "MIX"});
  const bool unusable = any_of(
      words, {"FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "POWER_DOWN", "POWERED_DOWN",
              "POWERING_DOWN", "POWERING_UP", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED",
              "INVALID", "INVALID_REG", "FUTURE", "UNKNOWN", "BLOCKED", "DYNAMIC_FUTURE"});
  node.available = base_up && !unusable && !node.drained && !node.down && !node.maintenance;
  node.idle = node.available && any_of(words, {"IDLE"}) && !any_of(words, {"COMPLETING"});
  node.state_text = join(words, "+");
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

Instant instant_of(std::string_view text) {
  constexpr std::int64_t seconds_max = 9'000'000'000;  // beyond it nanoseconds leave 64 bits
  const auto seconds = parse_number<std::int64_t>(text);
  return seconds && *seconds > 0 && *seconds < seconds_max ? Instant{std::chrono::seconds{*seconds}}
                                                           : Instant{};
}

std::vector<std::string> hosts_of(std::string_view list) {
  if (list.empty() || list == "(null)" || list == "None assigned" || list == "N/A") return {};
  auto hosts = expand_hostlist(list, slurm_hosts_max);
  return hosts ? std::move(hosts).value() : std::vector<std::string>{};
}

std::string update_target(const SlurmJob& job) {
  return job.array_tasks.empty() ? job.id : job.array_job + "_[" + job.array_tasks + "]";
}

bool held_by_requeue(const SlurmJob& job) {
  constexpr std::string_view text = "job requeued in held state";
  return job.description == text || job.reason == text;
}

}  // namespace faultline
