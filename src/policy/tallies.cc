#include "policy/tallies.h"

#include <algorithm>

namespace faultline {
namespace {

using Entry = ActionHistory::Entry;

bool has_failed(const Entry& entry) {
  return entry.outcome && entry.outcome->status == OutcomeStatus::failed;
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

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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

std::set<std::string> nodes_with_cause(const ActionHistory& history, const std::string& cause,
                                       Instant since) {
  std::set<std::string> nodes;
  for (const auto& entry : history.entries) {
    if (entry.cause != cause || entry.decided_at <= since) continue;
    if (is_drain(entry)) nodes.insert(entry.action.subject.node);
    if (is_requeue(entry)) nodes.insert(entry.action.nodes.begin(), entry.action.nodes.end());
  }
  return nodes;
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

}  // namespace faultline
