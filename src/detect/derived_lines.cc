#include "detect/derived_lines.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "detect/confidence.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

const Signature* xid_signature(std::string_view code, const Catalog& catalog) {
  return catalog.signature("xid." + std::string(code));
}

bool nvlink_code(int code) { return code == 74 || (code >= 144 && code <= 150); }

/// Smaller is closer to the root. A code that is not about NVLink explains NVLink codes; among
/// those, 149 is the end where the link went down and 145 what its peers see. Then the code that
/// the fewest GPUs name.
struct Rank {
  bool nvlink;
  bool not_netir;
  std::size_t gpus;
  Instant first;
  auto operator<=>(const Rank&) const = default;
};

struct Named {
  int code = 0;
  std::set<std::string> gpus;
  FactList facts;
  [[nodiscard]] Rank rank() const {
    return {nvlink_code(code), code != 149, gpus.size(), facts.front()->at};
  }
};

std::vector<Named> named_codes(const FactList& derived) {
  std::map<int, Named> by_code;
  for (const Fact* fact : derived) {
    const auto code = parse_number<int>(fact->event.field("root_xid"));
    if (!code) continue;
    Named& named = by_code[*code];
    named.code = *code;
    named.gpus.insert(fact->event.subject.part);
    named.facts.push_back(fact);
  }
  std::vector<Named> codes;
  for (auto& [code, named] : by_code) codes.push_back(std::move(named));
  std::sort(codes.begin(), codes.end(),
            [](const Named& a, const Named& b) { return a.rank() < b.rank(); });
  return codes;
}

}  // namespace

const Fact* named_root(const Fact& derived, const FactList& facts) {
  for (const Fact* fact : facts) {
    if (!fact->event.field("root_xid").empty()) continue;
    const Duration before = derived.at - fact->at;
    const bool near = before >= -burst_gap && before <= incident_span;
    if (near && fact->event.signature == "xid." + std::string(derived.event.field("root_xid")))
      return fact;
  }
  return nullptr;
}

std::optional<KernelFault> infer_root(const FactList& derived, const Catalog& catalog) {
  const std::vector<Named> codes = named_codes(derived);
  if (codes.empty()) return std::nullopt;
  const Signature* signature = xid_signature(std::to_string(codes.front().code), catalog);
  if (signature == nullptr || signature->role != Role::root || faults_of_programs(*signature))
    return std::nullopt;
  KernelFault fault;
  fault.cause = catalog.cause(signature->cause);
  if (fault.cause == nullptr) return std::nullopt;
  fault.evidence = codes.front().facts;
  fault.subject = subject_of(*fault.evidence.front(), catalog);
  fault.inferred = true;
  fault.confidence = codes.front().gpus.size() == 1 ? confidence::fair : confidence::weak;
  fault.ready_at = fault.evidence.front()->arrived + burst_gap;
  for (std::size_t i = 1; i < codes.size(); ++i) {
    fault.consequences.insert(fault.consequences.end(), codes[i].facts.begin(),
                              codes[i].facts.end());
  }
  const std::string code = std::to_string(codes.front().code);
  fault.note =
      "Only teardown lines (Xid 45) are here; the driver names Xid " + code + " as their cause.";
  fault.missing.push_back(kernel_log_words(node_of(fault.evidence.front()->event)) +
                          " from before, with the Xid " + code + " line");
  return fault;
}

}  // namespace faultline
