#include "controller/incidents.h"

#include <gtest/gtest.h>

#include <set>

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant now{hours{500000}};

Verdict verdict(const std::string& id, VerdictStatus status, const std::string& cause = "gpu.ecc",
                const std::string& node = "n3") {
  Verdict verdict;
  verdict.id = id;
  verdict.cause = cause;
  verdict.subject = Subject::of_node(node);
  verdict.status = status;
  return verdict;
}

Verdict of_attempt(Verdict verdict, const std::string& job) {
  verdict.attempt = AttemptId{job, 0};
  return verdict;
}

constexpr auto suspected = VerdictStatus::suspected;
constexpr auto confirmed = VerdictStatus::confirmed;
constexpr auto cleared = VerdictStatus::cleared;

TEST(IncidentBook, VerdictsOfOneAttemptAreOneIncident) {
  IncidentBook book;
  const auto first = book.add(of_attempt(verdict("v-1", suspected), "7"), now);
  const auto second =
      book.add(of_attempt(verdict("v-2", suspected, "node.lost", "n4"), "7"), now + seconds{5});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id, second->id);
  EXPECT_EQ(second->verdicts, (std::vector<VerdictId>{"v-1", "v-2"}));
  EXPECT_EQ(second->cause, "gpu.ecc") << "a suspicion does not take the lead";
}

TEST(IncidentBook, AnotherAttemptAndAnotherNodeAreIncidentsOfTheirOwn) {
  IncidentBook book;
  const auto first = book.add(of_attempt(verdict("v-1", suspected), "7"), now);
  const auto other_attempt = book.add(of_attempt(verdict("v-2", suspected), "8"), now);
  const auto node = book.add(verdict("v-3", suspected), now);
  const auto other_node = book.add(verdict("v-4", suspected, "gpu.ecc", "n4"), now);
  ASSERT_TRUE(first && other_attempt && node && other_node);
  EXPECT_EQ((std::set{first->id, other_attempt->id, node->id, other_node->id}).size(), 4U);
}

Verdict rests_on(Verdict verdict, std::vector<EventId> evidence) {
  verdict.evidence = std::move(evidence);
  return verdict;
}

Verdict at(Instant since, Verdict verdict) {
  verdict.since = since;
  return verdict;
}

TEST(IncidentBook, WhatTheNodeAndTheAttemptSayOfOneEventIsOneIncident) {
  IncidentBook book;
  const auto of_node = book.add(rests_on(verdict("v-1", confirmed), {"e-1"}), now);
  const auto of_job =
      book.add(of_attempt(rests_on(verdict("v-2", confirmed, "gpu.lost"), {"e-9", "e-1"}), "7"),
               now + seconds{5});
  ASSERT_TRUE(of_node && of_job);
  EXPECT_EQ(of_job->id, of_node->id);
  EXPECT_EQ(of_job->attempt, (AttemptId{"7", 0}));
  const auto later = book.add(of_attempt(verdict("v-3", suspected, "gpu.x", "n1"), "7"), now);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->id, of_node->id) << "the attempt is known there now";
}

TEST(IncidentBook, TheSameCauseOnTheSameNodeAtTheSameMomentIsOneIncident) {
  const auto joins = [](const Verdict& second) {
    IncidentBook book;
    const auto first = book.add(at(now, verdict("v-1", confirmed)), now);
    const auto other = book.add(of_attempt(second, "7"), now + seconds{20});
    return first && other && first->id == other->id;
  };
  Verdict of_gpu = at(now + seconds{10}, verdict("v-2", confirmed));
  of_gpu.subject = Subject::of_gpu("n3", "0000:41:00");
  EXPECT_TRUE(joins(of_gpu));
  EXPECT_TRUE(joins(at(now - seconds{10}, verdict("v-2", confirmed))));
  EXPECT_FALSE(joins(at(now + seconds{10} + milliseconds{1}, verdict("v-2", confirmed))));
  EXPECT_FALSE(joins(at(now, verdict("v-2", confirmed, "gpu.lost")))) << "another cause";
  EXPECT_FALSE(joins(at(now, verdict("v-2", confirmed, "gpu.ecc", "n4")))) << "another node";
}

/// A kernel that tells of a program and not of its job says the same on every node.
TEST(IncidentBook, FaultsOfAJobThatNobodyNamesAreTiedByTheirEventsAlone) {
  const auto unnamed = [](const std::string& id, std::vector<EventId> evidence) {
    Verdict fault =
        rests_on(verdict(id, confirmed, "software.user_exception"), std::move(evidence));
    fault.subject = Subject::of_job("unknown");
    fault.since = now;
    return fault;
  };
  IncidentBook book;
  const auto first = book.add(unnamed("v-1", {"e-1"}), now);
  const auto elsewhere = book.add(unnamed("v-2", {"e-2"}), now);
  const auto same = book.add(unnamed("v-3", {"e-1", "e-3"}), now);
  ASSERT_TRUE(first && elsewhere && same);
  EXPECT_NE(first->id, elsewhere->id);
  EXPECT_EQ(first->id, same->id);
  IncidentBook next_life;
  const std::vector<Verdict> verdicts{unnamed("v-1", {"e-1"})};
  next_life.restore(*first, verdicts);
  EXPECT_NE(next_life.add(unnamed("v-2", {"e-2"}), now)->id, first->id);
}

TEST(IncidentBook, TwoNodesThatFailAtTheSameMomentAreTwoIncidents) {
  IncidentBook book;
  const auto n3 = book.add(at(now, rests_on(verdict("v-1", confirmed), {"e-1"})), now);
  const auto n4 =
      book.add(at(now, rests_on(verdict("v-2", confirmed, "gpu.ecc", "n4"), {"e-2"})), now);
  ASSERT_TRUE(n3 && n4);
  EXPECT_NE(n3->id, n4->id);
  // Their common job joins where its evidence is.
  const auto job =
      book.add(of_attempt(rests_on(verdict("v-3", confirmed, "x", "n4"), {"e-2"}), "7"), now);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, n4->id);
}

TEST(IncidentBook, TheSameEventBeyondTheHourOrOfAClosedOneOpensAnother) {
  for (const bool closed : {false, true}) {
    IncidentBook book;
    const auto first = book.add(rests_on(verdict("v-1", confirmed), {"e-1"}), now);
    if (closed) book.close_of_node("n3", now + seconds{1});
    const Instant at = now + (closed ? Duration{seconds{2}} : hours{1} + milliseconds{1});
    const auto next = book.add(rests_on(of_attempt(verdict("v-2", confirmed), "7"), {"e-1"}), at);
    ASSERT_TRUE(first && next);
    EXPECT_NE(first->id, next->id) << closed;
  }
}

TEST(IncidentBook, ANextLifeTiesByEvidenceToo) {
  IncidentBook before;
  const Verdict of_node = rests_on(verdict("v-1", confirmed), {"e-1"});
  const auto first = before.add(of_node, now);
  IncidentBook after;
  after.restore(*first, std::vector{of_node});
  const auto second = after.add(rests_on(of_attempt(verdict("v-2", confirmed), "7"), {"e-1"}), now);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id, first->id);
  EXPECT_FALSE(after.add(of_node, now)) << "in it already";
}

TEST(IncidentBook, TheSameVerdictAgainChangesNothing) {
  IncidentBook book;
  ASSERT_TRUE(book.add(verdict("v-1", suspected), now));
  EXPECT_FALSE(book.add(verdict("v-1", suspected), now + seconds{1}));
}

TEST(IncidentBook, TheLastVerdictThatIsTakenBackClosesIt) {
  IncidentBook book;
  const auto opened = book.add(verdict("v-1", suspected), now);
  book.add(verdict("v-2", suspected, "gpu.lost"), now);
  EXPECT_FALSE(book.add(verdict("v-1", cleared), now + seconds{1})) << "one still stands";
  EXPECT_FALSE(book.add(verdict("v-x", cleared), now + seconds{1})) << "of no incident";
  const auto closed = book.add(verdict("v-2", cleared), now + hours{2});
  ASSERT_TRUE(opened && closed);
  EXPECT_EQ(closed->id, opened->id);
  EXPECT_EQ(closed->closed_at, now + hours{2});
  EXPECT_FALSE(book.add(verdict("v-2", cleared), now + hours{3})) << "closed once";
  const auto again = book.add(verdict("v-2", confirmed, "gpu.lost"), now + hours{4});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, opened->id);
  EXPECT_FALSE(known(again->closed_at)) << "what was taken back is said again";
}

TEST(IncidentBook, ANodeThatIsGivenBackClosesItsOwn) {
  IncidentBook book;
  const auto of_node = book.add(verdict("v-1", confirmed), now);
  const auto of_job = book.add(of_attempt(verdict("v-2", confirmed), "7"), now);
  book.add(verdict("v-3", confirmed, "gpu.ecc", "n33"), now);
  const auto closed = book.close_of_node("n3", now + seconds{9});
  ASSERT_EQ(closed.size(), 2U);
  for (const auto& incident : closed) EXPECT_EQ(incident.closed_at, now + seconds{9});
  EXPECT_TRUE(book.close_of_node("n3", now + seconds{10}).empty()) << "closed once";
  // A late line of the same fault opens nothing again; another fault is another incident.
  EXPECT_FALSE(book.add(verdict("v-1", confirmed), now + seconds{10}));
  const auto next = book.add(verdict("v-4", confirmed), now + seconds{11});
  ASSERT_TRUE(of_node && of_job && next);
  EXPECT_NE(next->id, of_node->id);
}

TEST(IncidentBook, ANextLifeKnowsWhatWasTakenBack) {
  IncidentBook before;
  before.add(verdict("v-1", suspected), now);
  const auto both = before.add(verdict("v-2", suspected), now);
  IncidentBook after;
  after.restore(*both, std::vector{verdict("v-1", cleared), verdict("v-2", suspected)});
  const auto closed = after.add(verdict("v-2", cleared), now + seconds{9});
  ASSERT_TRUE(closed);
  EXPECT_TRUE(known(closed->closed_at));
}

TEST(IncidentBook, TheConfirmedCauseLeadsAndALaterUnknownDoesNot) {
  IncidentBook book;
  book.add(verdict("v-1", suspected), now);
  const auto led = book.add(verdict("v-2", confirmed, "gpu.lost"), now);
  ASSERT_TRUE(led);
  EXPECT_EQ(led->cause, "gpu.lost");
  const auto after = book.add(verdict("v-3", VerdictStatus::unknown, "unknown.none"), now);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->cause, "gpu.lost");
}

TEST(IncidentBook, AVerdictThatIsConfirmedLaterTakesTheLead) {
  IncidentBook book;
  book.add(verdict("v-1", suspected), now);
  book.add(verdict("v-2", suspected, "gpu.lost"), now);
  const auto led = book.add(verdict("v-2", confirmed, "gpu.lost"), now + seconds{4});
  ASSERT_TRUE(led);
  EXPECT_EQ(led->cause, "gpu.lost");
  EXPECT_EQ(led->verdicts.size(), 2U);
}

TEST(IncidentBook, AnHourIsTheWindow) {
  IncidentBook book;
  const auto first = book.add(verdict("v-1", suspected), now);
  const auto inside = book.add(verdict("v-2", suspected, "gpu.lost"), now + hours{1});
  const auto outside =
      book.add(verdict("v-3", suspected, "gpu.old"), now + hours{1} + milliseconds{1});
  ASSERT_TRUE(first && inside && outside);
  EXPECT_EQ(inside->id, first->id);
  EXPECT_NE(outside->id, first->id);
  EXPECT_EQ(outside->verdicts, std::vector<VerdictId>{"v-3"});
}

TEST(IncidentBook, WhatIsTakenBackOpensNothing) {
  IncidentBook book;
  EXPECT_FALSE(book.add(verdict("v-1", VerdictStatus::cleared), now));
}

TEST(IncidentBook, ANextLifeGoesOnFromTheLatestOfWhatWasStored) {
  IncidentBook before;
  const auto old = before.add(verdict("v-1", suspected), now - hours{3});
  const auto latest = before.add(verdict("v-2", suspected), now);
  ASSERT_TRUE(old && latest);
  for (const bool newest_first : {true, false}) {
    IncidentBook after;
    after.restore(newest_first ? *latest : *old, {});
    after.restore(newest_first ? *old : *latest, {});
    const auto next = after.add(verdict("v-3", suspected), now + seconds{30});
    ASSERT_TRUE(next);
    EXPECT_EQ(next->id, latest->id) << newest_first;
  }
}

TEST(IncidentBook, WhenItIsFullTheFirstOpenedIsLetGo) {
  IncidentBook book;
  const auto first = book.add(verdict("v-0", suspected, "gpu.ecc", "zz"), now);
  const auto second = book.add(verdict("v-1", suspected, "gpu.ecc", "aa"), now + milliseconds{1});
  for (std::size_t i = 2; i <= open_incidents_max; ++i)
    book.add(verdict("v-" + std::to_string(i), suspected, "gpu.ecc", "n" + std::to_string(i)),
             now + milliseconds{i});
  const Instant later = now + seconds{60};
  const auto kept = book.add(verdict("v-x", suspected, "gpu.ecc", "aa"), later);
  const auto gone = book.add(verdict("v-y", suspected, "gpu.ecc", "zz"), later);
  ASSERT_TRUE(first && second && kept && gone);
  EXPECT_EQ(kept->id, second->id);
  EXPECT_NE(gone->id, first->id);
}

}  // namespace
}  // namespace faultline
