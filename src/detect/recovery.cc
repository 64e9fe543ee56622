#include "detect/recovery.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "detect/kernel_faults.h"

namespace faultline {
namespace {

/// Longer than this it was down, and did not flap (gpud's limit for a port).
constexpr Duration outage_max = std::chrono::minutes{4};
/// So many losses within flap_span are a fault of their own, however short each was.
constexpr std::ptrdiff_t flaps_min = 3;
constexpr Duration flap_span = std::chrono::hours{1};

/// From one to the other. Of lines that nobody could date, the kernel's own clock says it.
Duration between(const Fact& from, const Fact& to) {
  const auto since_boot = [](const Fact& fact) {
    return parse_number<std::int64_t>(fact.event.field("kernel_us"));
  };
  const bool dated = known(from.event.observed_at) && known(to.event.observed_at);
  if (dated || from.event.raw.path != to.event.raw.path) return to.at - from.at;
  const auto first = since_boot(from), second = since_boot(to);
  if (!first || !second) return to.at - from.at;
  return std::chrono::microseconds{*second - *first};
}

}  // namespace

std::string part_of(const Event& event) {
  std::string part;
  for (const std::string_view name : {"cpu", "dev", "port"})
    part += std::string(event.field(name)) + '|';
  return part;
}

Recoveries::Recoveries(const FactList& facts, const Catalog& catalog) : catalog_(catalog) {
  for (const Fact* fact : facts) {
    const Signature* signature = signature_of(*fact, catalog);
    if (signature != nullptr && signature->use == SignatureUse::clears)
      clearing_[{signature->clears, fact->event.subject}].push_back(fact);
  }
  if (clearing_.empty()) return;
  for (const Fact* fact : facts) {
    Kind kind{fact->event.signature, fact->event.subject};
    if (clearing_.contains(kind)) cleared_[std::move(kind)].push_back(fact);
  }
}

Recovery Recoveries::of(const Fact& fact) const {
  if (clearing_.empty()) return Recovery::none;
  const auto clearing = clearing_.find({fact.event.signature, fact.event.subject});
  if (clearing == clearing_.end()) return Recovery::none;
  const auto found =
      std::find_if(clearing->second.begin(), clearing->second.end(), [&](const Fact* later) {
        return between(fact, *later) >= Duration{0} && part_of(later->event) == part_of(fact.event);
      });
  if (found == clearing->second.end()) return Recovery::none;
  const Duration limit = catalog_.signature((*found)->event.signature)->clears_within;
  if (limit == Duration{0}) return Recovery::in_time;
  const Duration outage = between(fact, **found);
  if (outage > outage_max || flaps(fact)) return Recovery::none;
  return outage <= limit ? Recovery::brief : Recovery::late;
}

bool Recoveries::flaps(const Fact& fact) const {
  const auto& same = cleared_.at({fact.event.signature, fact.event.subject});
  return std::count_if(same.begin(), same.end(), [&](const Fact* other) {
           const Duration apart = between(fact, *other);
           return apart <= flap_span && apart >= -flap_span;
         }) >= flaps_min;
}

}  // namespace faultline
