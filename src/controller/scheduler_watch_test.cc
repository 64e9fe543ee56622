#include "controller/scheduler_watch.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::seconds;

Attempt attempt(const std::string& job, std::uint32_t restart, AttemptState state) {
  Attempt one;
  one.id = {job, restart};
  one.state = state;
  one.nodes = {"n1", "n2"};
  one.started_at = Instant{seconds{100}};
  if (ended(state)) one.ended_at = Instant{seconds{200}};
  return one;
}

ClusterView view_of(std::vector<Attempt> attempts, const std::vector<SchedulerNode>& nodes = {}) {
  ClusterView view;
  view.taken_at = Instant{seconds{1000}};
  view.attempts = std::move(attempts);
  for (auto& node : nodes) view.nodes[node.name] = node;
  return view;
}

SchedulerNode node(const std::string& name, bool available) {
  SchedulerNode one;
  one.name = name;
  one.available = available;
  one.drained = !available;
  return one;
}

std::vector<EventKind> kinds(const std::vector<Event>& events) {
  std::vector<EventKind> found;
  for (const auto& event : events) found.push_back(event.kind);
  return found;
}

TEST(SchedulerWatch, AnAttemptStartsAndEndsOnce) {
  SchedulerWatch watch;
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 0, AttemptState::pending)}))),
            std::vector<EventKind>{});
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 0, AttemptState::running)}))),
            std::vector{EventKind::attempt_started});
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 0, AttemptState::running)}))),
            std::vector<EventKind>{});
  const auto end = watch.update(view_of({attempt("7", 0, AttemptState::failed)}));
  ASSERT_EQ(kinds(end), std::vector{EventKind::attempt_ended});
  EXPECT_EQ(end[0].field("state"), "failed");
  EXPECT_EQ(end[0].field("nodes"), "n1,n2");
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 0, AttemptState::failed)}))),
            std::vector<EventKind>{});
}

TEST(SchedulerWatch, AJobTooQuickToBeSeenRunningStillStartsAndEnds) {
  SchedulerWatch watch;
  watch.update(view_of({}));
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 0, AttemptState::failed)}))),
            (std::vector{EventKind::attempt_started, EventKind::attempt_ended}));
}

TEST(SchedulerWatch, ARequeueEndsTheAttemptAndLaterStartsTheNext) {
  SchedulerWatch watch;
  watch.update(view_of({attempt("7", 0, AttemptState::running)}));
  const auto requeued = watch.update(view_of({attempt("7", 1, AttemptState::pending)}));
  ASSERT_EQ(kinds(requeued), std::vector{EventKind::attempt_ended});
  EXPECT_EQ(requeued[0].attempt, (AttemptId{"7", 0}));
  EXPECT_EQ(requeued[0].field("state"), "requeued");
  EXPECT_EQ(kinds(watch.update(view_of({attempt("7", 1, AttemptState::running)}))),
            std::vector{EventKind::attempt_started});
}

TEST(SchedulerWatch, AnEndedAttemptThatTheSchedulerForgetsIsNoNews) {
  SchedulerWatch watch;
  watch.update(view_of({attempt("7", 0, AttemptState::completed)}));
  EXPECT_TRUE(watch.update(view_of({})).empty());
}

TEST(SchedulerWatch, ARestartedControllerGivesTheSameFactsTheSameIds) {
  SchedulerWatch before, after;
  const auto first = before.update(view_of({attempt("7", 0, AttemptState::failed)}));
  auto later_view = view_of({attempt("7", 0, AttemptState::failed)});
  later_view.taken_at += seconds{60};
  const auto second = after.update(later_view);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].id, second[i].id);
}

TEST(SchedulerWatch, ANodeIsNewsWhenItsStandingChanges) {
  SchedulerWatch watch;
  EXPECT_TRUE(watch.update(view_of({}, {node("n1", true)})).empty());
  const auto drained = watch.update(view_of({}, {node("n1", false)}));
  ASSERT_EQ(kinds(drained), std::vector{EventKind::node_seen});
  EXPECT_EQ(drained[0].subject, Subject::of_node("n1"));
  EXPECT_EQ(drained[0].field("drained"), "true");
  auto busy = node("n1", false);
  busy.idle = true;  // being idle or busy is not standing
  EXPECT_TRUE(watch.update(view_of({}, {busy})).empty());
}

SchedulerNode down(const std::string& name) {
  SchedulerNode one = node(name, false);
  one.drained = false;
  one.down = true;
  return one;
}

ClusterView at(Instant taken_at, std::vector<SchedulerNode> nodes) {
  ClusterView view = view_of({}, std::move(nodes));
  view.taken_at = taken_at;
  return view;
}

TEST(SchedulerWatch, ANodeThatIsDownAtFirstSightIsNoLoss) {
  SchedulerWatch watch;
  EXPECT_TRUE(watch.update(view_of({}, {node("n1", true), down("n2")})).empty());
  EXPECT_TRUE(watch.update(view_of({}, {node("n1", true), down("n2"), down("n3")})).empty());
  const auto lost = watch.update(view_of({}, {down("n1"), down("n2"), down("n3")}));
  ASSERT_EQ(kinds(lost), std::vector{EventKind::node_seen});
  EXPECT_EQ(lost[0].subject, Subject::of_node("n1"));
  EXPECT_EQ(lost[0].field("was_down"), "false");
}

TEST(SchedulerWatch, OtherNewsOfANodeThatIsDownSaysThatItWas) {
  SchedulerWatch watch;
  watch.update(view_of({}, {down("n1")}));
  SchedulerNode annotated = down("n1");
  annotated.drain_reason = "fan broken";
  const auto news = watch.update(view_of({}, {annotated}));
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].field("down"), "true");
  EXPECT_EQ(news[0].field("was_down"), "true");
}

TEST(SchedulerWatch, ANodeThatComesBackAndIsLostAgainIsLost) {
  SchedulerWatch watch;
  watch.update(view_of({}, {down("n1")}));
  const auto back = watch.update(view_of({}, {node("n1", true)}));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].field("down"), "false");
  const auto lost = watch.update(view_of({}, {down("n1")}));
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].field("was_down"), "false");
}

TEST(SchedulerWatch, ALossWhileNobodyLookedIsAsOldAsTheLastViewWithTheNodeUp) {
  const Instant seen{seconds{1000}};
  const Instant now = seen + seconds{7200};
  SchedulerWatch watch;
  watch.resume(at(seen, {node("n1", true), down("n2"), node("n3", true)}));
  const auto news = watch.update(at(now, {down("n1"), down("n2"), node("n3", false)}));
  ASSERT_EQ(news.size(), 2U) << "n2 was known to be down";
  EXPECT_EQ(news[0].subject, Subject::of_node("n1"));
  EXPECT_EQ(news[0].observed_at, seen);
  EXPECT_EQ(news[0].received_at, now);
  EXPECT_EQ(news[1].subject, Subject::of_node("n3"));
  EXPECT_EQ(news[1].observed_at, now) << "drained, which is not a loss";
}

TEST(SchedulerWatch, LivesThatResumeFromTheSameViewReportOneLoss) {
  const Instant seen{seconds{1000}};
  SchedulerWatch killed, next;
  for (SchedulerWatch* watch : {&killed, &next}) watch->resume(at(seen, {node("n1", true)}));
  const auto first = killed.update(at(seen + seconds{60}, {down("n1")}));
  const auto second = next.update(at(seen + seconds{90}, {down("n1")}));
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(first[0].id, second[0].id);
}

}  // namespace
}  // namespace faultline
