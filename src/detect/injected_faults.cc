#include "detect/injected_faults.h"

#include <algorithm>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

constexpr std::string_view loaded_signature = "inject.loaded";
constexpr Duration boot_span = std::chrono::minutes{5};

/// By the kernel's own clock, or else by the line with which its log begins.
bool at_boot(const Fact& loaded, const FactList& facts) {
  if (const auto micros = parse_number<std::int64_t>(loaded.event.field("kernel_us")))
    return *micros * std::chrono::microseconds{1} <= boot_span;
  return std::any_of(facts.begin(), facts.end(), [&](const Fact* fact) {
    return fact->event.signature == boot_signature && fact->at <= loaded.at &&
           loaded.at - fact->at <= boot_span;
  });
}

FactList injectors_in(const FactList& facts, const Catalog& catalog) {
  FactList injectors;
  for (const Fact* fact : facts) {
    const Cause* cause = cause_of(*fact, catalog);
    if (cause == nullptr || !tells_of_injector(*cause)) continue;
    if (fact->event.signature != loaded_signature || !at_boot(*fact, facts))
      injectors.push_back(fact);
  }
  return injectors;
}

/// Processors, memory, PCIe and GPUs have injectors; nobody injects a cable.
bool can_be_injected(const KernelFault& fault) {
  return !fault.program && (fault.cause->cause_class == CauseClass::node ||
                            fault.cause->cause_class == CauseClass::gpu);
}

/// The last one before the fault; nullptr if there is none, or it was too long before.
const Fact* injector_before(const KernelFault& fault, const FactList& injectors) {
  const auto after = std::upper_bound(injectors.begin(), injectors.end(), fault.since(),
                                      [](Instant at, const Fact* other) { return at < other->at; });
  if (after == injectors.begin()) return nullptr;
  const Fact* last = *(after - 1);
  return fault.since() - last->at <= injected_span ? last : nullptr;
}

}  // namespace

bool tells_of_injector(const Cause& cause) { return cause.id == cause_id::error_injected; }

void blame_injector(std::vector<KernelFault>& faults, const FactList& facts,
                    const Catalog& catalog) {
  const FactList injectors = injectors_in(facts, catalog);
  const Cause* injected = catalog.cause(cause_id::error_injected);
  if (injectors.empty() || injected == nullptr) return;
  for (KernelFault& fault : faults) {
    const Fact* injector = can_be_injected(fault) ? injector_before(fault, injectors) : nullptr;
    if (injector == nullptr) continue;
    fault.note = "An error injector was at work on " + node_words(node_of(injector->event)) +
                 " shortly before: " + fault.cause->summary + " on " + place_words(fault.subject) +
                 " was made for a test, and the hardware is not suspected.";
    fault.evidence.insert(fault.evidence.begin(), injector);
    fault.cause = injected;
    fault.subject = Subject::of_node(node_of(injector->event));
    fault.decisive = false;
    fault.program = true;
    fault.inferred = false;
    fault.confidence = confidence::strong;
    fault.missing.clear();
  }
}

}  // namespace faultline
