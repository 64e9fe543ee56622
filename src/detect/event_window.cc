#include "detect/event_window.h"

#include <algorithm>

namespace faultline {

Instant happened_at(const Event& event) {
  if (!known(event.observed_at)) return event.received_at;
  if (!known(event.received_at)) return event.observed_at;
  const Duration age = event.received_at - event.observed_at;
  if (event.clock == ClockDomain::printed && age > printed_age_max) return event.received_at;
  return std::min(event.observed_at, event.received_at);
}

Instant learnt_at(const Event& event) {
  return known(event.received_at) ? event.received_at : event.observed_at;
}

const std::string& node_of(const Event& event) {
  return event.subject.node.empty() ? event.reporter : event.subject.node;
}

FactList list_of(const Facts& facts) {
  FactList list;
  list.reserve(facts.size());
  for (const Fact& fact : facts) list.push_back(&fact);
  return list;
}

bool EventWindow::add(const Event& event, bool root, const Signature* signature,
                      const Cause* cause) {
  if (known_.contains(event.id)) return false;
  if (facts_.size() >= (root ? facts_max_ : facts_max_ - facts_max_ / 4)) {
    ++dropped_;
    const bool newer = !facts_.empty() && happened_at(event) > facts_.front().at;
    if (when_full_ == WhenFull::drop_newest || !newer) return false;
    known_.erase(facts_.front().event.id);
    facts_.pop_front();
  }
  known_.insert(event.id);
  Fact fact{event, happened_at(event), learnt_at(event), signature, cause};
  if (fact.event.raw.text.size() > fact_text_bytes_max)
    fact.event.raw.text.resize(fact_text_bytes_max);
  const auto place = std::upper_bound(facts_.begin(), facts_.end(), fact.at,
                                      [](Instant at, const Fact& other) { return at < other.at; });
  facts_.insert(place, std::move(fact));
  return true;
}

bool EventWindow::forget_before(Instant limit) {
  const auto keep = std::lower_bound(facts_.begin(), facts_.end(), limit,
                                     [](const Fact& fact, Instant at) { return fact.at < at; });
  if (keep == facts_.begin()) return false;
  for (auto fact = facts_.begin(); fact != keep; ++fact) known_.erase(fact->event.id);
  facts_.erase(facts_.begin(), keep);
  return true;
}

void EventWindow::clear() {
  facts_.clear();
  known_.clear();
}

}  // namespace faultline
