// What the tests of policy begin with: a healthy cluster, a verdict, and what stands in its way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "policy/policy.h"

namespace faultline {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline const Instant now{hours{24 * 365 * 56}};

inline const Catalog& catalog() {
  static const Catalog loaded = [] {
    auto result = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    FAULTLINE_CHECK(result.ok());
    return std::move(result).value();
  }();
  return loaded;
}

/// A healthy cluster of n1 to n12 in which everything lets the proposals for n3 pass.
struct Scenario {
  Verdict verdict;
  ClusterView view;
  ActionHistory history;
  PolicyLimits limits;
  Mode mode = Mode::act;
  NodeTests tests;
  std::vector<OpenFault> same_cause;
  CleanRecords clean_since;
  VerdictId other_fault;

  Scenario() {
    verdict.id = "v-0000000000000001";
    verdict.detector = "kernel_faults";
    verdict.cause = "gpu.ecc_uncorrectable";
    verdict.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    verdict.status = VerdictStatus::confirmed;
    verdict.confidence = 0.95;
    verdict.attempt = AttemptId{"7", 0};
    verdict.since = now - minutes{1};
    verdict.updated_at = now - seconds{10};
    verdict.evidence = {"e-1"};
    verdict.witnesses = {EventSource::kernel_log};
    verdict.reporters = {"n3"};
    view.taken_at = now - seconds{1};
    for (int i = 1; i <= 12; ++i) {
      SchedulerNode node;
      node.name = "n" + std::to_string(i);
      node.available = true;
      node.rack = "r" + std::to_string((i - 1) / 4);
      view.nodes.emplace(node.name, node);
    }
    Attempt attempt;
    attempt.id = {"7", 0};
    attempt.state = AttemptState::failed;
    attempt.nodes = {"n1", "n2", "n3", "n4"};
    attempt.restartable = true;
    view.attempts = {attempt};
    // Loose, so that each obstacle stands alone.
    limits.drained_share_max = 1.0;
    limits.available_share_min = 0.5;
  }

  SchedulerNode& node(const std::string& name) { return view.nodes.find(name)->second; }
  [[nodiscard]] PolicyInput input() const {
    return {verdict, view,  history,    catalog(),   limits,     mode,
            now,     tests, same_cause, clean_since, other_fault};
  }

  void add_entry(ActionKind kind, Subject subject, const std::string& cause, Duration ago,
                 std::optional<OutcomeStatus> outcome) {
    ActionHistory::Entry entry;
    entry.action.kind = kind;
    entry.action.subject = std::move(subject);
    entry.action.id = "a-" + std::to_string(history.entries.size());
    entry.cause = cause;
    entry.decided_at = now - ago;
    if (outcome) entry.outcome = Outcome{entry.action.id, *outcome, now - ago, "", {}, false};
    history.entries.push_back(entry);
  }
};

inline ActionId drain_id() {
  return make_action_id(
      make_decision_id("v-0000000000000001", ActionKind::drain_node, Subject::of_node("n3")));
}

inline void silence(Scenario& s) {
  s.history.silences.push_back(
      {"s-1", Subject::of_node("n3"), now, now + minutes{5}, "alice", "cable"});
}

/// Only job 7 says that n3 has an ECC error; it has failed, and n3 is idle.
inline Scenario words() {
  Scenario s;
  s.verdict.status = VerdictStatus::suspected;
  s.verdict.confidence = 0.7;
  s.verdict.witnesses = {EventSource::job_log};
  s.node("n3").idle = true;
  s.tests.configured = true;
  return s;
}

/// n3 is drained by this verdict, long ago, and the site wants tests and returns.
inline Scenario drained() {
  Scenario s;
  s.node("n3").drained = true;
  s.node("n3").available = false;
  s.node("n3").drain_reason = "faultline:" + drain_id() + " gpu.ecc_uncorrectable";
  s.verdict.since = s.verdict.updated_at = now - hours{5};
  s.tests = {true, true, true};
  return s;
}

/// What is decided about the proposal of this kind; "none" if there is none.
inline std::string decided(const Scenario& s, ActionKind kind) {
  for (const auto& decision : decide(s.input())) {
    if (decision.action.kind == kind) return std::string(to_text(decision.reason));
  }
  return "none";
}

}  // namespace faultline
