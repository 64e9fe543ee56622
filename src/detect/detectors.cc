#include "detect/detectors.h"

#include <algorithm>
#include <set>
#include <utility>

namespace faultline {

#define FAULTLINE_DETECTOR(NAME) std::unique_ptr<Detector> make_##NAME(const Catalog& catalog);
#include "detect/detectors.def"
#undef FAULTLINE_DETECTOR

std::vector<std::unique_ptr<Detector>> make_detectors(const Catalog& catalog) {
  std::vector<std::unique_ptr<Detector>> detectors;
#define FAULTLINE_DETECTOR(NAME) detectors.push_back(make_##NAME(catalog));
#include "detect/detectors.def"
#undef FAULTLINE_DETECTOR
  return detectors;
}

namespace {

constexpr Duration instant_resolution{1};

class Collector final : public VerdictSink {
 public:
  explicit Collector(std::vector<Verdict>& verdicts) : verdicts_(verdicts) {}
  void verdict(const Verdict& verdict) override { verdicts_.push_back(verdict); }

 private:
  std::vector<Verdict>& verdicts_;
};

}  // namespace

Detectors::Detectors(const Catalog& catalog)
    : detectors_(make_detectors(catalog)), catch_up_max_(catalog.policy().limits.repeat_window) {}

void Detectors::observe(const Event& event) {
  if (known(event.received_at)) {
    const Instant before = event.received_at - instant_resolution;
    if (std::exchange(skimming_, false)) look_behind_news(before);
    look_until(before);
  }
  take(event);
}

void Detectors::skim(const Event& event) {
  skimming_ = true;
  if (known(event.received_at)) {
    const Instant before = event.received_at - instant_resolution;
    if (!known(looked_at_)) looked_at_ = before;
    look_behind_news(before);
    if (before - looked_at_ >= skim_look_interval) look(before);
    looked_until_ = std::max(looked_until_, before);
  }
  take(event);
}

/// What came before a long silence is looked at as of then, since later it may be forgotten; but no
/// further back than any failure counts.
void Detectors::look_behind_news(Instant before) {
  const Instant settled = std::max(heard_at_, before - catch_up_max_) + skim_look_interval;
  if (!known(heard_at_) || looked_at_ >= heard_at_ || before < settled) return;
  look(settled);
  looked_until_ = std::max(looked_until_, settled);
}

void Detectors::take(const Event& event) {
  if (known(event.received_at)) heard_at_ = std::max(heard_at_, event.received_at);
  for (const auto& detector : detectors_) detector->observe(event);
}

void Detectors::evaluate(Instant now, VerdictSink& verdicts) {
  if (looked_until_ - now > clock_set_back_min) {
    looked_until_ = now - instant_resolution;
    heard_at_ = now;
  }
  if (!known(looked_until_)) looked_until_ = now - instant_resolution;
  look_until(now);
  const std::vector<Raised> raised = std::exchange(raised_, {});
  std::set<VerdictId> seen;
  std::vector<const Verdict*> latest;
  for (auto entry = raised.rbegin(); entry != raised.rend(); ++entry) {
    if (seen.insert(entry->verdict.id).second) latest.push_back(&entry->verdict);
  }
  for (auto verdict = latest.rbegin(); verdict != latest.rend(); ++verdict)
    verdicts.verdict(**verdict);
}

void Detectors::drop_before(Instant since) {
  std::erase_if(raised_, [&](const Raised& raised) { return raised.at < since; });
}

void Detectors::look_until(Instant end) {
  if (!known(looked_until_)) looked_until_ = end;
  looked_until_ = std::max(looked_until_, end - catch_up_max_);
  for (Instant now = next_look(); now <= end; now = next_look()) {
    looked_until_ = now;
    look(now);
  }
}

void Detectors::look(Instant now) {
  looked_at_ = now;
  std::vector<Verdict> verdicts;
  Collector collector(verdicts);
  for (const auto& detector : detectors_) detector->evaluate(now, collector);
  for (Verdict& verdict : verdicts) raised_.push_back({now, std::move(verdict)});
}

/// Multiples of the interval, so that two lives that began at different times look at the same
/// ones.
Instant Detectors::next_look() const {
  const Duration quiet = looked_until_ - heard_at_;
  const Duration interval = quiet < quiet_min     ? look_interval
                            : quiet < silence_min ? quiet_look_interval
                                                  : silence_look_interval;
  return Instant{(looked_until_.time_since_epoch() / interval + 1) * interval};
}

}  // namespace faultline
