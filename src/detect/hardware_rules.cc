// Rules about hardware: what the kernel or the scheduler says of a node outranks what the job
// prints.
#include <algorithm>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "detect/injected_faults.h"
#include "detect/missing_gpu.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

bool hardware_class(CauseClass kind) {
  return kind == CauseClass::gpu || kind == CauseClass::node || kind == CauseClass::link ||
         kind == CauseClass::nic || kind == CauseClass::network_switch ||
         kind == CauseClass::storage || kind == CauseClass::power_thermal;
}

/// A GPU of the node that this attempt did not use is not its business. Only addresses can say so;
/// indices cannot.
bool used_by_attempt(const KernelFault& fault, const std::string& node,
                     const AttemptRecord& attempt) {
  if (fault.subject.kind != SubjectKind::gpu) return true;
  bool addresses_known = false;
  for (const auto& [rank, place] : attempt.ranks) {
    if (place.node != node) continue;
    for (const std::string& gpu : place.gpus) {
      if (gpu.find(':') == std::string::npos) return true;
      addresses_known = true;
      if (gpu == fault.subject.part) return true;
    }
  }
  return !addresses_known;
}

/// A line from the boot, or from another year, may be as old as the machine.
bool time_unknown(const KernelFault& fault) {
  return std::all_of(fault.evidence.begin(), fault.evidence.end(), [](const Fact* fact) {
    return fact->event.fields.contains(std::string(time_unknown_field));
  });
}

/// The program was refused what it wanted to write, and its kernel writes to that disk no more.
bool same_refusal(const JobLine& said, const KernelFault& fault, const Catalog& catalog) {
  return said.cause->id == cause_id::read_only &&
         std::any_of(fault.evidence.begin(), fault.evidence.end(), [&](const Fact* fact) {
           const Cause* cause = cause_of(*fact, catalog);
           return cause != nullptr && cause->id == cause_id::local_fs_readonly;
         });
}

/// Hardware that may have failed, or nobody knows when, explains no program that failed for a
/// reason of its own, unless the program speaks of the same thing (a file server that both have
/// lost).
bool beaten_by_program(const KernelFault& fault, const FailureCase& failure) {
  const bool undated = time_unknown(fault);
  if (fault.decisive && !undated) return false;
  return std::none_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
    const bool same_kind = line.cause->cause_class == fault.cause->cause_class;
    return is_own_error(line) &&
           ((same_kind && !undated) || same_refusal(line, fault, failure.catalog));
  });
}

/// Nobody notices what was over within seconds, but for whoever lost a transfer in them.
bool noticed(const KernelFault& fault, const FailureCase& failure) {
  const auto of_network = [](const JobLine& line) {
    return line.cause->cause_class == CauseClass::link ||
           line.cause->cause_class == CauseClass::nic;
  };
  return !fault.brief || std::any_of(failure.lines.begin(), failure.lines.end(), of_network);
}

struct Candidate {
  const NodeFaults* node = nullptr;
  const KernelFault* fault = nullptr;
  [[nodiscard]] Instant at() const { return fault->since() + node->clock_offset; }
};

std::vector<Candidate> candidates_of(const std::vector<NodeFaults>& nodes,
                                     const FailureCase& failure) {
  std::vector<Candidate> candidates;
  const bool program_failed = failed_by_program(failure.lines);
  for (const NodeFaults& node : nodes) {
    for (const KernelFault& fault : node.faults) {
      if (fault.program || !hardware_class(fault.cause->cause_class)) continue;
      if (!used_by_attempt(fault, node.node, failure.attempt)) continue;
      if (!noticed(fault, failure)) continue;
      if (program_failed && beaten_by_program(fault, failure) &&
          !explains_missing_gpu(fault, node, failure))
        continue;
      candidates.push_back({&node, &fault});
    }
  }
  // Decisive before ambiguous before what was over at once, then the earliest; the node's name only
  // makes the order stable.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     if (a.fault->decisive != b.fault->decisive) return a.fault->decisive;
                     if (a.fault->brief != b.fault->brief) return b.fault->brief;
                     return a.at() != b.at() ? a.at() < b.at() : a.node->node < b.node->node;
                   });
  return candidates;
}

/// The job's own first line about broken hardware on that node; null if there is none.
const JobLine* job_agrees(const FailureCase& failure, const std::string& node) {
  const auto line =
      std::find_if(failure.lines.begin(), failure.lines.end(),
                   [&](const JobLine& job) { return says_hardware(job) && job.node == node; });
  return line == failure.lines.end() ? nullptr : &*line;
}

bool is_unclean_boot(const KernelFault& fault) {
  return std::all_of(fault.evidence.begin(), fault.evidence.end(), [](const Fact* fact) {
    return fact->event.signature == unclean_boot_signature;
  });
}

/// The rivals on other nodes, the nearest first, of which the clocks cannot tell whether they came
/// before the first candidate. Nodes that go down together have each their own last line.
std::vector<const Candidate*> tied(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> rivals;
  const Candidate& best = candidates.front();
  for (const Candidate& other : candidates) {
    if (other.node->node == best.node->node || other.fault->decisive != best.fault->decisive)
      continue;
    const bool together = is_unclean_boot(*best.fault) && is_unclean_boot(*other.fault);
    const Duration apart_max = together ? reboots_together_max : order_uncertainty;
    if (other.at() - best.at() <= apart_max) rivals.push_back(&other);
  }
  return rivals;
}

void add_job_lines(Explanation& explanation, const FailureCase& failure) {
  for (const JobLine& line : failure.lines) {
    const bool same_place = says_hardware(line) && line.node == explanation.node;
    (same_place ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
}

/// Both nodes are named and neither is blamed: a name is no evidence.
void leave_undecided(Explanation& explanation, const std::vector<const Candidate*>& rivals,
                     const FailureCase& failure) {
  const Candidate& rival = *rivals.front();
  explanation.text += " " + rival.node->node + " reported " + rival.fault->cause->summary +
                      " at the same time; which came first cannot be told.";
  explanation.missing.push_back("a test of " + explanation.node + " and " + rival.node->node);
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.rivals = {explanation.node};
  for (const Candidate* other : rivals) explanation.rivals.push_back(other->node->node);
  explanation.node.clear();
  explanation.sure = false;
  explanation.confidence = std::min(explanation.confidence, confidence::fair);
}

void blame_what_is_shared(Explanation& explanation) {
  explanation.subject = Subject::of_cluster();
  explanation.text = "The logs of " + join(explanation.rivals, ", ") +
                     " break off and begin anew within minutes, without a shutdown. What these "
                     "nodes share (power, as a rule) is likelier the reason than each of them.";
  explanation.missing = {"what these nodes share: rack, power feed, cooling",
                         "their BMC event logs"};
}

}  // namespace

std::optional<Explanation> rule_kernel_fault(const FailureCase& failure) {
  const std::vector<Candidate> candidates = candidates_of(failure.nodes, failure);
  if (candidates.empty()) return std::nullopt;
  const Candidate& best = candidates.front();
  const JobLine* agrees = job_agrees(failure, best.node->node);
  Explanation explanation;
  explanation.cause = best.fault->cause;
  explanation.subject = best.fault->subject;
  explanation.node = best.node->node;
  explanation.hardware = true;
  explanation.since = best.fault->since();
  explanation.sure = best.fault->decisive || (agrees != nullptr && !best.fault->inferred);
  explanation.confidence =
      best.fault->decisive
          ? confidence::proven
          : (agrees != nullptr ? confidence::strong
                               : std::min(best.fault->confidence, confidence::even));
  if (best.fault->brief) {
    explanation.sure = false;
    explanation.confidence = best.fault->confidence;
  }
  explanation.missing = best.fault->missing;
  for (const Fact* fact : best.fault->evidence) explanation.evidence.push_back(&fact->event);
  for (const Fact* fact : best.fault->consequences)
    explanation.consequences.push_back(&fact->event);
  add_job_lines(explanation, failure);
  explanation.text = "The kernel of " + node_words(explanation.node) +
                     " reported: " + best.fault->cause->summary + " (" +
                     place_words(best.fault->subject) + "). " + best.fault->note;
  if (failure.stood_still_since)
    explanation.text = std::string(trim(explanation.text)) + " The job counted its last step at " +
                       to_text(*failure.stood_still_since) + " and stood still until it was ended.";
  if (agrees == nullptr && time_unknown(*best.fault)) {
    explanation.text = std::string(trim(explanation.text)) + " When that was, nothing says.";
    explanation.missing.push_back("when it was (dmesg -T or the journal of " + explanation.node +
                                  ")");
    explanation.sure = false;
    explanation.confidence = std::min(explanation.confidence, confidence::likely);
  }
  const std::vector<const Candidate*> rivals = tied(candidates);
  const bool job_decides =
      agrees != nullptr && std::none_of(rivals.begin(), rivals.end(), [&](const Candidate* rival) {
        return job_agrees(failure, rival->node->node) != nullptr;
      });
  const bool together = !rivals.empty() && is_unclean_boot(*best.fault);
  if (!rivals.empty() && (together || !job_decides)) leave_undecided(explanation, rivals, failure);
  if (together) blame_what_is_shared(explanation);
  return explanation;
}

namespace {

const Candidate* injected_in(const std::vector<Candidate>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const Candidate& candidate) {
    return tells_of_injector(*candidate.fault->cause);
  });
  return found == all.end() ? nullptr : &*found;
}

/// The first of the job's words about broken hardware before which it ran an injector itself, and
/// the line of that.
std::pair<const JobLine*, const JobLine*> injected_by_job(const FailureCase& failure) {
  const JobLine* injector = nullptr;
  for (const JobLine& line : failure.lines) {
    if (tells_of_injector(*line.cause)) injector = &line;
    if (!says_hardware(line)) continue;
    const bool own = injector != nullptr && line.fact->at - injector->fact->at <= injected_span &&
                     (line.node.empty() || injector->node.empty() || line.node == injector->node);
    return {own ? injector : nullptr, &line};
  }
  return {};
}

}  // namespace

std::optional<Explanation> rule_fault_injected(const FailureCase& failure) {
  if (failed_by_program(failure.lines)) return std::nullopt;
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::error_injected);
  explanation.confidence = confidence::strong;
  explanation.sure = true;
  std::vector<Candidate> faults;
  for (const NodeFaults& node : failure.nodes) {
    for (const KernelFault& fault : node.faults) faults.push_back({&node, &fault});
  }
  if (const Candidate* injected = injected_in(faults)) {
    explanation.subject = injected->fault->subject;
    explanation.since = injected->fault->since();
    for (const Fact* fact : injected->fault->evidence) explanation.evidence.push_back(&fact->event);
    explanation.text = injected->fault->note;
  } else if (const auto [injector, error] = injected_by_job(failure); injector != nullptr) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.since = injector->fact->at;
    explanation.evidence = {&injector->fact->event, &error->fact->event};
    explanation.text = "The job ran an error injector before " + place_text(*error) +
                       " spoke of broken hardware: " + error->cause->summary +
                       " was made for a test.";
  } else {
    return std::nullopt;
  }
  for (const JobLine& line : failure.lines) explanation.consequences.push_back(&line.fact->event);
  return explanation;
}

std::optional<Explanation> rule_kernel_fault_afterwards(const FailureCase& failure) {
  const std::vector<Candidate> candidates = candidates_of(failure.afterwards, failure);
  if (candidates.empty()) return std::nullopt;
  const Candidate& first = candidates.front();
  Explanation explanation;
  explanation.cause = first.fault->cause;
  explanation.subject = first.fault->subject;
  explanation.since = first.fault->since();
  explanation.confidence = confidence::hint;
  for (const Fact* fact : first.fault->evidence) explanation.evidence.push_back(&fact->event);
  explanation.consequences.push_back(&failure.failing.event);
  explanation.missing = {"the output of all ranks of " + failure.attempt.id.text()};
  explanation.text = "The kernel of " + node_words(first.node->node) +
                     " reported: " + first.fault->cause->summary + " (" +
                     place_words(first.fault->subject) +
                     "), but only after the attempt had failed, too late to be the cause.";
  return explanation;
}

namespace {

/// The node that a line says is lost; nullptr if it names none.
const std::string* node_said_lost(const JobLine& line, const FailureCase& failure) {
  const Event& event = line.fact->event;
  if (!tells_of_node(event, *line.signature))
    return failure.attempt.node_called(event.field("address"));
  if (failure.attempt.nodes.empty()) return &event.subject.node;  // nobody told where it ran
  return failure.attempt.node_called(event.subject.node);
}

/// The lost node as the scheduler shows it, where need be with the help of `said`, what a line
/// says; "" if it does not. The only node that was heard of may be one that survived.
std::string node_shown_lost(const std::string& said, const FailureCase& failure) {
  const auto& nodes = failure.attempt.nodes;
  if (nodes.size() == 1 && !failure.attempt.nodes_heard) return nodes.front();
  if (failure.down.size() == 1) return failure.down.front();
  return contains(failure.down, said) ? said : "";
}

}  // namespace

/// A scheduler sees the node itself; Ray and MPI see their own daemon on it.
static bool scheduler_lost_node(const FailureCase& failure) {
  return std::any_of(failure.lines.begin(), failure.lines.end(), [](const JobLine& line) {
    return line.cause->id == cause_id::node_lost && line.signature->layer == Layer::scheduler;
  });
}

/// The launcher that lost its daemon says itself that the machine was taken back.
static bool taken_back(const FailureCase& failure) {
  const auto preempted = [](const JobLine& line) {
    return line.cause->id == cause_id::preempted && is_root(line);
  };
  return !scheduler_lost_node(failure) &&
         std::any_of(failure.lines.begin(), failure.lines.end(), preempted);
}

static bool stands_before(const JobLine& line, const JobLine& other) {
  const Event &a = line.fact->event, &b = other.fact->event;
  if (a.raw.path == b.raw.path) return a.raw.offset < b.raw.offset;
  return known(a.observed_at) && known(b.observed_at) && a.observed_at < b.observed_at;
}

bool lost_after_end(const JobLine& lost, const FailureCase& failure) {
  const bool of_launcher = lost.signature->layer == Layer::application;
  if (lost.cause->id != cause_id::node_lost || !of_launcher) return false;
  // NCCL's own errors may be what a lost node looks like to the others.
  return std::any_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
    const bool error = is_own_error(line) && lies_outside_node(*line.cause) &&
                       line.cause->id != cause_id::nccl_system_error;
    return (error || is_order(line)) && stands_before(line, lost) &&
           lost.fact->at - line.fact->at <= before_failure;
  });
}

std::optional<Explanation> rule_node_failed(const FailureCase& failure) {
  const Event& end = failure.failing.event;
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::node_lost);
  explanation.hardware = true;
  explanation.since = failure.failed_at;
  std::vector<std::string> all_said;
  for (const JobLine& line : failure.lines) {
    const bool lost = line.cause->id == cause_id::node_lost && is_root(line);
    if (lost && !lost_after_end(line, failure)) {
      explanation.evidence.push_back(&line.fact->event);
      const std::string* said = node_said_lost(line, failure);
      if (explanation.node.empty() && said != nullptr) explanation.node = *said;
      if (said != nullptr && !contains(all_said, *said)) all_said.push_back(*said);
      explanation.since = std::min(explanation.since, line.fact->at);
    }
  }
  // A requeue while one of its nodes is down is how a scheduler answers a node failure.
  const bool requeued = failure.attempt.state == AttemptState::requeued && failure.down.size() == 1;
  const bool scheduler_says = failure.attempt.state == AttemptState::node_fail || requeued;
  if (scheduler_says) explanation.evidence.push_back(&end);
  if (explanation.evidence.empty() || (!scheduler_says && taken_back(failure))) return std::nullopt;
  const std::string* named = failure.attempt.node_called(end.field("failed_node"));
  const std::string shown = named != nullptr ? *named : node_shown_lost(explanation.node, failure);
  if (!shown.empty()) explanation.node = shown;
  explanation.sure = scheduler_says && !shown.empty();
  explanation.confidence = explanation.sure ? confidence::certain : confidence::fair;
  // A launcher that lost its daemon on a node cannot tell a daemon that was killed from the node.
  const bool launcher_says = !scheduler_says && shown.empty() && !scheduler_lost_node(failure);
  if (launcher_says) explanation.confidence = confidence::even;
  for (const JobLine& line : failure.lines) explanation.consequences.push_back(&line.fact->event);
  if (explanation.node.empty()) {
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    explanation.text = "A node of the attempt failed; which one is not known here.";
    explanation.missing.push_back(
        "the scheduler's record of the failed node (slurmctld's log, or sacct field FailedNode)");
  } else {
    explanation.subject = Subject::of_node(explanation.node);
    const bool several = all_said.size() > 1 && contains(all_said, explanation.node);
    explanation.text =
        (several ? join(all_said, " and ") : explanation.node) + " failed under the attempt.";
    explanation.missing.push_back(kernel_log_of(explanation.node, failure));
  }
  return explanation;
}

/// The address of the GPU on which the line's rank runs; "" if it is not known, or has several.
static std::string only_gpu_of(const JobLine& line, const AttemptRecord& attempt) {
  const RankPlace* place = attempt.place_of(line.rank);
  const bool one = place != nullptr && !line.node.empty() && place->node == line.node &&
                   place->gpus.size() == 1 && place->gpus.front().find(':') != std::string::npos;
  return one ? place->gpus.front() : std::string();
}

namespace {

/// A cable has two ends, and its loss can be seen at both; more nodes have none in common.
constexpr std::size_t shared_nodes_min = 3;
constexpr Duration shared_span = std::chrono::minutes{1};

/// The nodes whose ranks named the same broken thing as `first` within a minute of it.
std::vector<std::string> nodes_that_say(const JobLine& first, const FailureCase& failure) {
  std::vector<std::string> nodes;
  for (const JobLine& line : failure.lines) {
    const bool same = says_hardware(line) && line.cause == first.cause && !line.node.empty() &&
                      line.fact->at - first.fact->at <= shared_span;
    if (same && !contains(nodes, line.node)) nodes.push_back(line.node);
  }
  return nodes;
}

bool of_network(const Cause& cause) {
  return cause.cause_class == CauseClass::link || cause.cause_class == CauseClass::nic;
}

}  // namespace

std::optional<Explanation> rule_many_nodes_name_hardware(const FailureCase& failure) {
  const auto first = std::find_if(failure.lines.begin(), failure.lines.end(), says_hardware);
  if (first == failure.lines.end()) return std::nullopt;
  const std::vector<std::string> nodes = nodes_that_say(*first, failure);
  if (nodes.size() < shared_nodes_min) return std::nullopt;
  const bool network = of_network(*first->cause);
  Explanation explanation = explanation_from(
      *first, network ? cause_id::fabric : std::string_view(first->cause->id), failure);
  explanation.subject = network ? Subject::of_cluster() : Subject::of_attempt(failure.attempt.id);
  explanation.node.clear();
  explanation.rivals = nodes;
  explanation.confidence = network ? confidence::likely : confidence::hint;
  for (const JobLine& line : failure.lines) {
    if (&line == &*first) continue;
    const bool same = says_hardware(line) && line.cause == first->cause;
    (same ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
  explanation.text = std::to_string(nodes.size()) +
                     " nodes named the same at once: " + first->cause->summary + " (" +
                     join(nodes, ", ") + "). What they share is likelier broken than each of them.";
  explanation.missing.push_back(network ? "the switches' log and port counters of that minute"
                                        : kernel_log_of("", failure));
  return explanation;
}

std::optional<Explanation> rule_job_names_hardware(const FailureCase& failure) {
  const auto first = std::find_if(failure.lines.begin(), failure.lines.end(), says_hardware);
  if (first == failure.lines.end()) return std::nullopt;
  const JobLine placed = placed_by_launcher(*first, failure);
  Explanation explanation = explanation_from(placed, first->cause->id, failure);
  const Subject& said = first->fact->event.subject;
  const bool names_device = concerns_node(said) && names_part(said) && said.node == placed.node;
  if (!placed.node.empty()) explanation.subject = Subject::of_node(placed.node);
  if (first->cause->cause_class == CauseClass::gpu) {
    const std::string gpu = only_gpu_of(placed, failure.attempt);
    if (!gpu.empty()) explanation.subject = Subject::of_gpu(placed.node, gpu);
  }
  if (names_device) explanation.subject = said;
  explanation.hardware = true;
  explanation.confidence = placed.node.empty() ? confidence::fair : confidence::likely;
  for (const JobLine& line : failure.lines) {
    const bool same = says_hardware(line) && line.rank == first->rank && line.node == first->node;
    (same ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
  explanation.text =
      "A hardware error came from " + place_text(placed) + ": " + first->cause->summary +
      ". Only the job says so, so it stays a suspicion until the kernel or a test agrees.";
  if (placed.node.empty()) {
    explanation.missing.push_back("where " + place_text(placed) +
                                  " ran (rank to node map, or a log for each rank)");
  }
  explanation.missing.push_back(kernel_log_of(placed.node, failure));
  return explanation;
}

/// Nothing else says why the job failed: worth a test, and no ground to take the node out.
std::optional<Explanation> rule_hardware_outlived(const FailureCase& failure) {
  const auto said = std::find_if(failure.lines.begin(), failure.lines.end(),
                                 [](const JobLine& line) { return line.outlived; });
  if (said == failure.lines.end()) return std::nullopt;
  Explanation explanation = explanation_from(*said, said->cause->id, failure);
  if (!said->node.empty()) explanation.subject = Subject::of_node(said->node);
  explanation.node.clear();
  explanation.confidence = confidence::hint;
  explanation.text = "A hardware error came from " + place_text(*said) + ": " +
                     said->cause->summary +
                     ". The training went on behind it, so it is not what ended the job.";
  explanation.missing.push_back(kernel_log_of(said->node, failure));
  return explanation;
}

}  // namespace faultline
