#include "diagnose/advice.h"

#include <algorithm>

#include "detect/place_words.h"
#include "model/names.h"

namespace faultline {
namespace {

/// What a scheduler knows: no word of decoders for a node that nobody names, and none that every
/// machine calls itself.
bool is_name(std::string_view node) {
  return valid_node_name(node) && node != unnamed_node && !node.starts_with("localhost");
}

/// What a person does by hand needs less than what a policy does by itself: as likely as not, where
/// the kernel says it; more than that, where it is a counter or a job's word.
constexpr double kernel_confidence_min = 0.5;
constexpr double words_confidence_min = 0.55;

double evict_confidence_min(const Verdict& verdict) {
  const auto& witnesses = verdict.witnesses;
  const bool kernel =
      std::find(witnesses.begin(), witnesses.end(), EventSource::kernel_log) != witnesses.end();
  return kernel ? kernel_confidence_min : words_confidence_min;
}

/// A cause that is the node's, and evidence that is good enough to act on it. A rank's place
/// counts: hardware that a rank met is that of its node.
bool is_evictable(const Verdict& verdict, const Cause& cause) {
  if (verdict.status == VerdictStatus::unknown || blames_no_node(cause)) return false;
  if (verdict.subject.kind == SubjectKind::cluster) return false;  // of many nodes at once
  if (verdict.status != VerdictStatus::confirmed &&
      verdict.confidence < evict_confidence_min(verdict))
    return false;
  return concerns_node(cause.remedy);
}

std::string quoted_reason(const Cause& cause) { return "\"faultline: " + cause.id + "\""; }

void add_node_commands(Advice& advice, const std::string& node, const Subject& subject,
                       const Cause& cause, const Circumstances& circumstances) {
  const bool slurm = circumstances.manager == NodeManager::slurm;
  if (slurm) {
    advice.commands.push_back("scontrol update NodeName=" + node +
                              " State=DRAIN Reason=" + quoted_reason(cause));
    advice.commands.push_back("sbatch --exclude=" + node + " JOB_SCRIPT");
  } else {
    advice.commands.push_back("kubectl cordon " + node);
  }
  const bool is_amd = circumstances.gpu_maker == GpuMaker::amd;
  const std::string reset = is_amd ? " amd-smi reset -G -g " : " nvidia-smi --gpu-reset -i ";
  if (cause.remedy == Remedy::reset_gpu && subject.kind == SubjectKind::gpu)
    advice.commands.push_back("ssh " + node + reset + subject.part + "   # when the node is idle");
  if (cause.remedy == Remedy::reboot_node && !circumstances.rebooted && slurm)
    advice.commands.push_back("scontrol reboot ASAP nextstate=RESUME " + node);
}

std::string where_to_find_node(const Verdict& verdict) {
  const Subject& subject = verdict.subject;
  if (subject.kind == SubjectKind::rank)
    return "Find the node of rank " + std::to_string(subject.rank) +
           " first (srun -l output, or a log with host names). ";
  return "Find the node first: nothing that was read names it. ";
}

/// What would settle whether the part is broken.
std::string test_of(const Cause& cause) {
  switch (cause.cause_class) {
    case CauseClass::gpu: return "run the vendor's GPU diagnostic (dcgmi diag -r 3) on it";
    case CauseClass::link:
    case CauseClass::nic:
    case CauseClass::network_switch:
      return "read the port's state and error counters on both ends, and measure its bandwidth";
    case CauseClass::node:
    case CauseClass::storage:
    case CauseClass::power_thermal:
    case CauseClass::silent_corruption:
    case CauseClass::software:
    case CauseClass::environment:
    case CauseClass::workload:
    case CauseClass::unknown: break;
  }
  return "run the site's test on it";
}

/// A next step that begins with a drain is for a fault that is sure; this one is not.
std::string why_not_evict(const Verdict& verdict, const Cause& cause) {
  if (verdict.subject.kind == SubjectKind::cluster && concerns_node(cause.remedy))
    return "Do not evict these nodes: look for what they share first. Of a single node: ";
  const bool may_be_node = concerns_node(cause.remedy) && !blames_no_node(cause) &&
                           verdict.status != VerdictStatus::unknown;
  if (may_be_node)
    return "Do not evict any node yet: this is not sure enough. While the node is idle, " +
           test_of(cause) + ". If that fails: ";
  return cause.remedy != Remedy::none || blames_no_node(cause) ? "Do not evict any node. " : "";
}

}  // namespace

Advice advise(const Verdict& verdict, const Cause& cause, const Circumstances& circumstances) {
  Advice advice;
  advice.evict = is_evictable(verdict, cause);
  if (!advice.evict) {
    advice.action = why_not_evict(verdict, cause);
    // What the environment lacks, no line of the program mends.
    if (!circumstances.frame.empty() && cause.remedy != Remedy::fix_environment)
      advice.action += "Look at the code at " + circumstances.frame + ". ";
    advice.action += cause.next_step;
    return advice;
  }
  const std::string& node = verdict.subject.node;
  if (is_name(node)) {
    add_node_commands(advice, node, verdict.subject, cause, circumstances);
    if (circumstances.rebooted)
      advice.action =
          "The node was rebooted since: test it, and give it back if it passes. If not: ";
    advice.action += cause.next_step;
  } else {
    advice.action = where_to_find_node(verdict) + cause.next_step;
  }
  return advice;
}

}  // namespace faultline
