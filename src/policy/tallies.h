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

/// Drains decided at or after `since` that have not failed.
int drains_since(const ActionHistory& history, Instant since);

/// Attempts of the job whose requeue was decided at or after `since` and has not failed.
int requeues_since(const ActionHistory& history, const std::string& job, Instant since);

/// Nodes that were drained, or taken out of a job, for this cause at or after `since`.
std::set<std::string> nodes_with_cause(const ActionHistory& history, const std::string& cause,
                                       Instant since);

/// Nodes that are drained by faultline, or are about to be.
std::set<std::string> drained_by_us(const ClusterView& view, const ActionHistory& history);

/// Available nodes without `node` and without those about to be drained.
int available_without(const ClusterView& view, const ActionHistory& history,
                      const std::string& node);

/// Nodes that the job could run on, busy ones included, without `excluded` and what it excludes
/// itself.
int usable_for(const Attempt& attempt, const std::vector<std::string>& excluded,
               const ClusterView& view);

}  // namespace faultline
