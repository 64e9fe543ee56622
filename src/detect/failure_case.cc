#include "detect/failure_case.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/place_words.h"

namespace faultline {

bool FailureCase::hears(std::string_view node) const { return contains(heard, node); }

std::string FailureCase::only_node_unheard() const {
  std::string only;
  for (const std::string& node : attempt.nodes) {
    if (hears(node)) continue;
    if (!only.empty()) return {};
    only = node;
  }
  return only;
}

const std::vector<NamedRule>& failure_rules() {
  // Differential diagnosis: what proves most comes first, what merely fits comes last.
  static const std::vector<NamedRule> rules = {
      {"kernel_fault", rule_kernel_fault},
      {"fault_injected", rule_fault_injected},
      {"node_failed", rule_node_failed},
      {"after_success", rule_after_success},
      {"ended_on_purpose", rule_ended_on_purpose},
      {"out_of_memory", rule_out_of_memory},
      {"same_on_all_ranks", rule_same_on_all_ranks},
      {"many_nodes_name_hardware", rule_many_nodes_name_hardware},
      {"job_names_hardware", rule_job_names_hardware},
      {"repeats_on_suspect", rule_repeats_on_suspect},
      {"bus_error", rule_bus_error},
      {"killed", rule_killed},
      {"first_error", rule_first_error},
      {"gpu_fault_of_program", rule_gpu_fault_of_program},
      {"transfer_failed", rule_transfer_failed},
      {"stuck_operation", rule_stuck_operation},
      {"collective_timeout", rule_collective_timeout},
      {"watchdog_stuck", rule_watchdog_stuck},
      {"rendezvous_lost", rule_rendezvous_lost},
      {"peers_lost", rule_peers_lost},
      {"first_exit", rule_first_exit},
      {"told_to_end", rule_told_to_end},
      {"kernel_fault_afterwards", rule_kernel_fault_afterwards},
      {"hardware_outlived", rule_hardware_outlived},
  };
  return rules;
}

namespace {

/// No error of a rank's own: what comes with the end, and what has a rule that asks for its cause.
bool is_aftermath(const JobLine& line) {
  static constexpr std::array others = {cause_id::sigkill, cause_id::ib_completion,
                                        cause_id::cancelled, cause_id::requeued};
  return comes_with_the_end(line) || contains(others, line.cause->id);
}

Explanation nothing_known(const FailureCase& failure) {
  Explanation explanation;
  explanation.rule = nothing_known_rule;
  explanation.cause = failure.catalog.cause(cause_id::insufficient_evidence);
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.unknown = true;
  explanation.since = failure.failed_at;
  explanation.evidence.push_back(&failure.failing.event);
  explanation.text = "The attempt failed, and nothing that was seen says why.";
  if (failure.lines.empty())
    explanation.missing.push_back("the output of all ranks of " + attempt_words(failure));
  explanation.missing.push_back(kernel_log_of(failure.only_node_unheard(), failure));
  return explanation;
}

}  // namespace

Explanation explain(const FailureCase& failure) {
  for (const NamedRule& rule : failure_rules()) {
    auto explanation = rule.explain(failure);
    if (!explanation || explanation->cause == nullptr) continue;
    if (explanation->rule.empty()) explanation->rule = rule.name;  // it may have asked the others
    return std::move(*explanation);
  }
  return nothing_known(failure);
}

std::string normalised(std::string_view line) {
  // What stands before the exception's name differs by logger: "[rank3]: ", "c000001: ", "3: ".
  while (true) {
    const auto colon = line.find(": ");
    const std::string_view head = line.substr(0, colon);
    const bool tag = colon != std::string_view::npos && colon < 40 &&
                     head.find(' ') == std::string_view::npos && !head.ends_with("Error") &&
                     !head.ends_with("Exception");
    if (!tag) break;
    line.remove_prefix(colon + 2);
  }
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(line[i])) != 0) {
      while (i + 1 < line.size() &&
             (std::isxdigit(static_cast<unsigned char>(line[i + 1])) != 0 || line[i + 1] == 'x' ||
              line[i + 1] == '.' || line[i + 1] == ':')) {
        ++i;
      }
      text += '#';
    } else {
      text += line[i];
    }
  }
  return std::string(trim(text));
}

bool is_root(const JobLine& line) {
  return line.signature->role == Role::root && line.signature->strength != Strength::lead &&
         !line.outlived;
}

/// An exception that no signature knows is an error of the program, too, though the weakest kind.
bool is_own_error(const JobLine& line) {
  return (is_root(line) || line.signature->id == exception_signature) && !is_aftermath(line);
}

bool comes_with_the_end(const JobLine& line) {
  static constexpr std::array causes = {
      cause_id::collective_timeout, cause_id::watchdog_stuck,        cause_id::peer_lost,
      cause_id::nccl_warning,       cause_id::worker_failed,         cause_id::task_failed,
      cause_id::actor_died,         cause_id::rendezvous_lost,       cause_id::terminated,
      cause_id::teardown,           cause_id::teardown_after_success};
  return contains(causes, line.cause->id);
}

bool is_order(const JobLine& line) {
  static constexpr std::array causes = {cause_id::time_limit, cause_id::preempted,
                                        cause_id::cancelled};
  return contains(causes, line.cause->id);
}

bool is_order(AttemptState state) {
  return state == AttemptState::timeout || state == AttemptState::preempted ||
         state == AttemptState::cancelled;
}

bool lies_outside_node(const Cause& cause) {
  return blames_no_node(cause) || cause.cause_class == CauseClass::storage;
}

bool says_hardware(const JobLine& line) {
  if (!is_root(line) || line.signature->layer != Layer::application) return false;
  switch (line.cause->cause_class) {
    case CauseClass::gpu:
    case CauseClass::node:
    case CauseClass::power_thermal: return line.signature->strength == Strength::decisive;
    // No program can make these up by a wrong index.
    case CauseClass::nic:
    case CauseClass::link: return line.cause->id != cause_id::ib_completion;
    case CauseClass::network_switch:
    case CauseClass::storage:
    case CauseClass::silent_corruption:
    case CauseClass::software:
    case CauseClass::environment:
    case CauseClass::workload:
    case CauseClass::unknown: return false;
  }
  return false;
}

std::optional<JobLine> unplaced_line(const Event& event, const Catalog& catalog) {
  JobLine line;
  line.signature = catalog.signature(event.signature);
  line.cause = line.signature == nullptr ? nullptr : catalog.cause(line.signature->cause);
  return line.cause == nullptr ? std::nullopt : std::optional(std::move(line));
}

bool tells_of_node(const Event& event, const Signature& signature) {
  // What a line has before its words is a field "host", too.
  const bool names = contains(signature.captures, "host") || contains(signature.captures, "hosts");
  return names && event.subject.kind == SubjectKind::node && event.subject.node != event.reporter;
}

namespace {

bool shows_life(const JobLine& line) {
  static constexpr std::array signs = {resumed_signature, finished_signature};
  return contains(signs, std::string_view(line.signature->id));
}

/// What the lines say of each rank's life, looked up for every word of broken hardware.
class LifeSigns {
 public:
  LifeSigns(const std::vector<JobLine>& lines, const RankStarts& starts) {
    for (const auto& [rank, at] : starts) alive_[rank].insert(at);
    for (const JobLine& line : lines) {
      const Instant at = line.fact->event.observed_at;
      const std::string_view behind = line.fact->event.field(went_on_after_field);
      if (!behind.empty()) outlived_.insert(behind);
      if (shows_life(line)) alive_[line.rank].insert(at);
      if (!is_own_error(line) || !lies_outside_node(*line.cause)) continue;
      Instant& last =
          last_errors_.try_emplace({line.rank, line.node}, Instant::min()).first->second;
      last = std::max(last, at);
    }
  }

  /// Its rank counted on behind `said`.
  [[nodiscard]] bool went_on(const JobLine& said) const {
    return outlived_.contains(said.fact->event.id);
  }
  /// The last exception of its program that the rank of `said` raised; Instant::min() if there is
  /// none.
  [[nodiscard]] Instant last_own_error(const JobLine& said) const {
    const auto last = last_errors_.find({said.rank, said.node});
    return last == last_errors_.end() ? Instant::min() : last->second;
  }
  /// Was the rank started, or did it say that it is at work, after `from` and no later than `to`?
  [[nodiscard]] bool alive_between(std::int32_t rank, Instant from, Instant to) const {
    const auto signs = alive_.find(rank);
    if (signs == alive_.end()) return false;
    const auto next = signs->second.upper_bound(from);
    return next != signs->second.end() && *next <= to;
  }

 private:
  std::set<std::string_view> outlived_;  // ids of events
  std::map<std::int32_t, std::set<Instant>> alive_;
  std::map<std::pair<std::int32_t, std::string_view>, Instant> last_errors_;  // of rank and node
};

}  // namespace

void mark_outlived(std::vector<JobLine>& lines, const RankStarts& starts) {
  constexpr Duration death_throes = std::chrono::minutes{1};  // what is raised in a clean-up
  // Whether hardware was outlived changes nothing of what lies outside the node.
  const LifeSigns signs(lines, starts);
  for (JobLine& said : lines) {
    if (!says_hardware(said)) continue;
    said.outlived = signs.went_on(said);
    const Instant at = said.fact->event.observed_at;
    if (said.outlived || !known(at) || said.rank < 0) continue;
    const Instant error = signs.last_own_error(said);
    said.outlived = error > at + death_throes && signs.alive_between(said.rank, at, error);
  }
}

bool failed_by_program(const std::vector<JobLine>& lines) {
  bool failed = false;
  for (const JobLine& line : lines) {
    if (!is_own_error(line)) continue;
    if (!lies_outside_node(*line.cause)) return false;
    failed = true;
  }
  return failed;
}

Subject place_of(const JobLine& line, const FailureCase& failure) {
  if (line.rank >= 0) return Subject::of_rank(failure.attempt.id, line.rank, line.node);
  if (!line.node.empty()) return Subject::of_node(line.node);
  return Subject::of_attempt(failure.attempt.id);
}

std::string place_text(const JobLine& line) {
  const std::string where = line.node.empty() ? "" : " on " + node_words(line.node);
  if (line.rank >= 0) return "rank " + std::to_string(line.rank) + where;
  const std::string_view local_rank = line.fact->event.field("local_rank");
  if (!local_rank.empty())
    return "local rank " + std::string(local_rank) +
           (where.empty() ? " of a node that the log does not name" : where);
  return line.node.empty() ? "a rank that the log does not name" : line.node;
}

Explanation explanation_from(const JobLine& line, std::string_view cause,
                             const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause);
  explanation.subject = place_of(line, failure);
  explanation.node = line.node;
  explanation.since = line.fact->at;
  explanation.evidence.push_back(&line.fact->event);
  return explanation;
}

std::string attempt_words(const FailureCase& failure) {
  const AttemptId& id = failure.attempt.id;
  if (id.job.starts_with(Subject::of_unnamed_job().attempt.job)) return "the job";
  return "job " + id.job + (id.restart == 0 ? "" : ", restart " + std::to_string(id.restart));
}

std::string kernel_log_of(const std::string& node, const FailureCase& failure) {
  if (!node.empty()) return kernel_log_words(node);
  if (failure.attempt.nodes.size() == 1) return kernel_log_words(failure.attempt.nodes.front());
  return "kernel logs of all nodes of " + attempt_words(failure);
}

}  // namespace faultline
