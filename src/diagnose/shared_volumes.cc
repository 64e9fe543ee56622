#include "diagnose/shared_volumes.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "detect/event_window.h"
#include "detect/place_words.h"
#include "detect/volume_failures.h"

namespace faultline {
namespace {

constexpr std::size_t nodes_min = 3;
constexpr std::string_view shared_signature = "volumes.shared";

/// Begins with the first error of `nodes_min` nodes within the span; unknown where there are fewer.
Instant begin_together(std::vector<const Event*> errors) {
  std::stable_sort(errors.begin(), errors.end(),
                   [](const Event* a, const Event* b) { return a->observed_at < b->observed_at; });
  for (std::size_t first = 0; first < errors.size(); ++first) {
    std::set<std::string> nodes;
    for (std::size_t next = first; next < errors.size(); ++next) {
      if (errors[next]->observed_at - errors[first]->observed_at > volumes_together_max) break;
      nodes.insert(node_of(*errors[next]));
    }
    if (nodes.size() >= nodes_min) return errors[first]->observed_at;
  }
  return {};
}

/// What a kernel says of its own volumes and of what lies on them.
bool of_volumes(const Event& event, const Catalog& catalog) {
  const Signature* signature = catalog.signature(event.signature);
  const Cause* cause = signature == nullptr ? nullptr : catalog.cause(signature->cause);
  return cause != nullptr && cause->cause_class == CauseClass::storage &&
         signature->subject == SubjectKind::node && signature->role == Role::root;
}

}  // namespace

void settle_shared_volumes(Gathered& gathered, const Catalog& catalog) {
  std::vector<const Event*> errors;
  for (const Event& event : gathered.events) {
    const bool placed = event.source == EventSource::kernel_log && known(event.observed_at) &&
                        node_of(event) != unnamed_node;
    if (placed && tells_of_volume(event.signature)) errors.push_back(&event);
  }
  const Instant since = begin_together(errors);
  if (!known(since)) return;
  std::set<std::string> nodes;
  for (const Event* event : errors) {
    const Duration after = event->observed_at - since;
    if (after >= Duration{0} && after <= volumes_together_max) nodes.insert(node_of(*event));
  }
  for (Event& event : gathered.events) {
    const Duration after = event.observed_at - since;
    if (event.source != EventSource::kernel_log || !of_volumes(event, catalog) ||
        !nodes.contains(node_of(event)) || after < -burst_gap || after > incident_span)
      continue;
    event.reporter = node_of(event);
    event.subject = Subject::of_storage("the volumes of these nodes");
    event.signature = shared_signature;
  }
}

}  // namespace faultline
