// The judge: events in, verdicts and decisions out. Single-threaded and deterministic: given the
// same events, views, history and times it comes to the same decisions, live or replayed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "controller/test_witness.h"
#include "detect/detectors.h"
#include "model/cluster_view.h"
#include "model/verdict.h"
#include "policy/policy.h"

namespace faultline {

/// Verdicts that are neither cleared nor stale and wait for a guard to open. More than this and the
/// oldest are let go.
inline constexpr std::size_t open_verdicts_max = 4096;

struct Judgement {
  std::vector<Verdict> verdicts;    // raised or changed, in order
  std::vector<Decision> decisions;  // new, or with another ruling or reason than before
};

class Judge {
 public:
  /// `catalog` must outlive the judge.
  Judge(const Catalog& catalog, const PolicyLimits& limits, Mode mode, NodeTests tests = {});

  /// What an earlier life decided already: these are not decided again.
  void remember(const Verdict& verdict, const std::vector<Decision>& decisions);
  void observe(const Event& event);
  /// What was observed up to now, an earlier life had heard by `heard_at`: it stored all that it
  /// concluded, but for what came last.
  void replayed(Instant heard_at);
  /// The decision could not be kept: come to it again.
  void forget(const DecisionId& decision) { decided_.erase(decision); }
  Judgement evaluate(const ClusterView& view, ActionHistory& history, Instant now);

 private:
  void collect(Judgement& judgement, Instant now);
  void take(const Verdict& verdict, Judgement& judgement);
  void count_open_faults();
  void sweep(const ClusterView& view, ActionHistory& history, Instant now, Judgement& judgement);
  void decide_all(std::vector<const Verdict*> verdicts, const ClusterView& view,
                  ActionHistory& history, Instant now, Judgement& judgement);
  void decide_one(const Verdict& verdict, const ClusterView& view, ActionHistory& history,
                  Instant now, Judgement& judgement);
  [[nodiscard]] std::span<const OpenFault> same_cause(const Verdict& verdict) const;
  /// A confirmed verdict but this one that asks for something on its node, and that the node has
  /// not outlived: "" if there is none. Beyond the repeat window nothing is known of either, as
  /// after a restart.
  [[nodiscard]] VerdictId other_fault(const Verdict& verdict, Instant now) const;
  void forget_old(Instant now);

  const Catalog& catalog_;
  PolicyLimits limits_;
  Mode mode_;
  NodeTests tests_;
  Detectors detectors_;
  TestWitness witness_;
  bool tested_ = false;  // a test ended since the last look
  Instant swept_at_;     // when the open verdicts were last gone through
  CleanRecords clean_since_;
  std::map<VerdictId, Verdict> open_;
  std::map<std::string, std::vector<OpenFault>> open_faults_;  // by cause, earliest first
  std::map<VerdictId, Verdict> last_;
  std::map<DecisionId, Decision> decided_;
};

}  // namespace faultline
