// What the guards count in the view and the history. Private to policy.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/cluster_view.h"
#include "policy/proposal.h"

namespace faultline {

/// An entry that makes this proposal a repetition: the same act, on its way or done and still in
/// force.
const ActionHistory::Entry* same_act(const Proposal& proposal, const ActionHistory& history,
                                     const ClusterView& view);

/// Drains decided after `since` that have not failed for good.
int drains_since(const ActionHistory& history, Instant since);

/// Attempts of the job whose requeue was decided after `since` and has not failed for good.
int requeues_since(const ActionHistory& history, const std::string& job, Instant since);

/// How many nodes other than `node` have this verdict's cause: by open verdicts, or drained for it
/// within the window.
int others_with_cause(const PolicyInput& input, const std::string& node);

/// The newest test of the node, whatever came of it.
const ActionHistory::Entry* last_test(const ActionHistory& history, const std::string& node);

/// True if the test with this id ran and the node passed.
bool has_passed(const ActionHistory& history, const ActionId& test);

/// Nodes that are drained by faultline, or are about to be.
std::set<std::string> drained_by_us(const ClusterView& view, const ActionHistory& history);

/// Available nodes without `node` and without those about to be drained.
int available_without(const ClusterView& view, const ActionHistory& history,
                      const std::string& node);

/// Nodes that the job could run on, busy ones included, without `excluded` and what it excludes
/// itself.
int usable_for(const Attempt& attempt, const std::vector<std::string>& excluded,
               const ClusterView& view);

/// Other tasks of its array that may still meet the node: they wait without the exclusion, or run
/// there.
bool array_meets(const Attempt& attempt, const std::string& node, const ClusterView& view);

}  // namespace faultline
