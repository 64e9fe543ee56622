#include "diagnose/unseen_boots.h"

#include <algorithm>
#include <vector>

#include "detect/kernel_faults.h"
#include "detect/node_pattern.h"
#include "diagnose/runs.h"
#include "ingest/boot_records.h"

namespace faultline {
namespace {

/// Longer than a machine takes from its reset to its kernel's first line, with somebody who has to
/// see that it hangs.
constexpr Duration down_max = std::chrono::minutes{30};

bool is_record(const Event& event) {
  return event.signature == unclean_boot_signature &&
         event.raw.text.find(boot_record_words) != std::string::npos;
}

/// The last time before `boot` of those events that `counts`; the boot's own without one.
template <class Counts>
Instant last_before(const Event& boot, const std::vector<Event>& events, Counts counts) {
  Instant last;
  for (const Event& event : events) {
    const bool before = known(event.observed_at) && event.observed_at < boot.observed_at;
    if (before && !is_record(event) && counts(event)) last = std::max(last, event.observed_at);
  }
  return known(last) && boot.observed_at - last <= down_max ? last : boot.observed_at;
}

}  // namespace

void settle_boots(Gathered& gathered) {
  for (Event& boot : gathered.events) {
    if (!is_record(boot) || !known(boot.observed_at)) continue;
    const Instant heard = last_before(boot, gathered.events, [&](const Event& event) {
      return same_machine(node_of(event), boot.subject.node);
    });
    boot.observed_at =
        heard < boot.observed_at
            ? heard
            : last_before(boot, gathered.events, [](const Event& event) { return of_job(event); });
  }
}

}  // namespace faultline
