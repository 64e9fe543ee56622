#include "controller/rulings.h"

#include <algorithm>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t acts_max = 16384;
/// After the lateness bound the detectors need one more look, a second apart, before silence means
/// something.
constexpr Duration margin = std::chrono::milliseconds{1500};
/// What befalls a node is about the failure of an attempt on it if it began this near to it.
constexpr Duration before_failure = std::chrono::minutes{10};
constexpr Duration after_failure = std::chrono::minutes{1};

bool is_failure(const Event& event) {
  if (event.kind == EventKind::rank_exited)
    return event.field("exit_code") != "0" || !event.field("signal").empty();
  if (event.kind != EventKind::attempt_ended) return false;
  const auto state = event.field("state");
  return state == "failed" || state == "node_fail" || state == "out_of_memory";
}

}  // namespace

void RulingBoard::observe(const Event& event, Instant now) {
  if (!event.attempt) return;
  const bool failure = is_failure(event);
  const bool began =
      event.kind == EventKind::rank_started || event.kind == EventKind::attempt_started;
  const std::lock_guard lock(mutex_);
  const auto found = cases_.find(*event.attempt);
  const bool ended_well = event.kind == EventKind::attempt_ended && !failure;
  if (ended_well && found != cases_.end() && !known(found->second.failed_at)) cases_.erase(found);
  if (!began && !failure) return;
  Case& one = take_up(*event.attempt, now);
  learn_node(*event.attempt, one, event.subject.node);
  learn_node(*event.attempt, one, event.reporter);
  for (const auto node : split(event.field("nodes"), ','))
    learn_node(*event.attempt, one, std::string(node));
  if (failure && !known(one.failed_at)) one.failed_at = now;
}

RulingBoard::Case& RulingBoard::take_up(const AttemptId& attempt, Instant now) {
  if (cases_.size() >= ruling_cases_max && !cases_.contains(attempt)) {
    const auto rank = [](const Case& one) { return std::pair(one.reported.empty(), one.heard_at); };
    cases_.erase(std::min_element(cases_.begin(), cases_.end(), [&](const auto& a, const auto& b) {
      return rank(a.second) < rank(b.second);
    }));
  }
  Case& one = cases_[attempt];
  one.heard_at = now;
  return one;
}

void RulingBoard::learn_node(const AttemptId& attempt, Case& one, std::string node) {
  if (node.empty() || !one.nodes.insert(node).second || one.reported.empty()) return;
  report(attempt, node, one.reported);
}

bool RulingBoard::concerns(const Verdict& verdict, const AttemptId& attempt, const Case& one,
                           const ClusterView& view) const {
  if (one.verdicts.contains(verdict.id)) return true;
  if (one.verdicts.size() >= ruling_verdicts_per_case_max) return false;
  if (verdict.attempt && *verdict.attempt == attempt) return true;
  if (!concerns_node(verdict.subject) || !one.nodes.contains(verdict.subject.node)) return false;
  if (known(one.failed_at))
    return verdict.since >= one.failed_at - before_failure &&
           verdict.since <= one.failed_at + after_failure;
  const Attempt* running = view.attempt(attempt);
  return running == nullptr || !ended(running->state);
}

void RulingBoard::verdict(const Verdict& verdict, const ClusterView& view) {
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, one] : cases_) {
    if (!concerns(verdict, attempt, one, view)) continue;
    one.verdicts[verdict.id] = verdict;
    one.news = true;
  }
}

void RulingBoard::note_news(const VerdictId& verdict) {
  for (auto& [attempt, one] : cases_) one.news = one.news || one.verdicts.contains(verdict);
}

void RulingBoard::decision(const Decision& decision) {
  const std::lock_guard lock(mutex_);
  acts_[decision.action.id] = decision;
  note_news(decision.verdict);
}

void RulingBoard::outcome(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  // What is settled stays so: an "unknown" that was overtaken says nothing new.
  if (outcome.status == OutcomeStatus::unknown && settled(outcome.action)) return;
  outcomes_[outcome.action] = outcome;
  const auto act = acts_.find(outcome.action);
  if (act != acts_.end()) note_news(act->second.verdict);
}

bool RulingBoard::settled(const ActionId& action) const {
  const auto outcome = outcomes_.find(action);
  return outcome != outcomes_.end() && outcome->second.status != OutcomeStatus::unknown;
}

bool RulingBoard::waiting(const Case& one) const {
  return std::any_of(acts_.begin(), acts_.end(), [&](const auto& entry) {
    const Decision& decision = entry.second;
    return decision.ruling == Ruling::act && decision.action.kind != ActionKind::notify &&
           one.verdicts.contains(decision.verdict) && !settled(decision.action.id);
  });
}

std::string RulingBoard::summary(const Case& one) const {
  std::vector<std::string> lines;
  for (const auto& [id, verdict] : one.verdicts) {
    if (verdict.status == VerdictStatus::cleared) continue;
    const Cause* cause = catalog_.cause(verdict.cause);
    lines.push_back(std::string(to_text(verdict.status)) + " " + verdict.cause + " on " +
                    verdict.subject.text() +
                    (cause != nullptr ? ": " + cause->summary : std::string{}));
    for (const auto& [action, decision] : acts_) {
      if (decision.verdict != id || decision.action.kind == ActionKind::notify) continue;
      const auto outcome = outcomes_.find(action);
      const std::string result =
          outcome != outcomes_.end()
              ? std::string(to_text(outcome->second.status)) + ": " + outcome->second.detail
              : std::string(to_text(decision.ruling)) + " (" +
                    std::string(to_text(decision.reason)) + ")";
      lines.push_back("  " + std::string(to_text(decision.action.kind)) + " " +
                      decision.action.subject.text() + ": " + result);
    }
    for (const auto& missing : verdict.missing) lines.push_back("  missing: " + missing);
    lines.push_back("  faultline why " + id);
  }
  if (lines.empty())
    lines.push_back(
        "unknown: no evidence of the cause so far; the exit is not explained by this node's logs");
  return join(lines, "\n");
}

void RulingBoard::report(const AttemptId& attempt, const std::string& node,
                         const std::string& text) {
  reports_.push_back({next_++, node, {attempt, true, text}});
  while (reports_.size() > ruling_reports_max) reports_.pop_front();
}

void RulingBoard::forget_old(Instant now) {
  const auto old = [&](Instant at) { return now - at > ruling_age_max; };
  std::erase_if(cases_, [&](const auto& entry) {
    return known(entry.second.failed_at) && old(entry.second.failed_at);
  });
  if (acts_.size() > acts_max)
    std::erase_if(acts_, [&](const auto& entry) { return old(entry.second.decided_at); });
  if (outcomes_.size() > acts_max)
    std::erase_if(outcomes_, [&](const auto& entry) { return old(entry.second.at); });
}

bool RulingBoard::due(const Case& one, Instant now) const {
  if (!known(one.failed_at)) return false;
  if (!one.reported.empty())
    return one.news && one.reports < ruling_reports_per_case_max && !waiting(one);
  if (waiting(one)) return false;
  const bool acted = std::any_of(acts_.begin(), acts_.end(), [&](const auto& entry) {
    return entry.second.ruling == Ruling::act &&
           entry.second.action.kind == ActionKind::drain_node &&
           one.verdicts.contains(entry.second.verdict);
  });
  return acted || now - one.failed_at >= lateness_ + margin;
}

void RulingBoard::tick(Instant now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  for (auto& [attempt, one] : cases_) {
    if (!due(one, now)) continue;
    one.news = false;
    std::string text = summary(one);
    if (text == one.reported) continue;
    one.reported = std::move(text);
    ++one.reports;
    report(attempt, {}, one.reported);
  }
}

std::vector<RulingReport> RulingBoard::reports_for(const std::string& node, std::uint64_t& cursor) {
  const std::lock_guard lock(mutex_);
  std::vector<RulingReport> found;
  for (const auto& [number, only, one] : reports_) {
    if (number <= cursor) continue;
    const auto it = cases_.find(one.attempt);
    const bool here = it != cases_.end() && it->second.nodes.contains(node);
    // Nodes that were learnt late have a report of their own, and may not have seen the first one.
    const bool told = std::any_of(found.begin(), found.end(), [&](const RulingReport& other) {
      return other.attempt == one.attempt && other.text == one.text;
    });
    if (here && !told && (only.empty() || only == node)) found.push_back(one);
  }
  cursor = next_ - 1;
  return found;
}

std::size_t RulingBoard::cases() const {
  const std::lock_guard lock(mutex_);
  return cases_.size();
}

}  // namespace faultline
