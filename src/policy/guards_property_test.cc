// Fifty nodes that fail, recover, are drained by people and come back in any order, acts that fail
// or hang, views that lag, controllers that start again: whatever happens, the limits hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/contains.h"
#include "base/rng.h"
#include "policy/policy_scenario.h"
#include "policy/proposal.h"
#include "policy/words.h"

namespace faultline {
namespace {

constexpr int node_count = 50;
constexpr int step_count = 500;
constexpr std::array<std::string_view, 3> causes = {"gpu.ecc_uncorrectable", "gpu.fell_off_bus",
                                                    "link.nvlink_down"};

class World {
 public:
  explicit World(std::uint64_t seed) : rng_(seed) {
    for (int i = 1; i <= node_count; ++i) {
      SchedulerNode node;
      node.name = "n" + std::to_string(i);
      node.available = node.idle = true;
      real_.nodes.emplace(node.name, node);
    }
    // One limit hides another: half of the worlds have room, so that the hour's limit is met.
    if (seed % 2 == 0) {
      limits_.drained_at_once_max = 12;
      limits_.drained_share_max = 0.3;
    }
    look();
  }

  void step() {
    at_ += seconds{static_cast<int>(rng_.below(30))};
    switch (rng_.below(10)) {
      case 0:
      case 1:
      case 2: fault(); break;
      case 3: fault_everywhere(); break;
      case 4: finish_an_act(); break;
      case 5: person_drains(); break;
      case 6: person_resumes(); break;
      case 7: at_ += minutes{static_cast<int>(rng_.below(20))}; break;
      default: look(); break;
    }
    if (rng_.below(3) == 0) decide_all();
  }

  [[nodiscard]] int drains() const { return drains_; }

 private:
  std::string any_node() { return "n" + std::to_string(1 + rng_.below(node_count)); }

  void fault() { report(any_node(), causes[rng_.below(causes.size())]); }

  void fault_everywhere() {
    if (rng_.below(4) != 0) return;
    const auto cause = causes[rng_.below(causes.size())];
    const int first = static_cast<int>(rng_.below(node_count));
    for (int i = 0; i < static_cast<int>(rng_.below(node_count)); ++i)
      report("n" + std::to_string(1 + (first + i) % node_count), cause);
  }

  void report(const std::string& node, std::string_view cause) {
    Verdict verdict;
    verdict.cause = cause;
    verdict.subject = Subject::of_gpu(node, "0000:3b:00.0");
    verdict.evidence = {"e-" + std::to_string(rng_.below(1000))};
    verdict.since = at_ - seconds{static_cast<int>(rng_.below(20))};
    verdict.updated_at = at_;
    verdict.status = rng_.below(5) == 0 ? VerdictStatus::suspected : VerdictStatus::confirmed;
    verdict.confidence = 0.9;
    verdict.reporters = {rng_.below(8) == 0 ? any_node() : node};
    verdict.witnesses = {rng_.below(5) == 0 ? EventSource::job_log : EventSource::kernel_log};
    verdict.acts_at_once = rng_.below(2) == 0;
    verdict.id = make_verdict_id(verdict);
    open_[verdict.id] = verdict;
  }

  /// What is under way ends well, badly or not at all; a drain that hangs may have happened.
  void finish_an_act() {
    for (auto& entry : history_.entries) {
      if (entry.outcome || rng_.below(2) == 0) continue;
      const auto luck = rng_.below(4);
      const auto status = luck == 0   ? OutcomeStatus::failed
                          : luck == 1 ? OutcomeStatus::unknown
                                      : OutcomeStatus::done;
      entry.outcome = Outcome{entry.action.id, status, at_, "", {}, rng_.below(2) == 0};
      SchedulerNode& node = real_.nodes.find(entry.action.subject.node)->second;
      if (entry.action.kind != ActionKind::drain_node || status == OutcomeStatus::failed ||
          node.drained)
        continue;
      node.drained = true;
      node.available = node.idle = false;
      node.drain_reason = reason_text(entry.action.id, entry.cause);
    }
  }

  void person_drains() {
    SchedulerNode& node = real_.nodes.find(any_node())->second;
    if (node.drained || rng_.below(3) != 0) return;
    node.drained = true;
    node.available = node.idle = false;
    node.drain_reason = "fan broken";
    node.maintenance = rng_.below(2) == 0;
  }

  void person_resumes() {
    for (auto& [name, node] : real_.nodes) {
      if (!node.drained || rng_.below(2) == 0) continue;
      node.drained = node.maintenance = false;
      node.available = node.idle = true;
      node.drain_reason.clear();
      clean_since_[name] = at_;
    }
  }

  void look() {
    view_ = real_;
    view_.taken_at = at_;
  }

  [[nodiscard]] bool accuses(const Verdict& verdict) const {
    return verdict.status == VerdictStatus::confirmed && has_independent_witness(verdict);
  }

  [[nodiscard]] std::vector<OpenFault> same_cause(const Verdict& verdict) const {
    std::map<std::string, Instant> begun;
    for (const auto& [id, other] : open_) {
      if (!accuses(other) || other.cause != verdict.cause) continue;
      const Duration apart =
          other.since > verdict.since ? other.since - verdict.since : verdict.since - other.since;
      if (apart <= limits_.same_cause_window) begun.try_emplace(other.subject.node, other.since);
    }
    std::vector<OpenFault> faults;
    for (const auto& [node, since] : begun) faults.push_back({since, node});
    return faults;
  }

  /// Every verdict that is open is asked again, as after a start of the controller: nothing is
  /// remembered but what was decided.
  void decide_all() {
    for (const auto& [id, verdict] : open_) {
      const auto same = same_cause(verdict);
      const PolicyInput input{verdict,   view_, history_, catalog(), limits_,
                              Mode::act, at_,   {},       same,      clean_since_};
      for (const auto& decision : decide(input)) {
        if (decision.ruling != Ruling::act) continue;
        if (decision.action.kind == ActionKind::drain_node) check_drain(verdict, decision, same);
        history_.entries.push_back({decision.action, at_, {}, verdict.cause});
      }
    }
    std::erase_if(open_, [&](const auto& each) {
      return at_ - each.second.updated_at > limits_.verdict_age_max;
    });
  }

  [[nodiscard]] bool in_force(const ActionHistory::Entry& entry) const {
    const bool failed = entry.outcome && entry.outcome->status == OutcomeStatus::failed;
    const SchedulerNode& node = *view_.node(entry.action.subject.node);
    const bool seen = entry.outcome && entry.outcome->status == OutcomeStatus::done &&
                      entry.outcome->at < view_.taken_at;
    return entry.action.kind == ActionKind::drain_node && !failed &&
           (!seen || (node.drained && reason_is_ours(node.drain_reason)));
  }

  void check_drain(const Verdict& verdict, const Decision& decision,
                   const std::vector<OpenFault>& same) {
    ++drains_;
    const std::string& name = decision.action.subject.node;
    const SchedulerNode& node = *view_.node(name);
    EXPECT_TRUE(accuses(verdict)) << verdict.id;
    EXPECT_TRUE(contains(verdict.reporters, name)) << name << " was accused by somebody else";
    EXPECT_FALSE(node.maintenance || node.drained) << name << ": " << node.drain_reason;
    EXPECT_LE(at_ - view_.taken_at, limits_.view_age_max);
    EXPECT_LE(at_ - verdict.updated_at, limits_.verdict_age_max);
    const auto clean = clean_since_.find(name);
    EXPECT_TRUE(clean == clean_since_.end() || clean->second < verdict.since) << name;
    EXPECT_LE(static_cast<int>(same.size()), limits_.same_cause_nodes_max) << verdict.cause;

    std::set<std::string> out;
    int last_hour = 0;
    for (const auto& entry : history_.entries) {
      if (!in_force(entry)) continue;
      EXPECT_NE(entry.action.id, decision.action.id) << "the same act twice";
      out.insert(entry.action.subject.node);
    }
    for (const auto& [each, state] : view_.nodes) {
      if (state.drained && reason_is_ours(state.drain_reason)) out.insert(each);
    }
    for (const auto& entry : history_.entries) {
      const bool failed = entry.outcome && entry.outcome->status == OutcomeStatus::failed;
      if (entry.action.kind == ActionKind::drain_node && !failed &&
          entry.decided_at > at_ - hours{1})
        ++last_hour;
    }
    EXPECT_FALSE(out.contains(name)) << name << " is on its way out already";
    out.insert(name);
    EXPECT_LE(static_cast<int>(out.size()), limits_.drained_at_once_max);
    EXPECT_TRUE(out.size() == 1 ||
                static_cast<double>(out.size()) <= limits_.drained_share_max * node_count);
    EXPECT_LT(last_hour, limits_.drains_per_hour_max);
    const auto left = std::count_if(view_.nodes.begin(), view_.nodes.end(), [&](const auto& each) {
      return each.second.available && !out.contains(each.first);
    });
    EXPECT_GE(static_cast<double>(left), limits_.available_share_min * node_count);
  }

  Rng rng_;
  Instant at_ = now;
  PolicyLimits limits_ = catalog().policy().limits;
  ClusterView real_, view_;
  ActionHistory history_;
  CleanRecords clean_since_;
  std::map<VerdictId, Verdict> open_;
  int drains_ = 0;
};

TEST(GuardProperty, WhateverHappensTheLimitsHold) {
  int drains = 0;
  for (std::uint64_t seed = 1; seed <= 10 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int step = 0; step < step_count; ++step) world.step();
    drains += world.drains();
  }
  EXPECT_GT(drains, 50) << "the worlds are too quiet to prove anything";
}

}  // namespace
}  // namespace faultline
