#include "ingest/slurm_words.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

using Word = std::pair<std::string_view, std::string_view>;

constexpr std::array<std::pair<std::string_view, AttemptState>, 23> job_states{{
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
    {"DEADLINE", AttemptState::timeout},
    {"NODE_FAIL", AttemptState::node_fail},
    {"BOOT_FAIL", AttemptState::node_fail},
    {"PREEMPTED", AttemptState::preempted},
    {"OUT_OF_MEMORY", AttemptState::out_of_memory},
    {"COMPLETING", AttemptState::completing},
    {"STAGE_OUT", AttemptState::completing},
}};

/// sinfo's short words.
constexpr std::array<Word, 12> short_words{{
    {"ALLOC", "ALLOCATED"},
    {"MIX", "MIXED"},
    {"COMP", "COMPLETING"},
    {"DRNG", "DRAINING"},
    {"FAILG", "FAILING"},
    {"RESV", "RESERVED"},
    {"UNK", "UNKNOWN"},
    {"INVAL", "INVALID"},
    {"POW_DN", "POWERING_DOWN"},
    {"POW_UP", "POWERING_UP"},
    {"FUTR", "FUTURE"},
    {"BOOT", "REBOOT_ISSUED"},
}};

/// The mark behind a state.
constexpr std::array<std::pair<char, std::string_view>, 8> marks{{
    {'*', "NOT_RESPONDING"},
    {'~', "POWERED_DOWN"},
    {'#', "POWERING_UP"},
    {'!', "POWER_DOWN"},
    {'%', "POWERING_DOWN"},
    {'$', "MAINT"},
    {'@', "REBOOT_REQUESTED"},
    {'^', "REBOOT_ISSUED"},
}};

bool any_of(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string long_word(std::string_view word) {
  std::string name = upper(word);
  const auto found = std::find_if(short_words.begin(), short_words.end(),
                                  [&](const Word& entry) { return entry.first == name; });
  return found == short_words.end() ? name : std::string(found->second);
}

}  // namespace

AttemptState slurm_job_state(std::string_view word) {
  const auto found = std::find_if(job_states.begin(), job_states.end(),
                                  [&](const auto& entry) { return entry.first == word; });
  return found == job_states.end() ? AttemptState::unknown : found->second;
}

AttemptState slurm_record_state(std::string_view text) {
  const auto word = text.substr(0, text.find(' '));  // "CANCELLED by 1000"
  return word == "REQUEUED" ? AttemptState::requeued : slurm_job_state(word);
}

std::optional<std::int32_t> slurm_exit_code(std::string_view text) {
  const auto colon = text.find(':');
  const auto code = parse_number<std::int32_t>(text.substr(0, colon));
  const auto signal = colon == std::string_view::npos
                          ? 0
                          : parse_number<std::int32_t>(text.substr(colon + 1)).value_or(0);
  if (signal > 0 && signal < 128) return 128 + signal;
  return code;
}

Instant slurm_epoch(std::string_view text) {
  constexpr std::int64_t seconds_max = 9'000'000'000;  // beyond it nanoseconds leave 64 bits
  const auto seconds = parse_number<std::int64_t>(text);
  return seconds && *seconds > 0 && *seconds < seconds_max ? Instant{std::chrono::seconds{*seconds}}
                                                           : Instant{};
}

Instant slurm_instant(std::string_view text, Duration utc_offset) {
  if (const Instant epoch = slurm_epoch(text); known(epoch)) return epoch;
  constexpr std::size_t date_bytes = 10;
  const auto instant = parse_instant(text);
  if (!instant || *instant <= Instant{}) return {};
  const bool says_offset = text.find_first_of("Z+-", date_bytes) != std::string_view::npos;
  return says_offset ? *instant : *instant - utc_offset;
}

std::vector<std::string> slurm_hosts(std::string_view list) {
  if (list.empty() || list == "(null)" || list == "None assigned" || list == "N/A") return {};
  auto hosts = expand_hostlist(list, slurm_hosts_max);
  return hosts ? std::move(hosts).value() : std::vector<std::string>{};
}

std::vector<std::string> slurm_node_words(std::string_view state) {
  std::vector<std::string> words;
  std::vector<std::string> marked;
  for (std::string_view word : split(state, '+')) {
    for (bool found = true; found && !word.empty();) {
      const auto* const mark = std::find_if(marks.begin(), marks.end(), [&](const auto& entry) {
        return entry.first == word.back();
      });
      found = mark != marks.end();
      if (!found) break;
      marked.emplace_back(mark->second);
      word.remove_suffix(1);
    }
    if (word.ends_with('-')) word.remove_suffix(1);  // planned: the backfill has an eye on it
    if (!word.empty()) words.push_back(long_word(word));
  }
  words.insert(words.end(), marked.begin(), marked.end());
  return words;
}

void apply_slurm_node_words(const std::vector<std::string>& words, SchedulerNode& node) {
  node.drained = any_of(words, {"DRAIN", "DRAINED", "DRAINING"});
  node.down = any_of(words, {"DOWN", "ERROR"});
  node.maintenance = any_of(words, {"MAINT", "MAINTENANCE"});
  const bool base_up = any_of(words, {"IDLE", "ALLOCATED", "MIXED", "COMPLETING", "ALLOC", "MIX"});
  const bool unusable = any_of(
      words, {"FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "POWER_DOWN", "POWERED_DOWN",
              "POWERING_DOWN", "POWERING_UP", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED",
              "INVALID", "INVALID_REG", "FUTURE", "UNKNOWN", "BLOCKED", "DYNAMIC_FUTURE"});
  node.available = base_up && !unusable && !node.drained && !node.down && !node.maintenance;
  node.idle = node.available && any_of(words, {"IDLE"}) && !any_of(words, {"COMPLETING"});
  node.state_text = join(words, "+");
}

}  // namespace faultline
