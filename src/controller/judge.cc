#include "controller/judge.h"

#include <algorithm>
#include <utility>

#include "detect/clean_record.h"
#include "policy/words.h"

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

bool earlier(const OpenFault& a, const OpenFault& b) { return a.since < b.since; }

/// Ruled on first: what a whole rack has in common is not the fault of its nodes.
bool is_wide(const Verdict& verdict) {
  switch (verdict.subject.kind) {
    case SubjectKind::cluster:
    case SubjectKind::rack:
    case SubjectKind::network_switch:
    case SubjectKind::storage: return true;
    default: return false;
  }
}

bool same_but_time(Verdict a, const Verdict& b) {
  a.updated_at = b.updated_at;
  return a == b;
}

}  // namespace

Judge::Judge(const Catalog& catalog, const PolicyLimits& limits, Mode mode, NodeTests tests)
    : catalog_(catalog),
      limits_(limits),
      mode_(mode),
      tests_(tests),
      detectors_(catalog),
      witness_(catalog) {}

void Judge::remember(const Verdict& verdict, const std::vector<Decision>& decisions) {
  last_[verdict.id] = verdict;
  open_[verdict.id] = verdict;
  for (const auto& decision : decisions) decided_[decision.id] = decision;
}

void Judge::observe(const Event& event) {
  if (witness_.observe(event)) tested_ = true;
  if (cleans_record(event) && concerns_node(event.subject)) {
    auto& since = clean_since_[event.subject.node];
    since = std::max(since, event.observed_at);
  }
  detectors_.observe(event);
}

void Judge::replayed(Instant heard_at) {
  // Older evidence does not act, so nothing that was to be done hangs on it.
  detectors_.drop_before(heard_at - limits_.verdict_age_max);
}

void Judge::take(const Verdict& verdict, Judgement& judgement) {
  const auto before = last_.find(verdict.id);
  if (before != last_.end() && same_but_time(before->second, verdict)) return;
  last_[verdict.id] = verdict;
  open_[verdict.id] = verdict;
  judgement.verdicts.push_back(verdict);
}

void Judge::collect(Judgement& judgement, Instant now) {
  Collector collector;
  detectors_.evaluate(now, collector);
  for (const auto& verdict : collector.verdicts) take(witness_.heard(verdict), judgement);
  if (!std::exchange(tested_, false)) return;
  for (const auto& [id, verdict] : last_) take(witness_.heard(verdict), judgement);
}

/// Each node once for each cause, since its earliest open verdict.
void Judge::count_open_faults() {
  std::map<std::string, std::map<std::string, Instant>> begun;
  for (const auto& [id, verdict] : open_) {
    const bool counts = verdict.status == VerdictStatus::confirmed &&
                        concerns_node(verdict.subject) && has_independent_witness(verdict);
    if (!counts) continue;
    const auto [entry, fresh] =
        begun[verdict.cause].try_emplace(verdict.subject.node, verdict.since);
    if (!fresh) entry->second = std::min(entry->second, verdict.since);
  }
  open_faults_.clear();
  for (const auto& [cause, nodes] : begun) {
    auto& faults = open_faults_[cause];
    for (const auto& [node, since] : nodes) faults.push_back({since, node});
    std::stable_sort(faults.begin(), faults.end(), earlier);
  }
}

std::span<const OpenFault> Judge::same_cause(const Verdict& verdict) const {
  const auto faults = open_faults_.find(verdict.cause);
  if (faults == open_faults_.end()) return {};
  const auto begin =
      std::lower_bound(faults->second.begin(), faults->second.end(),
                       OpenFault{verdict.since - limits_.same_cause_window, {}}, earlier);
  const auto end =
      std::upper_bound(begin, faults->second.end(),
                       OpenFault{verdict.since + limits_.same_cause_window, {}}, earlier);
  return {begin, end};
}

VerdictId Judge::other_fault(const Verdict& verdict, Instant now) const {
  const std::string& node = verdict.subject.node;
  const auto clean = clean_since_.find(node);
  const auto stands = [&](const Verdict& other) {
    const Cause* cause = catalog_.cause(other.cause);
    return other.id != verdict.id && other.status == VerdictStatus::confirmed &&
           now - other.updated_at <= limits_.repeat_window && concerns_node(other.subject) &&
           other.subject.node == node && cause != nullptr && concerns_node(cause->remedy) &&
           has_independent_witness(other) &&
           (clean == clean_since_.end() || clean->second < other.since);
  };
  for (const auto& [id, other] : last_)
    if (stands(other)) return id;
  return {};
}

void Judge::decide_all(std::vector<const Verdict*> verdicts, const ClusterView& view,
                       ActionHistory& history, Instant now, Judgement& judgement) {
  std::stable_partition(verdicts.begin(), verdicts.end(),
                        [](const Verdict* verdict) { return is_wide(*verdict); });
  for (const auto* verdict : verdicts) decide_one(*verdict, view, history, now, judgement);
}

void Judge::decide_one(const Verdict& verdict, const ClusterView& view, ActionHistory& history,
                       Instant now, Judgement& judgement) {
  const PolicyInput input{verdict,
                          view,
                          history,
                          catalog_,
                          limits_,
                          mode_,
                          now,
                          tests_,
                          same_cause(verdict),
                          clean_since_,
                          drain_stands(verdict, view) ? other_fault(verdict, now) : VerdictId{}};
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
/// too, for its return. One whose drain stands stays, for its test.
void Judge::sweep(const ClusterView& view, ActionHistory& history, Instant now,
                  Judgement& judgement) {
  std::vector<const Verdict*> verdicts;
  for (const auto& [id, verdict] : open_) verdicts.push_back(&verdict);
  decide_all(std::move(verdicts), view, history, now, judgement);
  std::erase_if(open_, [&](const auto& entry) {
    const Verdict& verdict = entry.second;
    return now - verdict.updated_at > limits_.verdict_age_max && !drain_stands(verdict, view);
  });
}

Judgement Judge::evaluate(const ClusterView& view, ActionHistory& history, Instant now) {
  Judgement judgement;
  collect(judgement, now);
  const bool due = now - swept_at_ >= sweep_interval;
  if (due || !judgement.verdicts.empty()) count_open_faults();
  std::vector<const Verdict*> news;
  for (const auto& verdict : judgement.verdicts) news.push_back(&verdict);
  decide_all(std::move(news), view, history, now, judgement);
  if (due) {
    swept_at_ = now;
    sweep(view, history, now, judgement);
  }
  forget_old(now);
  return judgement;
}

void Judge::forget_old(Instant now) {
  const auto old = [&](Instant at) { return now - at > limits_.repeat_window; };
  std::erase_if(clean_since_, [&](const auto& entry) { return old(entry.second); });
  if (last_.size() > remembered_max)
    std::erase_if(last_, [&](const auto& entry) { return old(entry.second.updated_at); });
  if (decided_.size() > remembered_max)
    std::erase_if(decided_, [&](const auto& entry) { return old(entry.second.decided_at); });
  while (open_.size() > open_verdicts_max) {
    open_.erase(std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.updated_at < b.second.updated_at;
    }));
  }
}

}  // namespace faultline
