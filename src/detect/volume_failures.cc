#include "detect/volume_failures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"

namespace faultline {
namespace {

constexpr std::size_t volumes_named_max = 6;

/// "nvme2" of "nvme2n1" and of its path "nvme2c1n1"; "sdb" of its partition "sdb1".
std::string volume_of(const Fact& fact) {
  const std::string_view device = fact.event.field("dev");
  if (device.starts_with("nvme"))
    return std::string(device.substr(0, device.find_first_not_of("0123456789", 4)));
  return std::string(device.substr(0, device.find_first_of("0123456789")));
}

/// The first time at which enough volumes had failed within the span, and which those were.
std::set<std::string> failed_together(const FactList& facts, Instant& since) {
  FactList errors;
  for (const Fact* fact : facts) {
    if (tells_of_volume(fact->event.signature)) errors.push_back(fact);
  }
  for (std::size_t first = 0; first < errors.size(); ++first) {
    std::set<std::string> volumes;
    for (std::size_t next = first; next < errors.size(); ++next) {
      if (errors[next]->at - errors[first]->at > volumes_together_max) break;
      volumes.insert(volume_of(*errors[next]));
    }
    if (volumes.size() < volumes_together_min) continue;
    since = errors[first]->at;
    return volumes;
  }
  return {};
}

/// What a volume that gives errors leads to: its file system, its controller's reset.
bool follows(const KernelFault& fault, Instant since) {
  return fault.cause->cause_class == CauseClass::storage && fault.since() >= since - burst_gap &&
         fault.since() - since <= incident_span;
}

std::string named(const std::set<std::string>& volumes) {
  std::vector<std::string> names(volumes.begin(), volumes.end());
  if (names.size() > volumes_named_max) {
    const std::size_t more = names.size() - volumes_named_max;
    names.resize(volumes_named_max);
    names.push_back(std::to_string(more) + " more");
  }
  return join(names, ", ");
}

}  // namespace

bool tells_of_volume(std::string_view signature) {
  static constexpr std::array<std::string_view, 3> signatures = {"nvme.ioerr", "nvme.path_ioerr",
                                                                 "disk.ioerr"};
  return contains(signatures, signature);
}

void fold_volumes(const FactList& facts, const Catalog& catalog, std::vector<KernelFault>& faults) {
  Instant since;
  const std::set<std::string> volumes = failed_together(facts, since);
  if (volumes.empty()) return;
  KernelFault together;
  together.cause = catalog.cause(cause_id::storage_paths);
  if (together.cause == nullptr) return;
  for (const Fact* fact : facts) {
    if (!tells_of_volume(fact->event.signature) || fact->at < since) continue;
    const bool early = fact->at - since <= volumes_together_max;
    (early ? together.evidence : together.consequences).push_back(fact);
  }
  together.subject = Subject::of_node(node_of(together.evidence.front()->event));
  together.confidence = confidence::even;
  together.ready_at = together.evidence.back()->arrived;
  together.note = "Within a minute " + named(volumes) +
                  " gave I/O errors: what they share is likelier the reason than each of them.";
  for (const KernelFault& fault : faults) {
    if (!follows(fault, since)) continue;
    for (const Fact* fact : fault.evidence) {
      if (!tells_of_volume(fact->event.signature)) together.consequences.push_back(fact);
    }
  }
  std::erase_if(faults, [&](const KernelFault& fault) { return follows(fault, since); });
  faults.push_back(std::move(together));
}

}  // namespace faultline
