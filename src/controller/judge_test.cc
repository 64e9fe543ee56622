// The judge with the shipped catalog, the real detectors and guards, and a clock that is a value.
#include "controller/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant t0{std::chrono::hours{24 * 365 * 56}};

const Catalog& catalog() {
  static const Catalog loaded = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value();
  return loaded;
}

std::string node_name(int i) { return "n" + std::to_string(i); }

class JudgeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 100; ++i) {
      SchedulerNode node;
      node.name = node_name(i);
      node.available = true;
      view_.nodes.emplace(node.name, node);
    }
  }

  static Event fell_off_bus(const std::string& node, Instant at) {
    Event event;
    event.source = EventSource::kernel_log;
    event.kind = EventKind::log_signature;
    event.reporter = node;
    event.subject = Subject::of_gpu(node, "0000:41:00");
    event.observed_at = event.received_at = at;
    event.clock = ClockDomain::node_wall;
    event.signature = "xid.79";
    event.fields = {{"bdf", "0000:41:00"}, {"xid", "79"}};
    event.raw = {"/dev/kmsg", 0, "boot",
                 "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."};
    event.id = make_event_id(event);
    return event;
  }

  /// Drains that are set going now; the scheduler shows them at once.
  void look(Instant now) {
    view_.taken_at = now;
    const auto judgement = judge_.evaluate(view_, history_, now);
    if (!judgement.verdicts.empty()) last_verdict_ = judgement.verdicts.back();
    for (const auto& decision : judgement.decisions) {
      if (decision.ruling != Ruling::act || decision.action.kind != ActionKind::drain_node)
        continue;
      auto& node = view_.nodes.find(decision.action.subject.node)->second;
      node.drained = true;
      node.available = false;
      node.drain_reason = decision.action.reason;
      drained_.push_back(node.name);
    }
  }

  bool returns(Instant now) {
    view_.taken_at = now;
    for (const auto& decision : judge_.evaluate(view_, history_, now).decisions)
      if (decision.action.kind == ActionKind::return_node) return decision.ruling == Ruling::act;
    return false;
  }

  ClusterView view_;
  ActionHistory history_;
  std::vector<std::string> drained_;
  Verdict last_verdict_;
  Judge judge_{catalog(), catalog().policy().limits, Mode::act};
};

TEST_F(JudgeTest, OfFiftyNodesThatSayTheSameAtOnceNoneIsDrained) {
  for (int i = 1; i <= 50; ++i) judge_.observe(fell_off_bus(node_name(i), t0));
  // Not then, and not when the minute is over: what they share is still not known.
  for (int s = 0; s <= 300; s += 10) look(t0 + seconds{s});
  EXPECT_TRUE(drained_.empty());
}

TEST_F(JudgeTest, OfFiftyNodesOneByOneAsManyAreDrainedAsMayHaveItByChance) {
  Instant now = t0;
  for (int i = 1; i <= 50; ++i) {
    now = t0 + i * milliseconds{100};
    judge_.observe(fell_off_bus(node_name(i), now));
    look(now);
  }
  for (int s = 0; s <= 300; s += 10) look(now + seconds{s});
  EXPECT_EQ(drained_, (std::vector<std::string>{"n1", "n2", "n3"}));
}

TEST_F(JudgeTest, NodesMoreThanTheWindowApartDoNotShareIt) {
  const Duration apart = catalog().policy().limits.same_cause_window + seconds{1};
  for (int i = 1; i <= 4; ++i) {
    judge_.observe(fell_off_bus(node_name(i), t0 + i * apart));
    look(t0 + i * apart);
  }
  EXPECT_EQ(drained_.size(), 4U);
}

TEST_F(JudgeTest, WhatOnlyAJobSaysDoesNotHoldUpADrain) {
  for (int i = 10; i < 20; ++i) {
    Verdict verdict;
    verdict.id = "v-" + std::to_string(i);
    verdict.cause = "gpu.fell_off_bus";
    verdict.subject = Subject::of_node(node_name(i));
    verdict.status = VerdictStatus::suspected;
    verdict.attempt = AttemptId{"7", static_cast<std::uint32_t>(i)};
    verdict.since = verdict.updated_at = t0;
    verdict.evidence = {"e-1"};
    verdict.witnesses = {EventSource::job_log};
    judge_.remember(verdict, {});
  }
  judge_.observe(fell_off_bus("n3", t0));
  look(t0);
  EXPECT_EQ(drained_, std::vector<std::string>{"n3"});
}

TEST_F(JudgeTest, ANodeGoesBackOnceTheLastFaultIsTakenBack) {
  judge_.observe(fell_off_bus("n3", t0));
  look(t0);
  ASSERT_EQ(drained_, std::vector<std::string>{"n3"});
  Verdict drained = last_verdict_;
  drained.status = VerdictStatus::cleared;
  Verdict other = drained;
  other.id = "v-other";
  other.cause = "gpu.ecc_uncorrectable";
  other.status = VerdictStatus::confirmed;
  Verdict program = other;
  program.id = "v-program";
  program.cause = "gpu.ecc_contained";  // asks for nothing on the node
  Verdict elsewhere = other;
  elsewhere.id = "v-elsewhere";
  elsewhere.subject.node = "n4";
  for (const auto& verdict : {drained, other, program, elsewhere}) judge_.remember(verdict, {});
  EXPECT_FALSE(returns(t0 + seconds{1}));
  EXPECT_FALSE(returns(t0 + seconds{1200})) << "not for being old";
  other.status = VerdictStatus::cleared;
  judge_.remember(other, {});
  EXPECT_TRUE(returns(t0 + seconds{1201}));
}

TEST_F(JudgeTest, AFaultOlderThanTheRepeatWindowHoldsNoReturnUpAsAfterARestart) {
  const Duration window = catalog().policy().limits.repeat_window;
  judge_.observe(fell_off_bus("n3", t0));
  look(t0);
  ASSERT_EQ(drained_, std::vector<std::string>{"n3"});
  Verdict other = last_verdict_;
  other.id = "v-other";
  other.cause = "gpu.ecc_uncorrectable";
  judge_.remember(other, {});
  Verdict cleared = last_verdict_;
  cleared.status = VerdictStatus::cleared;
  judge_.remember(cleared, {});
  EXPECT_FALSE(returns(t0 + window));
  EXPECT_TRUE(returns(t0 + window + seconds{1}));
}

TEST_F(JudgeTest, ARackIsRuledOnBeforeItsNodes) {
  Verdict node;
  node.id = "v-0";  // before the rack's in any order of names
  node.cause = "gpu.fell_off_bus";
  node.subject = Subject::of_node("n3");
  node.status = VerdictStatus::confirmed;
  node.confidence = 0.95;
  node.since = node.updated_at = t0 - seconds{10};
  node.evidence = {"e-1"};
  node.witnesses = {EventSource::kernel_log};
  node.reporters = {"n3"};
  Verdict rack = node;
  rack.id = "v-1";
  rack.cause = "power.throttle";
  rack.subject = Subject::of_rack("r0");
  view_.nodes.find("n3")->second.rack = "r0";
  judge_.remember(node, {});
  judge_.remember(rack, {});
  look(t0);
  EXPECT_TRUE(drained_.empty());
}

}  // namespace
}  // namespace faultline
