// The order of the guards, tried exhaustively: whatever combination of obstacles stands in a
// proposal's way, the first of the list is the one that rules.
#include "policy/guards.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/policy_scenario.h"

namespace faultline {
namespace {

Proposal proposal_of(const Scenario& scenario, ActionKind kind) {
  for (auto& proposal : propose(scenario.input())) {
    if (proposal.action.kind == kind) return proposal;
  }
  ADD_FAILURE() << "no proposal of " << to_text(kind);
  return {};
}

/// The first guard that stops the proposal; all_guards_passed if none does.
Reason first_reason(const Scenario& scenario, const Proposal& proposal) {
  for (const auto& [name, guard] : guards()) {
    if (const auto stop = guard(proposal, scenario.input())) return stop->reason;
  }
  return Reason::all_guards_passed;
}

struct Obstacle {
  const char* guard;
  Reason reason;
  std::function<void(Scenario&)> put;
};

/// In the order of the list.
const std::vector<Obstacle>& drain_obstacles() {
  static const std::vector<Obstacle> obstacles = {
      {"source_trusted", Reason::source_untrusted,
       [](Scenario& s) { s.verdict.witnesses = {EventSource::job_log}; }},
      {"right_speaker", Reason::wrong_speaker, [](Scenario& s) { s.verdict.reporters = {"n9"}; }},
      {"evidence_complete", Reason::evidence_incomplete,
       [](Scenario& s) { s.verdict.evidence.clear(); }},
      {"confirmed", Reason::not_confirmed,
       [](Scenario& s) { s.verdict.status = VerdictStatus::suspected; }},
      {"verdict_fresh", Reason::verdict_stale,
       [](Scenario& s) { s.verdict.updated_at = now - hours{1}; }},
      {"not_returned_since", Reason::returned_since,
       [](Scenario& s) { s.clean_since["n3"] = now; }},
      {"settled", Reason::not_settled, [](Scenario& s) { s.verdict.since = now - seconds{1}; }},
      {"view_fresh", Reason::view_stale, [](Scenario& s) { s.view.taken_at = now - minutes{5}; }},
      {"not_silenced", Reason::silenced, silence},
      {"not_covered", Reason::covered_by_wider,
       [](Scenario& s) {
         s.add_entry(ActionKind::notify, Subject::of_rack("r0"), "power.rack", minutes{1},
                     OutcomeStatus::done);
       }},
      {"not_acted_yet", Reason::already_acted,
       [](Scenario& s) {
         s.add_entry(ActionKind::drain_node, Subject::of_node("n3"), "gpu.other", minutes{2},
                     std::nullopt);
         s.history.entries.back().action.id = drain_id();
       }},
      {"own_or_free", Reason::owned_by_other,
       [](Scenario& s) {
         s.node("n3").drained = true;
         s.node("n3").drain_reason = "fan broken";
       }},
      {"in_service", Reason::already_drained,
       [](Scenario& s) {
         s.view.node_states["n3"] = {"n3", NodePhase::in_repair, now, "alice", "", "", {}, ""};
       }},
      {"under_rate", Reason::rate_limited,
       [](Scenario& s) {
         for (int i = 0; i < s.limits.drains_per_hour_max; ++i) {
           s.add_entry(ActionKind::drain_node, Subject::of_node("old" + std::to_string(i)),
                       "gpu.other", minutes{30}, OutcomeStatus::done);
         }
       }},
      {"not_shared", Reason::blast_radius,
       [](Scenario& s) {
         s.same_cause = {{now, "n3"}, {now, "n6"}, {now, "n7"}, {now, "n8"}};
       }},
      {"small_blast", Reason::blast_radius,
       [](Scenario& s) {
         s.limits.drained_at_once_max = 2;
         for (const auto* name : {"n11", "n12"}) {
           s.node(name).drained = true;
           s.node(name).drain_reason = "faultline:a-9 x";
         }
       }},
      {"capacity_left", Reason::capacity_floor,
       [](Scenario& s) { s.limits.available_share_min = 0.99; }},
      {"approved", Reason::denied_by_person,
       [](Scenario& s) {
         s.history.denied[make_decision_id(s.verdict.id, ActionKind::drain_node,
                                           Subject::of_node("n3"))] = "alice";
       }},
      {"mode_acts", Reason::mode_observe, [](Scenario& s) { s.mode = Mode::observe; }},
  };
  return obstacles;
}

const std::vector<Obstacle>& requeue_obstacles() {
  static const std::vector<Obstacle> obstacles = {
      {"source_trusted", Reason::source_untrusted,
       [](Scenario& s) {
         s.verdict.witnesses = {EventSource::job_log};
         s.view.attempts[0].nodes = {"n1", "n2", "n4", "n5"};
       }},
      {"evidence_complete", Reason::evidence_incomplete,
       [](Scenario& s) { s.verdict.evidence.clear(); }},
      {"confirmed", Reason::not_confirmed,
       [](Scenario& s) { s.verdict.status = VerdictStatus::suspected; }},
      {"verdict_fresh", Reason::verdict_stale,
       [](Scenario& s) { s.verdict.updated_at = now - hours{1}; }},
      {"not_returned_since", Reason::returned_since,
       [](Scenario& s) { s.clean_since["n3"] = now; }},
      {"settled", Reason::not_settled, [](Scenario& s) { s.verdict.since = now - seconds{1}; }},
      {"view_fresh", Reason::view_stale, [](Scenario& s) { s.view.taken_at = now - minutes{5}; }},
      {"not_silenced", Reason::silenced, silence},
      {"not_acted_yet", Reason::already_acted,
       [](Scenario& s) {
         s.add_entry(ActionKind::requeue_excluding, Subject::of_job("7"), "gpu.other", minutes{2},
                     std::nullopt);
         s.history.entries.back().action.attempt = AttemptId{"7", 0};
         s.history.entries.back().action.nodes = {"n3"};
       }},
      {"restartable", Reason::not_restartable,
       [](Scenario& s) { s.view.attempts[0].restartable = false; }},
      {"not_shared", Reason::blast_radius,
       [](Scenario& s) {
         for (const auto* name : {"n6", "n7", "n8"}) {
           s.add_entry(ActionKind::drain_node, Subject::of_node(name), s.verdict.cause, seconds{20},
                       OutcomeStatus::done);
         }
       }},
      {"spare_left", Reason::no_spare,
       [](Scenario& s) {
         for (int i = 4; i <= 12; ++i) s.node("n" + std::to_string(i)).available = false;
       }},
      {"no_restart_loop", Reason::restart_loop,
       [](Scenario& s) {
         for (std::uint32_t i = 10; i < 13; ++i) {
           s.add_entry(ActionKind::requeue_excluding, Subject::of_job("7"), "gpu.other",
                       minutes{20}, OutcomeStatus::done);
           s.history.entries.back().action.attempt = AttemptId{"7", i};
         }
       }},
      {"approved", Reason::approval_needed,
       [](Scenario& s) { s.limits.approval_needed = {ActionKind::requeue_excluding}; }},
      {"mode_acts", Reason::mode_suggest, [](Scenario& s) { s.mode = Mode::suggest; }},
  };
  return obstacles;
}

const std::vector<Obstacle>& test_obstacles() {
  static const std::vector<Obstacle> obstacles = {
      {"source_trusted", Reason::source_untrusted,
       [](Scenario& s) {
         s.view.attempts[0].nodes = {"n1", "n2", "n4", "n5"};
       }},
      {"right_speaker", Reason::wrong_speaker, [](Scenario& s) { s.verdict.reporters = {"n9"}; }},
      {"evidence_complete", Reason::evidence_incomplete,
       [](Scenario& s) { s.verdict.evidence.clear(); }},
      {"confirmed", Reason::not_confirmed, [](Scenario& s) { s.verdict.confidence = 0.3; }},
      {"verdict_fresh", Reason::verdict_stale,
       [](Scenario& s) { s.verdict.updated_at = now - hours{1}; }},
      {"settled", Reason::not_settled, [](Scenario& s) { s.limits.lateness = minutes{5}; }},
      {"view_fresh", Reason::view_stale, [](Scenario& s) { s.view.taken_at = now - minutes{5}; }},
      {"not_silenced", Reason::silenced, silence},
      {"not_covered", Reason::covered_by_wider,
       [](Scenario& s) {
         s.add_entry(ActionKind::notify, Subject::of_rack("r0"), "power.rack", minutes{1},
                     OutcomeStatus::done);
       }},
      {"not_acted_yet", Reason::already_acted,
       [](Scenario& s) {
         s.add_entry(ActionKind::test_node, Subject::of_node("n3"), "gpu.other", seconds{20},
                     std::nullopt);
       }},
      {"own_or_free", Reason::owned_by_other,
       [](Scenario& s) {
         s.node("n3").drained = true;
         s.node("n3").drain_reason = "fan broken";
       }},
      {"testable", Reason::node_busy, [](Scenario& s) { s.node("n3").idle = false; }},
      {"approved", Reason::approval_needed,
       [](Scenario& s) { s.limits.approval_needed = {ActionKind::test_node}; }},
      {"mode_acts", Reason::mode_observe, [](Scenario& s) { s.mode = Mode::observe; }},
  };
  return obstacles;
}

/// Every subset of the obstacles: the first one in it rules.
void try_all_subsets(ActionKind kind, const std::vector<Obstacle>& obstacles,
                     const Scenario& healthy = {}) {
  const Proposal proposal = proposal_of(healthy, kind);
  ASSERT_EQ(first_reason(healthy, proposal), Reason::all_guards_passed);
  // All pairs and triples, and every subset of any twelve neighbours: 2^18 whole sets would tell
  // nothing more.
  constexpr std::size_t window = 12;
  const std::size_t count = obstacles.size();
  const auto check = [&](const std::vector<std::size_t>& chosen) {
    Scenario scenario = healthy;
    for (const auto index : chosen) obstacles[index].put(scenario);
    const Reason expected =
        chosen.empty() ? Reason::all_guards_passed : obstacles[chosen.front()].reason;
    ASSERT_EQ(to_text(first_reason(scenario, proposal)), to_text(expected))
        << "first of " << chosen.size();
  };
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      for (std::size_t c = b + 1; c < count; ++c) check({a, b, c});
      check({a, b});
    }
    check({a});
  }
  for (std::size_t first = 0; first + window <= count; first += window / 2) {
    for (std::uint32_t mask = 0; mask < (1U << window); ++mask) {
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < window; ++i) {
        if ((mask >> i & 1U) != 0) chosen.push_back(first + i);
      }
      check(chosen);
    }
  }
}

TEST(GuardOrder, DrainHonoursTheListInEveryCombination) {
  try_all_subsets(ActionKind::drain_node, drain_obstacles());
}

TEST(GuardOrder, RequeueHonoursTheListInEveryCombination) {
  try_all_subsets(ActionKind::requeue_excluding, requeue_obstacles());
}

TEST(GuardOrder, TestHonoursTheListInEveryCombination) {
  try_all_subsets(ActionKind::test_node, test_obstacles(), words());
}

TEST(GuardOrder, TheTablesNameTheGuardsInTheirOrder) {
  for (const auto* obstacles : {&drain_obstacles(), &requeue_obstacles(), &test_obstacles()}) {
    std::size_t at = 0;
    for (const auto& obstacle : *obstacles) {
      while (at < guards().size() && guards()[at].name != obstacle.guard) ++at;
      EXPECT_LT(at, guards().size())
          << obstacle.guard << " is not in the list, or not behind the one before it";
    }
  }
}

TEST(GuardOrder, EveryGuardOfTheListStopsSomething) {
  // Those that the tables cannot combine, as the proposal itself must differ.
  std::vector<std::string_view> seen = {"has_target", "node_known", "nothing_else_stands"};
  for (const auto& obstacle : drain_obstacles()) seen.emplace_back(obstacle.guard);
  for (const auto& obstacle : requeue_obstacles()) seen.emplace_back(obstacle.guard);
  for (const auto& obstacle : test_obstacles()) seen.emplace_back(obstacle.guard);
  for (const auto& [name, guard] : guards())
    EXPECT_NE(std::find(seen.begin(), seen.end(), name), seen.end()) << name;

  Scenario broken;
  broken.other_fault = "v-0000000000000002";
  broken.verdict.status = VerdictStatus::cleared;
  broken.node("n3").drained = true;
  broken.node("n3").drain_reason = "faultline:" + drain_id() + " gpu.ecc_uncorrectable";
  EXPECT_EQ(first_reason(broken, proposal_of(broken, ActionKind::return_node)),
            Reason::fault_stands);
  Scenario unknown;
  unknown.view.nodes.erase("n3");
  EXPECT_EQ(first_reason(unknown, proposal_of(unknown, ActionKind::drain_node)),
            Reason::node_unknown);
  Scenario nowhere;
  nowhere.verdict.subject = Subject::of_job("7");
  nowhere.verdict.witnesses = {EventSource::scheduler};
  EXPECT_EQ(first_reason(nowhere, proposal_of(nowhere, ActionKind::drain_node)),
            Reason::remedy_not_node);
}

// --- boundaries: one step on each side --------------------------------------------------------

Reason drain_reason(const Scenario& scenario) {
  return first_reason(scenario, proposal_of(scenario, ActionKind::drain_node));
}
Reason requeue_reason(const Scenario& scenario) {
  return first_reason(scenario, proposal_of(scenario, ActionKind::requeue_excluding));
}

TEST(GuardBoundary, AgesOfVerdictAndView) {
  Scenario s;
  s.verdict.updated_at = now - s.limits.verdict_age_max;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.verdict.updated_at -= Duration{1};
  EXPECT_EQ(drain_reason(s), Reason::verdict_stale);
  Scenario v;
  v.view.taken_at = now - v.limits.view_age_max;
  EXPECT_EQ(drain_reason(v), Reason::all_guards_passed);
  v.view.taken_at -= Duration{1};
  EXPECT_EQ(drain_reason(v), Reason::view_stale);
  v.view.taken_at = {};
  EXPECT_EQ(drain_reason(v), Reason::view_stale);
}

TEST(GuardBoundary, Lateness) {
  Scenario s;
  s.verdict.since = now - s.limits.lateness;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.verdict.since += Duration{1};
  EXPECT_EQ(drain_reason(s), Reason::not_settled);
  s.verdict.acts_at_once = true;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
}

TEST(GuardBoundary, Silence) {
  Scenario s;
  s.history.silences = {{"s-1", Subject::of_node("n3"), now - hours{1}, now, "alice", "cable"}};
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "it has just ended";
  s.history.silences[0].until = now + Duration{1};
  EXPECT_EQ(drain_reason(s), Reason::silenced);
  s.history.silences[0].subject = Subject::of_node("n4");
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.history.silences[0].subject = Subject::of_cluster();
  EXPECT_EQ(drain_reason(s), Reason::silenced);
}

TEST(GuardBoundary, ASilenceOfARackOrSwitchCoversItsNodes) {
  Scenario s;
  s.view.nodes["n3"].rack = "r1";
  s.view.nodes["n3"].network_switch = "s1";
  s.history.silences = {{"s-1", Subject::of_rack("r1"), now, now + minutes{1}, "alice", "cable"}};
  EXPECT_EQ(drain_reason(s), Reason::silenced);
  s.history.silences[0].subject = Subject::of_rack("r11");
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.history.silences[0].subject = Subject::of_switch("s1");
  EXPECT_EQ(drain_reason(s), Reason::silenced);
  s.history.silences[0].subject = Subject::of_rack("s1");
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  // Where racks are not known, none is meant.
  s.view.nodes["n3"].rack = "";
  s.history.silences[0].subject = Subject::of_rack("");
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
}

TEST(GuardBoundary, DrainsPerHour) {
  Scenario s;
  for (int i = 0; i < s.limits.drains_per_hour_max - 1; ++i) {
    s.add_entry(ActionKind::drain_node, Subject::of_node("old" + std::to_string(i)), "x",
                minutes{59}, OutcomeStatus::done);
  }
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.add_entry(ActionKind::drain_node, Subject::of_node("old9"), "x", hours{1}, OutcomeStatus::done);
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "an hour old does not count";
  s.add_entry(ActionKind::drain_node, Subject::of_node("old8"), "x", minutes{1},
              OutcomeStatus::failed);
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "one that failed does not count";
  s.add_entry(ActionKind::drain_node, Subject::of_node("old7"), "x", minutes{1},
              OutcomeStatus::done);
  EXPECT_EQ(drain_reason(s), Reason::rate_limited);
}

TEST(GuardBoundary, ShareOfDrainedNodes) {
  Scenario s;
  s.limits.drained_share_max = 0.05;  // of 12 nodes: less than one, and one is always allowed
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.node("n9").drained = true;
  s.node("n9").drain_reason = "faultline:a-9 x";
  EXPECT_EQ(drain_reason(s), Reason::blast_radius);
  s.limits.drained_share_max = 2.0 / 12;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed);
  s.node("n9").drain_reason = "fan broken";
  s.limits.drained_share_max = 0.05;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "what others drained is not our blast";
}

TEST(GuardBoundary, CapacityFloor) {
  Scenario s;
  for (int i = 8; i <= 12; ++i) s.node("n" + std::to_string(i)).available = false;
  EXPECT_EQ(drain_reason(s), Reason::all_guards_passed) << "6 of 12 are left";
  s.node("n7").available = false;
  EXPECT_EQ(drain_reason(s), Reason::capacity_floor);
}

TEST(GuardBoundary, SpareForTheJob) {
  Scenario s;
  for (int i = 6; i <= 12; ++i) s.node("n" + std::to_string(i)).available = false;
  EXPECT_EQ(requeue_reason(s), Reason::all_guards_passed) << "n1 n2 n4 n5 are enough for four";
  s.view.attempts[0].excluded_nodes = {"n5"};
  EXPECT_EQ(requeue_reason(s), Reason::no_spare);
}

TEST(GuardBoundary, RestartLoop) {
  Scenario s;
  for (std::uint32_t i = 0; i < 2; ++i) {
    s.add_entry(ActionKind::requeue_excluding, Subject::of_job("7"), "x", minutes{20},
                OutcomeStatus::done);
    s.history.entries.back().action.attempt = AttemptId{"7", i + 20};
  }
  EXPECT_EQ(requeue_reason(s), Reason::all_guards_passed);
  s.add_entry(ActionKind::requeue_excluding, Subject::of_job("8"), "x", minutes{20},
              OutcomeStatus::done);
  s.history.entries.back().action.attempt = AttemptId{"8", 0};
  EXPECT_EQ(requeue_reason(s), Reason::all_guards_passed) << "another job's";
  s.add_entry(ActionKind::requeue_excluding, Subject::of_job("7"), "x", minutes{59}, std::nullopt);
  s.history.entries.back().action.attempt = AttemptId{"7", 19};
  EXPECT_EQ(requeue_reason(s), Reason::restart_loop);
  const auto decisions = decide(s.input());
  const auto hold = std::find_if(decisions.begin(), decisions.end(), [](const auto& d) {
    return d.action.kind == ActionKind::hold_job;
  });
  ASSERT_NE(hold, decisions.end());
  EXPECT_EQ(hold->ruling, Ruling::act);
}

}  // namespace
}  // namespace faultline
