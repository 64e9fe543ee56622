// Policy: (Verdict, ClusterView, history, now) -> Decisions. Pure; guards.cc holds the ordered list
// of guards and nothing else rules. Every proposal gets a decision with a typed reason, also when
// nothing is done.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "model/action.h"
#include "model/cluster_view.h"
#include "model/verdict.h"

namespace faultline {

/// The site's own node test, as far as there is one.
struct NodeTests {
  bool configured = false;     // there is a command
  bool after_drain = false;    // run it on every node that faultline drained
  bool return_passed = false;  // and give the node back if it passed
};

/// A node with an open verdict, and when what it says began.
struct OpenFault {
  Instant since;
  std::string node;
};

/// Of each node: when it was last given back by a person, or passed its test.
using CleanRecords = std::map<std::string, Instant, std::less<>>;
inline const CleanRecords no_clean_records;

struct PolicyInput {
  const Verdict& verdict;
  const ClusterView& view;
  const ActionHistory& history;
  const Catalog& catalog;
  const PolicyLimits& limits;
  Mode mode = Mode::observe;
  Instant now;
  NodeTests tests = {};
  /// Nodes, each once, with an open verdict of the same cause that began within same_cause_window
  /// of this one; confirmed by somebody else than a job, or a user could hold up other drains.
  std::span<const OpenFault> same_cause = {};
  const CleanRecords& clean_since = no_clean_records;
  VerdictId other_fault =
      {};  // a verdict that speaks against the node as well, "" if there is none
};

/// The decisions for one verdict, in the order in which their actions must be carried out. The same
/// input gives the same decisions and ids. A cleared verdict proposes returning the node that its
/// own drain took out; a drain that stands is followed by the test and the return that the site
/// wants.
std::vector<Decision> decide(const PolicyInput& input);

/// True while the scheduler shows the verdict's node as drained by this very verdict.
bool drain_stands(const Verdict& verdict, const ClusterView& view);

/// The guard of a decision on a person's request to return a node.
inline constexpr const char* return_guard = "return";

/// The decision on a person's request to return a node. `who` is written down.
Decision decide_return(const std::string& node, const std::string& who, const ClusterView& view,
                       const ActionHistory& history, const PolicyLimits& limits, Mode mode,
                       Instant now);

/// The same decision once more, now that it was approved or denied.
Decision decide_asked_return(const Decision& asked, const ClusterView& view,
                             const ActionHistory& history, const PolicyLimits& limits, Mode mode,
                             Instant now);

}  // namespace faultline
