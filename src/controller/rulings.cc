#include "controller/rulings.h"

#include <algorithm>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t cases_max = 4096;
constexpr std::size_t acts_max = 16384;
/// Nobody waits for a ruling this long: what is older is only kept while there is room.
constexpr Duration remembered = std::chrono::hours{1};
/// After the lateness bound the detectors need one more look, a second apart, before silence means
/// something.
constexpr Duration margin = std::chrono::milliseconds{1500};

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
  if (event.kind == EventKind::attempt_ended && !is_failure(event)) {
    const std::lock_guard lock(mutex_);
    const auto one = cases_.find(*event.attempt);
    if (one != cases_.end() && !known(one->second.failed_at)) cases_.erase(one);
    return;
  }
  const bool started =
      event.kind == EventKind::rank_started || event.kind == EventKind::attempt_started;
  if (!started && !is_failure(event)) return;
  const std::lock_guard lock(mutex_);
  while (cases_.size() >= cases_max && !cases_.contains(*event.attempt))
    cases_.erase(cases_.begin());
  Case& one = cases_[*event.attempt];
  if (!event.subject.node.empty()) one.nodes.insert(event.subject.node);
  if (!event.reporter.empty()) one.nodes.insert(event.reporter);
  if (event.kind == EventKind::attempt_started && !event.field("nodes").empty()) {
    for (const auto node : split(event.field("nodes"), ',')) one.nodes.insert(std::string(node));
  }
  if (is_failure(event) && !known(one.failed_at)) one.failed_at = now;
}

void RulingBoard::verdict(const Verdict& verdict, const ClusterView& view) {
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, one] : cases_) {
    const bool named = verdict.attempt && *verdict.attempt == attempt;
    const bool on_its_node =
        concerns_node(verdict.subject) && one.nodes.contains(verdict.subject.node);
    const Attempt* running = view.attempt(attempt);
    const bool alive = running == nullptr || !ended(running->state) || known(one.failed_at);
    if (!one.closed && (named || (on_its_node && alive))) one.verdicts[verdict.id] = verdict;
  }
}

void RulingBoard::decision(const Decision& decision) {
  const std::lock_guard lock(mutex_);
  acts_[decision.action.id] = decision;
}

void RulingBoard::outcome(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  outcomes_[outcome.action] = outcome;
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

void RulingBoard::report(const AttemptId& attempt, bool final, std::string text) {
  reports_.emplace_back(next_++, RulingReport{attempt, final, std::move(text)});
  while (reports_.size() > ruling_reports_max) reports_.pop_front();
}

void RulingBoard::forget_old(Instant now) {
  const auto old = [&](Instant at) { return now - at > remembered; };
  if (acts_.size() > acts_max)
    std::erase_if(acts_, [&](const auto& entry) { return old(entry.second.decided_at); });
  if (outcomes_.size() > acts_max)
    std::erase_if(outcomes_, [&](const auto& entry) { return old(entry.second.at); });
  if (cases_.size() > cases_max / 2) {
    std::erase_if(cases_, [&](const auto& entry) {
      return entry.second.closed && old(entry.second.failed_at);
    });
  }
}

void RulingBoard::tick(Instant now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  for (auto& [attempt, one] : cases_) {
    if (one.closed || !known(one.failed_at) || waiting(one)) continue;
    const bool acted = std::any_of(acts_.begin(), acts_.end(), [&](const auto& entry) {
      return entry.second.ruling == Ruling::act &&
             entry.second.action.kind == ActionKind::drain_node &&
             one.verdicts.contains(entry.second.verdict);
    });
    if (!acted && now - one.failed_at < lateness_ + margin) continue;
    one.closed = true;
    report(attempt, true, summary(one));
  }
}

std::vector<RulingReport> RulingBoard::reports_for(const std::string& node, std::uint64_t& cursor) {
  const std::lock_guard lock(mutex_);
  std::vector<RulingReport> found;
  for (const auto& [number, one] : reports_) {
    if (number <= cursor) continue;
    const auto it = cases_.find(one.attempt);
    if (it != cases_.end() && it->second.nodes.contains(node)) found.push_back(one);
  }
  cursor = next_ - 1;
  return found;
}

}  // namespace faultline
