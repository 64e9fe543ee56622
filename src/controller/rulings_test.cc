// Told with a made-up clock: the lateness bound is 3 s, and with its margin silence means something
// after 4.5 s.
#include "controller/rulings.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Instant failed_at{hours{500000}};

class RulingsTest : public testing::Test {
 protected:
  static Event event(EventKind kind, const std::string& node, const AttemptId& id = {"7", 0}) {
    Event event;
    event.kind = kind;
    event.attempt = id;
    event.subject = node.empty() ? Subject::of_attempt(id) : Subject::of_rank(id, 0, node);
    event.reporter = node;
    return event;
  }
  void starts(const std::string& nodes, Instant at = failed_at - minutes{5},
              const AttemptId& id = {"7", 0}) {
    Event start = event(EventKind::attempt_started, "", id);
    start.fields["nodes"] = nodes;
    board_.observe(start, at);
  }
  void ends(const std::string& state, Instant at = failed_at, const AttemptId& id = {"7", 0}) {
    Event end = event(EventKind::attempt_ended, "", id);
    end.fields["state"] = state;
    board_.observe(end, at);
  }
  static Verdict verdict(const std::string& id, const std::string& node,
                         Instant since = failed_at) {
    Verdict verdict;
    verdict.id = id;
    verdict.cause = "gpu.ecc";
    verdict.subject = Subject::of_node(node);
    verdict.status = VerdictStatus::confirmed;
    verdict.since = since;
    return verdict;
  }
  static Decision drain(const std::string& verdict, const std::string& node) {
    Decision decision;
    decision.id = "d-" + verdict;
    decision.verdict = verdict;
    decision.ruling = Ruling::act;
    decision.reason = Reason::all_guards_passed;
    decision.action.id = "a-" + verdict;
    decision.action.kind = ActionKind::drain_node;
    decision.action.subject = Subject::of_node(node);
    return decision;
  }
  static Outcome outcome(const std::string& verdict, OutcomeStatus status) {
    return {"a-" + verdict, status, failed_at, std::string(to_text(status)) + " it is", {}, false};
  }
  /// What `node` is told since it asked last.
  std::vector<std::string> told(const std::string& node) {
    std::vector<std::string> texts;
    for (const auto& report : board_.reports_for(node, cursors_[node])) {
      EXPECT_TRUE(report.final);
      texts.push_back(report.text);
    }
    return texts;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  const Catalog catalog_;
  const ClusterView view_;
  RulingBoard board_{catalog_, seconds{3}};
  std::map<std::string, std::uint64_t> cursors_;
};

TEST_F(RulingsTest, SilenceIsARulingAfterTheLatenessBoundAndItsMargin) {
  starts("n1,n2");
  ends("failed");
  board_.tick(failed_at + milliseconds{4499});
  EXPECT_TRUE(told("n1").empty());
  board_.tick(failed_at + milliseconds{4500});
  const auto texts = told("n1");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(has(texts[0], "unknown")) << texts[0];
  EXPECT_EQ(told("n2").size(), 1U);
  EXPECT_TRUE(told("n3").empty()) << "no node of the attempt";
  board_.tick(failed_at + minutes{1});
  EXPECT_TRUE(told("n1").empty()) << "once is enough";
}

TEST_F(RulingsTest, NobodyIsToldOfAnAttemptThatEndsWellOrRuns) {
  starts("n1");
  starts("n1", failed_at, {"8", 0});
  ends("completed");
  board_.tick(failed_at + minutes{1});
  EXPECT_TRUE(told("n1").empty());
  EXPECT_EQ(board_.cases(), 1U) << "only the one that runs";
}

TEST_F(RulingsTest, ADrainIsWaitedForAndThenReportedAtOnce) {
  starts("n1,n2");
  ends("failed");
  board_.verdict(verdict("v-1", "n1"), view_);
  board_.decision(drain("v-1", "n1"));
  board_.tick(failed_at + seconds{9});
  EXPECT_TRUE(told("n1").empty()) << "the drain is on its way";
  board_.outcome(outcome("v-1", OutcomeStatus::unknown));
  board_.tick(failed_at + seconds{9});
  EXPECT_TRUE(told("n1").empty()) << "unknown is not settled";
  board_.outcome(outcome("v-1", OutcomeStatus::done));
  board_.tick(failed_at + seconds{9});
  const auto texts = told("n2");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(has(texts[0], "drain_node node:n1: done")) << texts[0];
}

TEST_F(RulingsTest, ADrainThatIsDoneNeedsNoLatenessBound) {
  starts("n1");
  board_.verdict(verdict("v-1", "n1"), view_);
  board_.decision(drain("v-1", "n1"));
  board_.outcome(outcome("v-1", OutcomeStatus::done));
  ends("failed");
  board_.tick(failed_at);
  EXPECT_EQ(told("n1").size(), 1U);
}

TEST_F(RulingsTest, AnOutcomeThatComesTwiceOrIsOvertakenSaysNothingNew) {
  starts("n1");
  ends("failed");
  board_.verdict(verdict("v-1", "n1"), view_);
  board_.decision(drain("v-1", "n1"));
  board_.outcome(outcome("v-1", OutcomeStatus::done));
  board_.tick(failed_at + seconds{1});
  ASSERT_EQ(told("n1").size(), 1U);
  board_.outcome(outcome("v-1", OutcomeStatus::done));
  board_.outcome(outcome("v-1", OutcomeStatus::unknown));
  board_.tick(failed_at + seconds{2});
  EXPECT_TRUE(told("n1").empty());
  board_.verdict(verdict("v-2", "n1"), view_);
  board_.tick(failed_at + seconds{3});
  EXPECT_EQ(told("n1").size(), 1U) << "the drain is still done, so nothing is waited for";
}

TEST_F(RulingsTest, ANodeThatIsLearntLateIsTold) {
  starts("n1");
  ends("failed");
  board_.tick(failed_at + seconds{5});
  ASSERT_EQ(told("n1").size(), 1U);
  EXPECT_TRUE(told("n2").empty());  // its cursor is past the report now
  Event exit = event(EventKind::rank_exited, "n2");
  exit.fields["exit_code"] = "1";
  board_.observe(exit, failed_at + seconds{6});
  EXPECT_EQ(told("n2").size(), 1U);
  EXPECT_TRUE(told("n1").empty()) << "it was told already";
  board_.observe(exit, failed_at + seconds{7});
  EXPECT_TRUE(told("n2").empty()) << "the same line again";
}

TEST_F(RulingsTest, ANodeThatAsksForTheFirstTimeIsToldOnce) {
  starts("n1");
  ends("failed");
  board_.tick(failed_at + seconds{5});
  Event exit = event(EventKind::rank_exited, "n2");
  exit.fields["signal"] = "9";
  board_.observe(exit, failed_at + seconds{6});
  EXPECT_EQ(told("n2").size(), 1U);
}

TEST_F(RulingsTest, AVerdictThatComesLateIsReportedWhenItsActIsSettled) {
  starts("n1,n2");
  ends("failed");
  board_.tick(failed_at + seconds{5});
  ASSERT_EQ(told("n2").size(), 1U);
  board_.verdict(verdict("v-1", "n1"), view_);
  board_.decision(drain("v-1", "n1"));
  board_.tick(failed_at + seconds{6});
  EXPECT_TRUE(told("n2").empty());
  board_.outcome(outcome("v-1", OutcomeStatus::done));
  board_.tick(failed_at + seconds{7});
  const auto texts = told("n2");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(has(texts[0], "confirmed gpu.ecc on node:n1")) << texts[0];
}

TEST_F(RulingsTest, WhatBefallsANodeLaterIsNotAboutTheFailure) {
  starts("n1");
  ends("failed");
  board_.tick(failed_at + seconds{5});
  told("n1");
  board_.verdict(verdict("v-1", "n1", failed_at + minutes{1} + seconds{1}), view_);
  board_.verdict(verdict("v-2", "n1", failed_at - minutes{10} - seconds{1}), view_);
  board_.verdict(verdict("v-3", "n9"), view_);
  board_.tick(failed_at + minutes{3});
  EXPECT_TRUE(told("n1").empty());
  board_.verdict(verdict("v-4", "n1", failed_at + minutes{1}), view_);
  board_.tick(failed_at + minutes{3});
  EXPECT_EQ(told("n1").size(), 1U);
}

TEST_F(RulingsTest, AVerdictThatNamesTheAttemptIsAboutItWheneverItComes) {
  starts("n1");
  ends("failed");
  board_.tick(failed_at + seconds{5});
  told("n1");
  Verdict late = verdict("v-1", "", failed_at + minutes{20});
  late.subject = Subject::of_attempt({"7", 0});
  late.attempt = AttemptId{"7", 0};
  board_.verdict(late, view_);
  board_.tick(failed_at + minutes{20});
  EXPECT_EQ(told("n1").size(), 1U);
}

TEST_F(RulingsTest, AVerdictThatIsTakenBackIsReportedToo) {
  starts("n1");
  ends("failed");
  Verdict wrong = verdict("v-1", "n1");
  board_.verdict(wrong, view_);
  board_.tick(failed_at + seconds{5});
  EXPECT_TRUE(has(told("n1").at(0), "gpu.ecc"));
  wrong.status = VerdictStatus::cleared;
  board_.verdict(wrong, view_);
  board_.tick(failed_at + seconds{6});
  EXPECT_FALSE(has(told("n1").at(0), "gpu.ecc"));
}

TEST_F(RulingsTest, OneAttemptIsNotReportedForEver) {
  starts("n1");
  ends("failed");
  std::size_t reports = 0;
  for (int i = 0; i < 50; ++i) {
    Verdict changing = verdict("v-1", "n1");
    changing.cause = "cause." + std::to_string(i);
    board_.verdict(changing, view_);
    board_.tick(failed_at + seconds{5 + i});
    reports += told("n1").size();
  }
  EXPECT_EQ(reports, ruling_reports_per_case_max);
}

TEST_F(RulingsTest, FailuresAreForgottenByAge) {
  starts("n1");
  ends("failed");
  board_.tick(failed_at + ruling_age_max);
  EXPECT_EQ(board_.cases(), 1U);
  board_.tick(failed_at + ruling_age_max + seconds{1});
  EXPECT_EQ(board_.cases(), 0U);
}

TEST_F(RulingsTest, OldFailuresThatAreReplayedAreNotReported) {
  ends("failed", failed_at - hours{2});
  starts("n1", failed_at - hours{2});
  board_.tick(failed_at);
  EXPECT_TRUE(told("n1").empty());
}

TEST_F(RulingsTest, WhenTheBoardIsFullTheReportedGoFirstThenTheOnesLongestUnheardOf) {
  starts("n1", failed_at, {"reported", 0});
  ends("failed", failed_at, {"reported", 0});
  board_.tick(failed_at + seconds{5});
  for (std::size_t i = 1; i < ruling_cases_max; ++i)
    starts("n1", failed_at - seconds{60} + milliseconds{i}, {std::to_string(i), 0});
  EXPECT_EQ(board_.cases(), ruling_cases_max);
  starts("n1", failed_at, {"a", 0});  // lets the reported one go
  starts("n1", failed_at, {"b", 0});  // lets 1 go
  EXPECT_EQ(board_.cases(), ruling_cases_max);
  EXPECT_TRUE(told("n1").empty());
  ends("failed", failed_at, {"2", 0});
  ends("failed", failed_at, {"1", 0});  // taken up again; nobody knows its nodes
  board_.tick(failed_at + seconds{5});
  const auto reports = board_.reports_for("n1", cursors_["n2"]);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].attempt, (AttemptId{"2", 0}));
}

}  // namespace
}  // namespace faultline
