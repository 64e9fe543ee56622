#include "controller/judge.h"

#include <algorithm>

#include "policy/policy.h"

namespace faultline {
namespace {

/// Verdicts and decisions that are remembered to tell news from repetition. Beyond it those older
/// than the repeat window go: no detector speaks of them any more.
constexpr std::size_t remembered_max = 4 * open_verdicts_max;

constexpr Duration sweep_interval = std::chrono::milliseconds{500};

class Collector final : public VerdictSink {
 public:
  void verdict(const Verdict& verdict) override { verdicts.push_back(verdict); }
  std::vector<Verdict> verdicts;
};

bool same_but_time(Verdict a, const Verdict& b) {
  a.updated_at = b.updated_at;
  return a == b;
}

}  // namespace

Judge::Judge(const Catalog& catalog, const PolicyLimits& limits, Mode mode)
    : catalog_(catalog), limits_(limits), mode_(mode), detectors_(make_detectors(catalog)) {}

void Judge::remember(const Verdict& verdict, const std::vector<Decision>& decisions) {
  last_[verdict.id] = verdict;
  open_[verdict.id] = verdict;
  for (const auto& decision : decisions) decided_[decision.id] = decision;
}

void Judge::observe(const Event& event) {
  for (const auto& detector : detectors_) detector->observe(event);
}

void Judge::collect(Judgement& judgement, Instant now) {
  Collector collector;
  for (const auto& detector : detectors_) detector->evaluate(now, collector);
  for (const auto& verdict : collector.verdicts) {
    const auto before = last_.find(verdict.id);
    if (before != last_.end() && same_but_time(before->second, verdict)) continue;
    last_[verdict.id] = verdict;
    open_[verdict.id] = verdict;
    judgement.verdicts.push_back(verdict);
  }
}

void Judge::decide_one(const Verdict& verdict, const ClusterView& view, ActionHistory& history,
                       Instant now, Judgement& judgement) {
  const PolicyInput input{verdict, view, history, catalog_, limits_, mode_, now};
  for (auto& decision : decide(input)) {
    const auto before = decided_.find(decision.id);
    if (before != decided_.end()) {
      // What was set going is not taken back by a later look; a wait that goes on is not news.
      if (before->second.ruling == Ruling::act) continue;
      if (before->second.ruling == decision.ruling && before->second.reason == decision.reason)
        continue;
    }
    decided_[decision.id] = decision;
    // The next proposal must see this one, or one tick could act on twenty nodes.
    if (decision.ruling == Ruling::act)
      history.entries.push_back({decision.action, now, {}, verdict.cause});
    judgement.decisions.push_back(std::move(decision));
  }
}

/// A guard may have opened since: every verdict is ruled on again until it is stale, a cleared one
/// too, for its return.
void Judge::sweep(const ClusterView& view, ActionHistory& history, Instant now,
                  Judgement& judgement) {
  for (auto it = open_.begin(); it != open_.end();) {
    decide_one(it->second, view, history, now, judgement);
    const bool stale = now - it->second.updated_at > limits_.verdict_age_max;
    it = stale ? open_.erase(it) : std::next(it);
  }
}

Judgement Judge::evaluate(const ClusterView& view, ActionHistory& history, Instant now) {
  Judgement judgement;
  collect(judgement, now);
  for (const auto& verdict : judgement.verdicts) decide_one(verdict, view, history, now, judgement);
  if (now - swept_at_ >= sweep_interval) {
    swept_at_ = now;
    sweep(view, history, now, judgement);
  }
  const auto old = [&](Instant at) { return now - at > limits_.repeat_window; };
  if (last_.size() > remembered_max)
    std::erase_if(last_, [&](const auto& entry) { return old(entry.second.updated_at); });
  if (decided_.size() > remembered_max)
    std::erase_if(decided_, [&](const auto& entry) { return old(entry.second.decided_at); });
  while (open_.size() > open_verdicts_max) {
    open_.erase(std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.updated_at < b.second.updated_at;
    }));
  }
  return judgement;
}

}  // namespace faultline
