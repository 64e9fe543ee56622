// Policy: (Verdict, ClusterView, history, now) -> Decisions. Pure; guards.cc holds the ordered list
// of guards and nothing else rules. Every proposal gets a decision with a typed reason, also when
// nothing is done.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "model/action.h"
#include "model/cluster_view.h"
#include "model/verdict.h"

namespace faultline {

struct PolicyInput {
  const Verdict& verdict;
  const ClusterView& view;
  const ActionHistory& history;
  const Catalog& catalog;
  const PolicyLimits& limits;
  Mode mode = Mode::observe;
  Instant now;
};

/// The decisions for one verdict, in the order in which their actions must be carried out. The same
/// input gives the same decisions and ids. A cleared verdict proposes returning the node that its
/// own drain took out.
std::vector<Decision> decide(const PolicyInput& input);

/// The decision for what a person asked: return a node, approve or deny an earlier decision. `who`
/// is written down.
Decision decide_return(const std::string& node, const std::string& who, const ClusterView& view,
                       const ActionHistory& history, Mode mode, Instant now);

}  // namespace faultline
