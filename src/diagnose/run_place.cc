#include "diagnose/run_place.h"

#include <algorithm>

#include "detect/node_pattern.h"

namespace faultline {
namespace {

/// The launcher or NCCL placed the rank on a card.
bool places(const Event& event, const Verdict& failure) {
  return failure.subject.kind == SubjectKind::rank && event.kind == EventKind::rank_started &&
         event.subject.rank == failure.subject.rank && !event.field("gpus").empty();
}

}  // namespace

bool RunPlace::is_on(std::string_view node, const Verdict& failure) const {
  if (!failure.subject.node.empty()) return same_machine(failure.subject.node, node);
  return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](const std::string& name) {
    return same_machine(name, node);
  });
}

bool RunPlace::knows_card(const Verdict& failure) const {
  return std::any_of(events.begin(), events.end(),
                     [&](const Event& event) { return places(event, failure); });
}

bool RunPlace::is_on_card(const Subject& card, const Verdict& failure) const {
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return places(event, failure) && same_machine(event.subject.node, card.node) &&
           event.field("gpus") == card.part;
  });
}

}  // namespace faultline
