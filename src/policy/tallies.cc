#include "policy/tallies.h"

#include <algorithm>

#include "base/contains.h"

namespace faultline {
namespace {

using Entry = ActionHistory::Entry;

/// For good: what may be tried again is still on its way.
bool has_failed(const Entry& entry) {
  return entry.outcome && entry.outcome->status == OutcomeStatus::failed &&
         !entry.outcome->retryable;
}

bool is_done(const Entry& entry) {
  return entry.outcome && entry.outcome->status == OutcomeStatus::done;
}

bool is_drain(const Entry& entry) {
  return entry.action.kind == ActionKind::drain_node && !has_failed(entry);
}

bool is_requeue(const Entry& entry) {
  return entry.action.kind == ActionKind::requeue_excluding && !has_failed(entry);
}

/// Not in the view yet: on its way, or done after the view was taken.
bool unseen(const Entry& entry, const ClusterView& view) {
  return !is_done(entry) || entry.outcome->at >= view.taken_at;
}

bool same_target(const Action& a, const Action& b) {
  if (a.kind != b.kind || a.subject != b.subject) return false;
  return a.kind != ActionKind::requeue_excluding || a.attempt == b.attempt;
}

}  // namespace

const Entry* same_act(const Proposal& proposal, const ActionHistory& history,
                      const ClusterView& view) {
  const auto& wanted = proposal.action;
  for (auto entry = history.entries.rbegin(); entry != history.entries.rend(); ++entry) {
    // An act is carried out once, whatever came of it: its id is its key in the journal.
    if (entry->action.id == wanted.id) return &*entry;
    if (has_failed(*entry) || !same_target(entry->action, wanted)) continue;
    switch (wanted.kind) {
      case ActionKind::requeue_excluding:
        // Another bad node of the same attempt is a new exclusion.
        if (std::all_of(wanted.nodes.begin(), wanted.nodes.end(),
                        [&](const auto& node) { return contains(entry->action.nodes, node); })) {
          return &*entry;
        }
        break;
      case ActionKind::drain_node:
      case ActionKind::return_node:
      case ActionKind::test_node:
      case ActionKind::hold_job:
        if (unseen(*entry, view)) return &*entry;
        break;
      case ActionKind::notify: break;
    }
  }
  return nullptr;
}

int drains_since(const ActionHistory& history, Instant since) {
  return static_cast<int>(std::count_if(
      history.entries.begin(), history.entries.end(),
      [&](const auto& entry) { return is_drain(entry) && entry.decided_at > since; }));
}

int requeues_since(const ActionHistory& history, const std::string& job, Instant since) {
  std::set<AttemptId> attempts;
  for (const auto& entry : history.entries) {
    if (is_requeue(entry) && entry.decided_at > since && entry.action.attempt &&
        entry.action.attempt->job == job) {
      attempts.insert(*entry.action.attempt);
    }
  }
  return static_cast<int>(attempts.size());
}

int others_with_cause(const PolicyInput& input, const std::string& node) {
  const auto open = [&](const std::string& name) {
    return std::any_of(input.same_cause.begin(), input.same_cause.end(),
                       [&](const OpenFault& fault) { return fault.node == name; });
  };
  std::set<std::string> drained;
  for (const auto& entry : input.history.entries) {
    const std::string& name = entry.action.subject.node;
    if (is_drain(entry) && entry.cause == input.verdict.cause && name != node &&
        entry.decided_at > input.now - input.limits.same_cause_window && !open(name))
      drained.insert(name);
  }
  return static_cast<int>(input.same_cause.size() + drained.size()) - (open(node) ? 1 : 0);
}

const Entry* last_test(const ActionHistory& history, const std::string& node) {
  const auto found =
      std::find_if(history.entries.rbegin(), history.entries.rend(), [&](const auto& entry) {
        return entry.action.kind == ActionKind::test_node && entry.action.subject.node == node;
      });
  return found == history.entries.rend() ? nullptr : &*found;
}

bool has_passed(const ActionHistory& history, const ActionId& test) {
  return std::any_of(history.entries.begin(), history.entries.end(),
                     [&](const auto& entry) { return entry.action.id == test && is_done(entry); });
}

std::set<std::string> drained_by_us(const ClusterView& view, const ActionHistory& history) {
  std::set<std::string> nodes;
  for (const auto& [name, node] : view.nodes) {
    if (node.drained && reason_is_ours(node.drain_reason)) nodes.insert(name);
  }
  for (const auto& entry : history.entries) {
    if (is_drain(entry) && unseen(entry, view)) nodes.insert(entry.action.subject.node);
  }
  return nodes;
}

int available_without(const ClusterView& view, const ActionHistory& history,
                      const std::string& node) {
  const auto drained = drained_by_us(view, history);
  return static_cast<int>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [&](const auto& each) {
        return each.second.available && each.first != node && !drained.contains(each.first);
      }));
}

int usable_for(const Attempt& attempt, const std::vector<std::string>& excluded,
               const ClusterView& view) {
  return static_cast<int>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [&](const auto& each) {
        return each.second.available && !contains(excluded, each.first) &&
               !contains(attempt.excluded_nodes, each.first);
      }));
}

bool array_meets(const Attempt& attempt, const std::string& node, const ClusterView& view) {
  if (attempt.array_job.empty()) return false;
  return std::any_of(view.attempts.begin(), view.attempts.end(), [&](const Attempt& other) {
    if (other.array_job != attempt.array_job || other.id.job == attempt.id.job) return false;
    if (other.state == AttemptState::pending) return !contains(other.excluded_nodes, node);
    return other.state == AttemptState::running && contains(other.nodes, node);
  });
}

}  // namespace faultline
