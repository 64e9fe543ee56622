// Rules about collectives. Whoever prints that a collective timed out is a victim: the suspects are
// the ranks that never said so, or that are behind the others.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/collective_calls.h"
#include "detect/collective_lines.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "detect/group_members.h"
#include "detect/launch_counts.h"

namespace faultline {
namespace {

// A rank says that its collective timed out, or passes on that another one said so. The counters
// alone ("c10d.lastwork") are also printed when a peer has gone.
constexpr std::string_view timeout_signature = collective_timeout_signature;
constexpr std::string_view passed_on_signature = "c10d.dumpsignal";

/// How far a rank got, by the two counters that are printed: never compared with each other.
struct Waiting {
  const JobLine* first = nullptr;
  bool timed_out = false;       // said so itself
  std::int64_t waits_for = -1;  // the collective that timed out
  std::int64_t handed_in = -1;  // the last one that was enqueued
};

/// Ranks that printed a time-out of one process group.
using Group = std::map<std::int32_t, Waiting>;

void lower(std::int64_t& value, std::int64_t other) {
  if (other >= 0 && (value < 0 || other < value)) value = other;
}

/// The groups in which ranks say that they wait, by rank and number of the collective: the line
/// about the time-out itself may name none.
std::map<std::pair<std::int32_t, std::int64_t>, std::set<std::string>> named_groups(
    const FailureCase& failure) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::set<std::string>> named;
  for (const JobLine& line : failure.lines) {
    std::string group = group_of(line);
    if (line.cause->id == cause_id::collective_timeout && !group.empty())
      named[{line.rank, number_in(line, "seq")}].insert(std::move(group));
  }
  return named;
}

std::map<std::string, Group> waiting_ranks(const FailureCase& failure) {
  const auto named = named_groups(failure);
  std::map<std::string, Group> groups;
  for (const JobLine& line : failure.lines) {
    if (line.cause->id != cause_id::collective_timeout || line.rank < 0) continue;
    std::string group = group_of(line);
    const auto elsewhere = named.find({line.rank, number_in(line, "seq")});
    if (group.empty() && elsewhere != named.end() && elsewhere->second.size() == 1)
      group = *elsewhere->second.begin();
    Waiting& waiting = groups[group][line.rank];
    if (waiting.first == nullptr) waiting.first = &line;
    waiting.timed_out = waiting.timed_out || line.signature->id == timeout_signature;
    lower(waiting.waits_for, number_in(line, "seq"));
    lower(waiting.handed_in, number_in(line, "last_enqueued"));
  }
  return groups;
}

/// The ranks that there are, as far as anybody says; else those up to the highest that printed.
/// Ranks that are missing here and there are then silent; a third of them or more is a group of
/// which only some ranks are members.
std::set<std::int32_t> known_ranks(const Group& group, const AttemptRecord& attempt) {
  std::set<std::int32_t> ranks = attempt.world();
  if (attempt.world_size > 0 || group.empty()) return ranks;
  const auto all = static_cast<std::size_t>(group.rbegin()->first) + 1;
  if ((all - std::min(all, group.size())) * 3 > group.size()) return ranks;
  for (std::int32_t rank = 0; rank < group.rbegin()->first; ++rank) ranks.insert(rank);
  return ranks;
}

std::vector<std::int32_t> silent_ranks(const Group& group, const AttemptRecord& attempt) {
  std::vector<std::int32_t> silent;
  for (const std::int32_t rank : known_ranks(group, attempt)) {
    const auto waiting = group.find(rank);
    if (waiting == group.end() || !waiting->second.timed_out) silent.push_back(rank);
  }
  return silent;
}

/// Everybody who waits, for whatever group.
Group all_of(const std::map<std::string, Group>& groups) {
  Group all;
  for (const auto& [name, group] : groups) {
    for (const auto& [rank, waiting] : group) {
      Waiting& in_any = all.try_emplace(rank, waiting).first->second;
      in_any.timed_out = in_any.timed_out || waiting.timed_out;
    }
  }
  return all;
}

/// A rank that is behind in one group because it waits in another is a victim there.
bool waits_elsewhere(std::int32_t rank, const Group& here,
                     const std::map<std::string, Group>& groups) {
  return std::any_of(groups.begin(), groups.end(), [&](const auto& other) {
    const auto waiting = other.second.find(rank);
    return &other.second != &here && waiting != other.second.end() && waiting->second.timed_out;
  });
}

/// The one rank that is behind all others by this counter; -1 if there is none.
std::int32_t lagging_rank(const Group& group, std::int64_t Waiting::*counter) {
  std::map<std::int64_t, std::vector<std::int32_t>> ranks;
  for (const auto& [rank, waiting] : group) {
    if (waiting.*counter >= 0) ranks[waiting.*counter].push_back(rank);
  }
  if (ranks.size() < 2 || ranks.begin()->second.size() != 1) return -1;
  return ranks.begin()->second.front();
}

void add_group(Explanation& explanation, const FailureCase& failure) {
  for (const JobLine& line : failure.lines) {
    const bool timeout = line.cause->id == cause_id::collective_timeout;
    (timeout ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
}

/// A watchdog that fires hours after its own limit was itself suspended or blocked.
std::string overrun_text(const FailureCase& failure) {
  for (const JobLine& line : failure.lines) {
    const auto limit = number_in(line, "timeout_ms"), elapsed = number_in(line, "elapsed_ms");
    if (limit > 0 && elapsed > 2 * limit) {
      return " The time-out fired after " + to_text(Duration(std::chrono::milliseconds{elapsed})) +
             " against a limit of " + to_text(Duration(std::chrono::milliseconds{limit})) +
             ": the process was suspended or blocked meanwhile.";
    }
  }
  return {};
}

std::optional<Explanation> behind_the_others(const std::string& name,
                                             const std::map<std::string, Group>& groups,
                                             const FailureCase& failure) {
  // Of several groups, what names none may be of any, and their numbers cannot be compared.
  if (name.empty() && groups.size() > 2) return std::nullopt;
  const Group& group = groups.at(name);
  std::int64_t Waiting::*counter = &Waiting::handed_in;
  std::int32_t rank = lagging_rank(group, counter);
  if (rank < 0) rank = lagging_rank(group, counter = &Waiting::waits_for);
  if (rank < 0 || waits_elsewhere(rank, group, groups)) return std::nullopt;
  Explanation explanation = suspect_rank(rank, cause_id::collective_desync, failure);
  explanation.confidence = confidence::fair;
  explanation.evidence.push_back(&group.at(rank).first->fact->event);
  explanation.text = "Rank " + std::to_string(rank) + " is behind at collective " +
                     std::to_string(group.at(rank).*counter) +
                     " while the others are further on and wait for it.";
  return explanation;
}

/// While a job runs somebody is always behind in what he launched, so NCCL must have been asked
/// after the others began to wait.
std::optional<Explanation> behind_in_launches(const FailureCase& failure) {
  const RankOperation* behind =
      least_launched(failure.operations, failure.onset - order_uncertainty);
  if (behind == nullptr) return std::nullopt;
  Explanation explanation = suspect_rank(behind->rank, cause_id::collective_desync, failure);
  explanation.confidence = confidence::fair;
  explanation.evidence.push_back(behind->event);
  explanation.text = "Rank " + std::to_string(behind->rank) + " has launched " +
                     std::to_string(behind->seq) +
                     " collectives while the others are further on and wait for it.";
  return explanation;
}

/// Nobody said that he waits: the counts of a running job look like this for a moment.
std::optional<Explanation> launches_alone(const FailureCase& failure) {
  if (!failure.lines.empty()) return std::nullopt;
  auto explanation = behind_in_launches(failure);
  if (!explanation) return std::nullopt;
  explanation->unknown = true;
  explanation->confidence = confidence::hint;
  explanation->text = "Rank " + std::to_string(explanation->subject.rank) +
                      " has launched fewer collectives than the others. A running job looks like "
                      "that for a moment.";
  explanation->missing = {"the answer of NCCL's RAS a minute later", "the output of all ranks",
                          "flight-recorder dumps of all ranks"};
  return explanation;
}

std::optional<Explanation> never_printed(const Group& group, const FailureCase& failure) {
  const std::vector<std::int32_t> silent = silent_ranks(group, failure.attempt);
  if (silent.empty() || silent.size() > named_suspects_max || silent.size() >= group.size())
    return std::nullopt;
  Explanation explanation = suspect_rank(silent.front(), cause_id::collective_timeout, failure);
  std::set<std::string> nodes;
  std::vector<std::string> names;
  for (const std::int32_t rank : silent) {
    const RankPlace* place = failure.attempt.place_of(rank);
    nodes.insert(place == nullptr ? "" : place->node);
    names.push_back(std::to_string(rank));
  }
  if (silent.size() > 1 && nodes.size() > 1) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.node.clear();
  } else if (silent.size() > 1 && !nodes.begin()->empty()) {
    explanation.subject = Subject::of_node(*nodes.begin());
  }
  const bool one = silent.size() == 1;
  explanation.confidence = one ? confidence::fair : confidence::weak;
  explanation.text = std::to_string(group.size()) + " ranks waited in vain; " +
                     (one ? "rank " : "ranks ") + join(names, ", ") + " never said so and " +
                     (one ? "is the suspect." : "are the suspects.");
  return explanation;
}

/// Who is a member of a group that waits, and waits nowhere himself. Those of its members that wait
/// in other groups are victims there.
std::optional<Explanation> missing_and_silent(const std::map<std::string, Group>& groups,
                                              const FailureCase& failure) {
  const Group all = all_of(groups);
  std::set<std::int32_t> silent;
  for (const auto& [name, ranks] : missing_members(failure)) {
    const auto group = groups.find(name);
    const bool waits = group != groups.end() &&
                       std::any_of(group->second.begin(), group->second.end(),
                                   [](const auto& member) { return member.second.timed_out; });
    if (!waits) continue;
    std::copy_if(ranks.begin(), ranks.end(), std::inserter(silent, silent.end()),
                 [&](std::int32_t rank) { return !all.contains(rank); });
  }
  if (silent.size() != 1) return std::nullopt;
  const std::int32_t rank = *silent.begin();
  Explanation explanation = suspect_rank(rank, cause_id::collective_timeout, failure);
  explanation.confidence = confidence::fair;
  explanation.text =
      std::to_string(all.size()) + " ranks waited in vain; rank " + std::to_string(rank) +
      " is missing in a group that waits, never said that it waits, and is the suspect.";
  return explanation;
}

}  // namespace

bool is_communication_trouble(const JobLine& line) {
  return line.cause->id == cause_id::collective_timeout ||
         (line.cause->id == cause_id::ib_completion && is_root(line));
}

namespace {

/// A barrier that keeps a list names the ranks that did not come.
std::optional<Explanation> missed_barrier(const FailureCase& failure) {
  std::set<std::int32_t> absent;
  std::vector<const Event*> evidence;
  for (const JobLine& line : failure.lines) {
    const std::string_view ranks = line.fact->event.field("absent");
    if (ranks.empty()) continue;
    evidence.push_back(&line.fact->event);
    for (const std::string_view rank : split(ranks, ',')) {
      if (const auto number = parse_number<std::int32_t>(trim(rank))) absent.insert(*number);
    }
  }
  if (absent.empty() || absent.size() > named_suspects_max) return std::nullopt;
  Explanation explanation = suspect_rank(*absent.begin(), cause_id::collective_timeout, failure);
  explanation.text = "Rank " + std::to_string(*absent.begin()) + " did not come to the barrier.";
  if (absent.size() > 1) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.node.clear();
    explanation.text = std::to_string(absent.size()) + " ranks did not come to the barrier.";
  }
  explanation.confidence = absent.size() == 1 ? confidence::fair : confidence::weak;
  explanation.evidence = std::move(evidence);
  return explanation;
}

}  // namespace

std::optional<Explanation> rule_collective_timeout(const FailureCase& failure) {
  if (auto explanation = missed_barrier(failure)) return explanation;
  const auto groups = waiting_ranks(failure);
  const bool any = std::any_of(failure.lines.begin(), failure.lines.end(), [](const JobLine& line) {
    return line.signature->id == timeout_signature || line.signature->id == passed_on_signature;
  });
  if (!any) return launches_alone(failure);
  std::optional<Explanation> explanation = different_calls(failure);
  for (const auto& [name, group] : groups) {
    if (!explanation) explanation = behind_the_others(name, groups, failure);
  }
  if (!explanation) explanation = behind_in_launches(failure);
  if (!explanation) explanation = missing_and_silent(groups, failure);
  if (!explanation) explanation = never_printed(all_of(groups), failure);
  for (const auto& [name, group] : groups) {
    const bool of_whole_job = name.empty() || name == "0";
    if (!explanation && of_whole_job) explanation = never_printed(group, failure);
  }
  if (!explanation) {
    explanation.emplace();
    explanation->cause = failure.catalog.cause(cause_id::collective_timeout);
    explanation->subject = Subject::of_attempt(failure.attempt.id);
    explanation->since = failure.onset;
    explanation->confidence = confidence::hint;
    explanation->text =
        "Ranks waited for a collective that never completed; who held it up cannot be told from "
        "this.";
    explanation->missing = {"flight-recorder dumps of all ranks",
                            "the output of the ranks that printed no time-out",
                            kernel_log_of({}, failure)};
  }
  add_group(*explanation, failure);
  explanation->text += overrun_text(failure);
  return explanation;
}

std::optional<Explanation> rule_watchdog_stuck(const FailureCase& failure) {
  std::set<std::int32_t> ranks;
  const JobLine* first = nullptr;
  for (const JobLine& line : failure.lines) {
    if (line.cause->id != cause_id::watchdog_stuck) continue;
    if (first == nullptr) first = &line;
    if (line.rank >= 0) ranks.insert(line.rank);
  }
  if (first == nullptr) return std::nullopt;
  Explanation explanation = explanation_from(*first, cause_id::watchdog_stuck, failure);
  const bool one = ranks.size() == 1;
  if (!one) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.node.clear();
  }
  explanation.confidence = one ? confidence::weak : confidence::hint;
  for (const JobLine& line : failure.lines) {
    const bool stuck = line.cause->id == cause_id::watchdog_stuck;
    (stuck ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
  explanation.text =
      one ? "The watchdog of " + place_text(*first) +
                " no longer moved: it was blocked in a CUDA or NCCL call, or a lock was held."
          : "The watchdogs of " + std::to_string(ranks.size()) +
                " ranks no longer moved; who held them up cannot be told from this.";
  explanation.missing = {"stacks or flight-recorder dumps of all ranks",
                         kernel_log_of(explanation.node, failure)};
  return explanation;
}

}  // namespace faultline
