// Rules about the program: its own errors are never a node's fault, and least of all when every
// rank has them.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/contains.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

/// All ranks of a workload fail of one cause inside this.
constexpr Duration same_failure_span = std::chrono::seconds{60};

/// The first error of each rank.
std::map<std::int32_t, const JobLine*> first_errors(const FailureCase& failure) {
  std::map<std::int32_t, const JobLine*> first;
  for (const JobLine& line : failure.lines) {
    if (line.rank >= 0 && is_own_error(line)) first.try_emplace(line.rank, &line);
  }
  return first;
}

/// That two ranks raised an exception which no signature knows makes them no more alike than its
/// type does.
bool same_kind(const Event& a, const Event& b) {
  if (a.signature != b.signature) return false;
  return a.signature != exception_signature || a.field("exception") == b.field("exception");
}

bool same_failure(const JobLine& a, const JobLine& b) {
  return same_kind(a.fact->event, b.fact->event) ||
         normalised(a.fact->event.raw.text) == normalised(b.fact->event.raw.text);
}

const JobLine* first_of(const FailureCase& failure, bool (*wanted)(const JobLine&)) {
  const auto line = std::find_if(failure.lines.begin(), failure.lines.end(), wanted);
  return line == failure.lines.end() ? nullptr : &*line;
}

/// What no wait ends with: a decisive error, or that of a rank which never waited, in a log without
/// times: nothing says that it came after. NCCL's "a call failed" is what the others' trouble
/// sounds like.
bool may_be_earlier(const JobLine& error, const FailureCase& failure) {
  if (error.cause->id == cause_id::nccl_system_error) return false;
  if (error.signature->strength == Strength::decisive) return true;
  if (error.rank < 0 || known(error.fact->event.observed_at)) return false;
  return std::none_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
    return line.rank == error.rank && is_communication_trouble(line);
  });
}

/// An exception among ranks that wait for each other may be what the wait ended with. It is a cause
/// of its own only if it came before the first word about communication, or may have.
const JobLine* first_own_error(const FailureCase& failure) {
  const JobLine* error = first_of(failure, is_own_error);
  const JobLine* trouble = first_of(failure, is_communication_trouble);
  if (error == nullptr || trouble == nullptr || error < trouble) return error;
  const auto earlier = std::find_if(
      failure.lines.begin(), failure.lines.end(),
      [&](const JobLine& line) { return is_own_error(line) && may_be_earlier(line, failure); });
  return earlier == failure.lines.end() ? nullptr : &*earlier;
}

/// An exception, or NCCL's "a call failed", is the echo of a line before it that says more. That
/// line has no rank of its own where nobody says which process it is from.
const JobLine& reason_of(const JobLine& error, const FailureCase& failure) {
  static constexpr std::array echoes = {cause_id::nccl_system_error, cause_id::user_exception};
  if (!contains(echoes, error.cause->id)) return error;
  const auto reason =
      std::find_if(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
        return line.rank < 0 && is_own_error(line) && is_root(line) &&
               !contains(echoes, line.cause->id) && line.fact->at <= error.fact->at;
      });
  return reason == failure.lines.end() ? error : *reason;
}

/// What ranks share keeps its name if that says more than an exception does: memory that is short
/// everywhere, a checkpoint that nobody can read. Of a GPU it does not: all of them at once is the
/// program; nor does what asks for another node or another start, which would meet the same.
std::string_view shared_cause(const Cause& cause, bool one_node) {
  const bool for_people = !concerns_node(cause.remedy) && cause.remedy != Remedy::restart_job;
  const bool says_more =
      for_people && lies_outside_node(cause) && cause.id != cause_id::user_exception;
  return says_more || one_node ? std::string_view(cause.id) : cause_id::same_on_all_ranks;
}

}  // namespace

/// The launcher's own word on which process failed first, in the log of an error whose line names
/// no rank; nullptr where it has none, or several that differ.
static const JobLine* table_of(const JobLine& error, const FailureCase& failure) {
  const JobLine* first = nullptr;
  for (const JobLine& line : failure.lines) {
    const bool tells = line.rank >= 0 && !line.fact->event.field("first_failure").empty() &&
                       line.fact->event.raw.path == error.fact->event.raw.path;
    if (!tells) continue;
    if (first != nullptr && first->rank != line.rank) return nullptr;
    first = &line;
  }
  return first;
}

JobLine placed_by_launcher(const JobLine& error, const FailureCase& failure) {
  JobLine placed = error;
  const JobLine* table = error.rank < 0 ? table_of(error, failure) : nullptr;
  if (table == nullptr || (!error.node.empty() && error.node != table->node)) return placed;
  placed.rank = table->rank;
  placed.node = table->node;
  return placed;
}

std::optional<Explanation> rule_same_on_all_ranks(const FailureCase& failure) {
  const auto first = first_errors(failure);
  if (first.size() < 2) return std::nullopt;
  const std::set<std::int32_t> world = failure.attempt.world();
  std::set<std::string> nodes;
  const JobLine* earliest = first.begin()->second;
  const JobLine* latest = earliest;
  for (const auto& [rank, line] : first) {
    if (!same_failure(*line, *first.begin()->second)) return std::nullopt;
    if (line->fact->at < earliest->fact->at) earliest = line;
    if (line->fact->at > latest->fact->at) latest = line;
    if (!line->node.empty()) nodes.insert(line->node);
  }
  if (latest->fact->at - earliest->fact->at > same_failure_span) return std::nullopt;
  const bool all =
      !world.empty() && std::all_of(world.begin(), world.end(),
                                    [&](std::int32_t rank) { return first.contains(rank); });
  if (!world.empty() && !all) return std::nullopt;
  // One bad node can make all of its own ranks fail alike; it cannot do so to another node's.
  const bool one_node = nodes.size() == 1 && failure.attempt.nodes.size() > 1;
  const Cause& cause = *reason_of(*earliest, failure).cause;
  const bool outside = lies_outside_node(cause);
  if ((one_node && !outside) || (says_hardware(*earliest) && nodes.size() < 2)) return std::nullopt;
  Explanation explanation = explanation_from(*earliest, shared_cause(cause, one_node), failure);
  explanation.subject =
      one_node ? Subject::of_node(*nodes.begin()) : Subject::of_attempt(failure.attempt.id);
  explanation.node.clear();
  explanation.sure = all;
  explanation.confidence = all ? confidence::proven : confidence::likely;
  for (const auto& [rank, line] : first) explanation.evidence.push_back(&line->fact->event);
  explanation.text = (all ? "All " : "All reporting ") + std::to_string(first.size()) +
                     " ranks failed alike (" + cause.summary + "): " +
                     (one_node ? "all on " + *nodes.begin() + ", so it is what they share there."
                               : "it is what they share, not a node.");
  if (!all) explanation.missing.push_back("the output of the other ranks, if there are any");
  return explanation;
}

std::optional<Explanation> rule_repeats_on_suspect(const FailureCase& failure) {
  const JobLine* error = first_own_error(failure);
  if (error == nullptr || error->cause->id != cause_id::gpu_out_of_memory) return std::nullopt;
  if (error->node.empty() || !contains(failure.suspected_before, error->node)) return std::nullopt;
  Explanation explanation = explanation_from(*error, cause_id::repeat_offender, failure);
  explanation.subject = Subject::of_node(error->node);
  explanation.hardware = true;
  explanation.confidence = confidence::fair;
  explanation.text =
      place_text(*error) +
      " ran out of GPU memory on a node where this job met hardware trouble before: a broken "
      "GPU that keeps memory is likelier than the program.";
  explanation.missing.push_back(kernel_log_of(error->node, failure));
  return explanation;
}

namespace {

/// "Illegal memory access" is what a program does; the kernel's Xid 31 beside it says whether it
/// does so everywhere.
bool program_made_gpu_fault(const JobLine& error) { return error.cause->id == cause_id::mmu_fault; }

/// What a kernel asserts is printed by no rank, and then the rank says the same in its own words.
JobLine placed_by_rank(JobLine error, const FailureCase& failure) {
  if (error.rank >= 0 || error.cause->id != cause_id::device_assert) return error;
  const auto same =
      std::find_if(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
        return line.cause == error.cause && line.rank >= 0 &&
               line.fact->event.raw.path == error.fact->event.raw.path &&
               (error.node.empty() || line.node.empty() || line.node == error.node);
      });
  if (same == failure.lines.end()) return error;
  error.rank = same->rank;
  error.node = same->node;
  return error;
}

/// CUDA calls it an unknown error; NVML, whenever it was asked in the same container, says more. A
/// container lies on one node, and where nobody knows on which, the rank must be the same.
const JobLine* named_by_nvml(const JobLine* error, const FailureCase& failure) {
  if (error->cause->id != cause_id::gpu_unavailable) return error;
  const auto access =
      std::find_if(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
        return line.cause->id == cause_id::gpu_access_lost && line.node == error->node &&
               (!line.node.empty() || line.rank == error->rank);
      });
  return access == failure.lines.end() ? error : &*access;
}

/// What every process meets as it starts on a machine that is set up so.
bool is_setup(const JobLine& error) {
  static constexpr std::array setups = {cause_id::driver_mismatch, cause_id::driver_setup,
                                        cause_id::library_mismatch, cause_id::container_start,
                                        cause_id::nccl_setup};
  return !error.node.empty() && contains(setups, std::string_view(error.cause->id));
}

/// What the program brings to every machine: that it was printed on the only one says nothing. A
/// crash, or a call that the system refused, may be of the machine all the same.
bool is_of_the_job(const JobLine& error) {
  static constexpr std::array brought = {cause_id::library_mismatch, cause_id::service_unreachable,
                                         cause_id::name_unresolved,  cause_id::port_in_use,
                                         cause_id::shm_too_small,    cause_id::file_limit,
                                         cause_id::no_peer_access};
  static constexpr std::array crashes = {cause_id::crash_signal, cause_id::nccl_system_error};
  const CauseClass kind = error.cause->cause_class;
  if (contains(crashes, std::string_view(error.cause->id))) return false;
  return kind == CauseClass::software || kind == CauseClass::workload ||
         contains(brought, std::string_view(error.cause->id));
}

/// "n3: ", by which a launcher tells the lines of its hosts apart.
bool has_label(const JobLine& error) {
  return !error.node.empty() && error.fact->event.raw.text.starts_with(error.node + ": ");
}

bool is_setup_of_many_nodes(const JobLine& error, const FailureCase& failure) {
  return is_setup(error) &&
         std::any_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
           return line.cause == error.cause && !line.node.empty() && line.node != error.node;
         });
}

/// Where another machine of the run was heard and nobody there said it, it is this one's.
bool has_other_nodes(const std::string& node, const FailureCase& failure) {
  const auto other = [&](const std::string& name) { return !name.empty() && name != node; };
  const auto& ranks = failure.attempt.ranks;
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const auto& rank) { return other(rank.second.node); }) ||
         std::any_of(failure.lines.begin(), failure.lines.end(),
                     [&](const JobLine& line) { return other(line.node); }) ||
         std::any_of(failure.attempt.nodes.begin(), failure.attempt.nodes.end(), other);
}

bool is_setup_of_one_node(const JobLine& error, const FailureCase& failure) {
  const auto& lines = failure.lines;
  const bool met_elsewhere = std::any_of(lines.begin(), lines.end(), [&](const JobLine& line) {
    return line.cause == error.cause && line.node != error.node;
  });
  if (!is_setup(error) || met_elsewhere) return false;
  return has_other_nodes(error.node, failure);
}

}  // namespace

std::optional<Explanation> rule_first_error(const FailureCase& failure) {
  const JobLine* error = first_own_error(failure);
  if (error == nullptr) return std::nullopt;
  error = named_by_nvml(error, failure);
  const JobLine placed = placed_by_rank(placed_by_launcher(*error, failure), failure);
  const bool gpu_fault = program_made_gpu_fault(*error);
  if (gpu_fault) {
    if (auto seen_by_kernel = rule_gpu_fault_of_program(failure)) return seen_by_kernel;
  }
  Explanation explanation = explanation_from(
      placed, gpu_fault ? cause_id::user_exception : std::string_view(error->cause->id), failure);
  const bool program = lies_outside_node(*error->cause);
  explanation.sure = program && error->signature->strength == Strength::decisive;
  explanation.confidence = explanation.sure ? confidence::strong : confidence::even;
  for (const JobLine& line : failure.lines) {
    if (&line != error) explanation.consequences.push_back(&line.fact->event);
  }
  // Of two ends without a way between them neither is the one that failed.
  if (error->cause->id == cause_id::peer_unreachable)
    explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.text =
      "The first error came from " + place_text(placed) + ": " + error->cause->summary + ".";
  if (placed.rank < 0 && is_of_the_job(*error) && !has_label(*error) &&
      !has_other_nodes(placed.node, failure))
    explanation.subject = Subject::of_attempt(failure.attempt.id);
  if (is_setup_of_one_node(*error, failure)) {
    explanation.subject = Subject::of_node(error->node);
    explanation.text += " Only " + error->node + " has it, so it is how that node is set up.";
  } else if (is_setup_of_many_nodes(*error, failure)) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.text += " Other nodes have it too.";
  }
  if (!program) {
    explanation.text += " That may be the program or the GPU.";
    explanation.missing.push_back(kernel_log_of(error->node, failure));
  }
  return explanation;
}

std::optional<Explanation> rule_gpu_fault_of_program(const FailureCase& failure) {
  for (const NodeFaults& node : failure.nodes) {
    for (const KernelFault& fault : node.faults) {
      if (!fault.program) continue;
      Explanation explanation;
      explanation.cause = fault.cause;
      explanation.subject = Subject::of_attempt(failure.attempt.id);
      explanation.node = node.node;
      explanation.since = fault.since();
      explanation.sure = !fault.inferred;
      explanation.confidence = fault.confidence;
      for (const Fact* fact : fault.evidence) explanation.evidence.push_back(&fact->event);
      for (const JobLine& line : failure.lines)
        explanation.consequences.push_back(&line.fact->event);
      explanation.text = fault.note;
      explanation.missing = fault.missing;
      return explanation;
    }
  }
  return std::nullopt;
}

}  // namespace faultline
