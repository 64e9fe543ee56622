#include "detect/switch_failure.h"

#include <algorithm>
#include <set>
#include <string>

#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

constexpr std::size_t gpus_min = 2;

bool is_failure(const Fact& lead, const Catalog& catalog) {
  const Cause* cause = cause_of(lead, catalog);
  return cause != nullptr && cause->id == cause_id::nvswitch_fatal;
}

/// A GPU tears down what used the links, at once or when its own time-outs are over.
FactList torn_down_with(const Fact& lead, const FactList& consequences, const Catalog& catalog) {
  FactList torn;
  for (const Fact* fact : consequences) {
    const Cause* cause = cause_of(*fact, catalog);
    const bool with = fact->at >= lead.at - burst_gap && fact->at <= lead.at + lost_gpu_echo;
    if (with && cause != nullptr && cause->id == cause_id::channel_teardown) torn.push_back(fact);
  }
  return torn;
}

std::size_t gpus_of(const FactList& facts) {
  std::set<Subject> gpus;
  for (const Fact* fact : facts) {
    if (names_part(fact->event.subject)) gpus.insert(fact->event.subject);
  }
  return gpus.size();
}

}  // namespace

std::optional<KernelFault> infer_switch_failure(const FactList& leads, const FactList& consequences,
                                                const Catalog& catalog) {
  for (const Fact* lead : leads) {
    if (!is_failure(*lead, catalog)) continue;
    const FactList torn = torn_down_with(*lead, consequences, catalog);
    const std::size_t gpus = gpus_of(torn);
    if (gpus < gpus_min) continue;
    KernelFault fault;
    fault.cause = cause_of(*lead, catalog);
    fault.subject = subject_of(*lead, catalog);
    fault.inferred = true;
    fault.confidence = confidence::weak;
    fault.ready_at = lead->arrived + lost_gpu_echo;
    fault.evidence = {lead};
    fault.consequences = torn;
    fault.note = "Its fabric manager says so, and " + std::to_string(gpus) +
                 " GPUs tore down their channels with it; the kernel's own line is not here.";
    fault.missing.push_back(kernel_log_words(node_of(lead->event)) + " with its SXid lines");
    return fault;
  }
  return std::nullopt;
}

}  // namespace faultline
