// One failed attempt with everything that was said about it: the case that the rules of attribution
// look at.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "detect/attempt_tracker.h"
#include "detect/kernel_faults.h"
#include "detect/operation_board.h"

namespace faultline {

/// Meta's window: what fired in the last 10 minutes of a job or within 5 minutes after it is about
/// its failure.
inline constexpr Duration before_failure = std::chrono::minutes{10};
inline constexpr Duration after_failure = std::chrono::minutes{5};
/// Stamps of different nodes closer than this have no order, whatever the clocks say.
inline constexpr Duration order_uncertainty = std::chrono::seconds{1};
/// A job can notice before the kernel says so: the lines about one event spread over burst_gap.
/// What happened later than that after the failure, clocks considered, did not cause it: the reset
/// that follows a crash, or the next job.
inline constexpr Duration cause_after_failure_max = burst_gap + order_uncertainty;

/// A line of a job with what it stands for. `signature` and `cause` are never null.
struct JobLine {
  const Fact* fact = nullptr;
  const Signature* signature = nullptr;
  const Cause* cause = nullptr;
  std::int32_t rank = -1;
  std::string node;       // where it happened; "" if nobody can tell
  bool outlived = false;  // its rank went on after it: no first cause
};

struct NodeFaults {
  std::string node;
  Duration clock_offset{0};  // add to the node's stamps to get the controller's clock
  std::vector<KernelFault> faults;
};

struct FailureCase {
  const Catalog& catalog;
  const AttemptRecord& attempt;
  const Fact& failing;  // the event that says the attempt failed
  Instant failed_at;
  Instant onset;                       // a collective's time-out is printed long after it began
  std::vector<JobLine> lines;          // by time, then as they came
  std::vector<NodeFaults> nodes;       // kernel faults near the failure on nodes of the attempt
  std::vector<NodeFaults> afterwards;  // too late to be the cause
  std::vector<std::string> heard;  // nodes of the attempt whose kernel or agent was heard at all
  std::vector<std::string> down;   // nodes of the attempt that the scheduler has lost
  std::vector<std::string>
      suspected_before;              // nodes on which this job's family met hardware trouble lately
  const OperationBoard& operations;  // what its ranks' traces say; empty without any
  /// When a rank was started last, or the training went on from a checkpoint.
  Instant restarted_at = Instant::min();
  /// When the last step was counted of a job that an order from outside ended long after it.
  std::optional<Instant> stood_still_since{};

  [[nodiscard]] bool hears(std::string_view node) const;
  /// "" if there are none, or several.
  [[nodiscard]] std::string only_node_unheard() const;
};

/// What a rule makes of a case.
struct Explanation {
  std::string_view rule;
  const Cause* cause = nullptr;
  Subject subject;
  bool sure = false;  // may be confirmed once late evidence has been waited for
  bool unknown = false;
  double confidence = 0;
  Instant since;
  std::vector<const Event*> evidence;  // first cause first
  std::vector<const Event*> consequences;
  std::vector<std::string> missing;
  std::string text;

  std::string node;  // the node on which it broke, "" if none is to be named
  std::vector<std::string>
      rivals;             // then the nodes between which the lines cannot decide, if known
  bool hardware = false;  // speaks of broken hardware
};

using FailureRule = std::optional<Explanation> (*)(const FailureCase&);

struct NamedRule {
  std::string_view name;
  FailureRule explain;
};

/// The rules in the order in which they are asked; the first that has an answer wins.
const std::vector<NamedRule>& failure_rules();

/// The rule of an explanation that no rule gave.
inline constexpr std::string_view nothing_known_rule = "nothing_known";
/// Never empty-handed: if no rule knows, the cause is unknown and `missing` says what to send.
Explanation explain(const FailureCase& failure);

/// What a line stands for, without its place; nullopt if the catalog has no cause for it.
std::optional<JobLine> unplaced_line(const Event& event, const Catalog& catalog);

/// True if the line names the node that it is about, and not only the one where it was written: of
/// a node that is gone another one writes.
bool tells_of_node(const Event& event, const Signature& signature);

/// The line as rules compare it: numbers, addresses and everything in brackets are the same on all
/// ranks or none.
std::string normalised(std::string_view line);

/// The line by which a training says that it is done.
inline constexpr std::string_view finished_signature = "training.finished";
/// Of a kernel's event, "1": nobody knows when it was, and it was put at the end of the job.
inline constexpr std::string_view time_unknown_field = "time_unknown";
/// The line by which a training says that it goes on from a checkpoint.
inline constexpr std::string_view resumed_signature = "training.resumed";
/// Of such a line, the step that was counted there: the rank was at work behind its last words
/// about hardware in the same log, without having been started anew.
inline constexpr std::string_view went_on_field = "went_on_at_step";
/// Of the same line, the id of the event with those words: no others were outlived by it.
inline constexpr std::string_view went_on_after_field = "went_on_after";
/// Of such a line, when the last step of its log was counted, in microseconds since 1970.
inline constexpr std::string_view last_step_field = "last_step_us";
/// Of progress_stalled, "step": lines came, and no step.
inline constexpr std::string_view counted_field = "counted";
/// A rank says itself that its collective timed out.
inline constexpr std::string_view collective_timeout_signature = "c10d.timeout";
/// Any exception that no other signature knows.
inline constexpr std::string_view exception_signature = "python.exception";

/// True for a line that can be a first cause.
bool is_root(const JobLine& line);
/// True for an error that a rank met itself, as against the ways in which a job comes down after
/// one.
bool is_own_error(const JobLine& line);
/// True for what a job says as it comes down, whatever brought it down: waiting for peers that have
/// gone, a launcher's report, a clean-up.
bool comes_with_the_end(const JobLine& line);
/// True for causes that lie elsewhere than on the node where they show: in the program, in its
/// environment or in the storage.
bool lies_outside_node(const Cause& cause);
/// True for a job's words about broken hardware ("uncorrectable ECC error"): decisive, and of a
/// hardware class.
bool says_hardware(const JobLine& line);
/// When each rank was started last, as far as a launcher has told.
using RankStarts = std::map<std::int32_t, Instant>;
/// Marks what lines say of broken hardware as `outlived` where the same rank went on with its
/// steps, or raises an exception of its program long after, and was alive in between: started anew,
/// or at work. Without a sign of life the exception may be what the error ended in.
void mark_outlived(std::vector<JobLine>& lines, const RankStarts& starts);
/// True if the ranks met errors of their own, and every one lies outside the nodes: hardware that
/// breaks makes no program raise a KeyError.
bool failed_by_program(const std::vector<JobLine>& lines);
/// True if the job met an error of its own: failed jobs are cancelled or requeued afterwards, by
/// their scheduler, their user or ourselves.
bool failed_by_itself(const FailureCase& failure);
/// True for a launcher's word about a lost daemon that stands behind an error of the program or
/// behind the scheduler's order: whatever takes a job down takes its daemons down as well.
bool lost_after_end(const JobLine& lost, const FailureCase& failure);
/// True for words by which a scheduler or a person ends a job, whatever it was doing.
bool is_order(const JobLine& line);
/// The same of the state in which a job ended.
bool is_order(AttemptState state);
/// Rank, node or attempt: the narrowest that is known.
Subject place_of(const JobLine& line, const FailureCase& failure);
/// The line with the rank and node of the process that failed first, as its launcher's table in the
/// same log has it; as it is where it names a rank, or where no table or several that differ tell.
JobLine placed_by_launcher(const JobLine& error, const FailureCase& failure);
/// "rank 3 on n2", "n2", "an unnamed rank".
std::string place_text(const JobLine& line);

/// An explanation with this cause whose first evidence is `line`.
Explanation explanation_from(const JobLine& line, std::string_view cause,
                             const FailureCase& failure);
/// "job 123", "job 123, restart 1", or "the job" where nobody names it.
std::string attempt_words(const FailureCase& failure);
/// "kernel log of n3"; of all nodes of the attempt if the node is not known.
std::string kernel_log_of(const std::string& node, const FailureCase& failure);

// The rules, by file.
std::optional<Explanation> rule_kernel_fault(const FailureCase& failure);  // hardware_rules.cc
std::optional<Explanation> rule_fault_injected(const FailureCase& failure);
std::optional<Explanation> rule_node_failed(const FailureCase& failure);
std::optional<Explanation> rule_many_nodes_name_hardware(const FailureCase& failure);
std::optional<Explanation> rule_job_names_hardware(const FailureCase& failure);
std::optional<Explanation> rule_kernel_fault_afterwards(const FailureCase& failure);
std::optional<Explanation> rule_hardware_outlived(const FailureCase& failure);
std::optional<Explanation> rule_after_success(const FailureCase& failure);  // scheduler_rules.cc
std::optional<Explanation> rule_ended_on_purpose(const FailureCase& failure);
std::optional<Explanation> rule_out_of_memory(const FailureCase& failure);
std::optional<Explanation> rule_bus_error(const FailureCase& failure);
std::optional<Explanation> rule_killed(const FailureCase& failure);
std::optional<Explanation> rule_first_exit(const FailureCase& failure);
std::optional<Explanation> rule_told_to_end(const FailureCase& failure);
std::optional<Explanation> rule_same_on_all_ranks(const FailureCase& failure);  // program_rules.cc
std::optional<Explanation> rule_repeats_on_suspect(const FailureCase& failure);
std::optional<Explanation> rule_first_error(const FailureCase& failure);
std::optional<Explanation> rule_gpu_fault_of_program(const FailureCase& failure);
std::optional<Explanation> rule_transfer_failed(const FailureCase& failure);  // transfer_rules.cc
/// Several lost their connection to one and the same end, which itself says nothing.
std::optional<Explanation> peer_named_by_all(const FailureCase& failure);
std::optional<Explanation> rule_collective_timeout(
    const FailureCase& failure);                                              // collective_rules.cc
std::optional<Explanation> rule_stuck_operation(const FailureCase& failure);  // operation_rules.cc
std::optional<Explanation> rule_watchdog_stuck(const FailureCase& failure);
/// True for a line about waiting for others or about a transfer that failed.
bool is_communication_trouble(const JobLine& line);
std::optional<Explanation> rule_rendezvous_lost(const FailureCase& failure);  // peer_rules.cc
std::optional<Explanation> rule_peers_lost(const FailureCase& failure);

}  // namespace faultline
