// What goes with its age, and what stays whatever its age.
#include "store/dry_run.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST_F(StoreTest, RetentionKeepsTheEvidenceOfVerdicts) {
  auto store = open();
  ASSERT_TRUE(store->append_events({event(1), event(2)}).ok());
  ASSERT_TRUE(store->put_verdict(verdict("v-1", VerdictStatus::confirmed)).ok());
  EXPECT_EQ(store->retain(Instant{seconds{2002}} + hours{1}, {hours{1}}).value(),
            0u);  // boundary: exactly `keep` old
  EXPECT_EQ(store->retain(Instant{seconds{2003}} + hours{1}, {hours{1}}).value(), 1u);
  EXPECT_TRUE(store->event(event(1).id).value().has_value());
  EXPECT_FALSE(store->event(event(2).id).value().has_value());
}

// The newest state of a noun is never old; the earlier ones go with the events of their time.
TEST_F(StoreTest, RetentionCoversHistory) {
  auto store = open();
  const auto put = [&](VerdictStatus status, int at) {
    Verdict state = verdict("v-1", status);
    state.updated_at = Instant{seconds{at}};
    ASSERT_TRUE(store->put_verdict(state).ok());
  };
  put(VerdictStatus::suspected, 1000);
  put(VerdictStatus::confirmed, 2000);
  ASSERT_TRUE(
      store->put_node_state({"n3", NodePhase::drained, Instant{seconds{1000}}, {}, {}, {}, {}, {}})
          .ok());
  ASSERT_TRUE(store->retain(Instant{seconds{1000}} + hours{1}, {hours{1}}).ok());  // boundary
  EXPECT_EQ(store->verdict_history("v-1")->size(), 2u);
  ASSERT_TRUE(store->retain(Instant{seconds{1001}} + hours{1}, {hours{1}}).ok());
  ASSERT_EQ(store->verdict_history("v-1")->size(), 1u);
  EXPECT_EQ(store->verdict_history("v-1")->front().status, VerdictStatus::confirmed);
  ASSERT_TRUE(store->retain(Instant{seconds{3000}} + hours{1}, {hours{1}}).ok());
  EXPECT_TRUE(store->verdict_history("v-1")->empty());
  EXPECT_TRUE(store->node_history("n3")->empty());
  EXPECT_EQ(store->verdict("v-1").value()->status, VerdictStatus::confirmed);
  EXPECT_EQ(store->node_states()->front().phase, NodePhase::drained);
}

/// A verdict with its event, a decision on it and an act: all at one time, under one name.
class RecordsTest : public StoreTest {
 protected:
  void put_chain(Store& store, const std::string& name, const Subject& subject,
                 bool settled = true) {
    Event seen = event(static_cast<int>(name.back()));
    seen.received_at = at;
    ASSERT_TRUE(store.append_events({seen}).ok());
    Verdict about = verdict("v-" + name, VerdictStatus::confirmed);
    about.subject = subject;
    about.updated_at = at;
    about.evidence = {seen.id};
    ASSERT_TRUE(store.put_verdict(about).ok());
    Decision decision;
    decision.id = "d-" + name;
    decision.verdict = about.id;
    decision.decided_at = at;
    decision.action = action("a-" + name);
    decision.action.decision = decision.id;
    decision.action.subject = subject;
    ASSERT_TRUE(store.put_decision(decision).ok());
    ASSERT_TRUE(put_dry_run(store, decision.id, {}).ok());
    ASSERT_TRUE(store.record_intent(decision.action, at).ok());
    if (settled) {
      ASSERT_TRUE(store.record_outcome(outcome("a-" + name, OutcomeStatus::done)).ok());
    }
  }
  static bool whole(Store& store, const std::string& name) {
    return store.verdict("v-" + name)->has_value() && store.decision("d-" + name)->has_value() &&
           store.action("a-" + name)->has_value() && has_dry_run(store, name);
  }
  static bool gone(Store& store, const std::string& name) {
    return !store.verdict("v-" + name)->has_value() && !store.decision("d-" + name)->has_value() &&
           !store.action("a-" + name)->has_value() && !has_dry_run(store, name);
  }
  static bool has_dry_run(Store& store, const std::string& name) {
    Decision asking;
    asking.id = "d-" + name;
    asking.ruling = Ruling::ask;
    return dry_run_of(store, asking)->has_value();
  }
  static constexpr Retention keep{hours{1}, hours{24}};
  static constexpr Instant at{seconds{1000}};
};

TEST_F(RecordsTest, AnOldChainGoesWithItsEvents) {
  auto store = open();
  put_chain(*store, "1", Subject::of_node("n3"));
  ASSERT_EQ(store->retain(at + hours{24}, keep).value(), 0u) << "boundary";
  EXPECT_TRUE(whole(*store, "1"));
  EXPECT_EQ(store->retain(at + hours{24} + seconds{1}, keep).value(), 1u)
      << "the event, which no verdict refers to any more";
  EXPECT_TRUE(gone(*store, "1"));
}

TEST_F(RecordsTest, WhatIsOpenStaysWithWhatLedToIt) {
  auto store = open();
  put_chain(*store, "1", Subject::of_node("n3"), false);
  ASSERT_TRUE(store->retain(at + hours{48}, keep).ok());
  EXPECT_TRUE(whole(*store, "1"));
  ASSERT_TRUE(store->record_outcome(outcome("a-1", OutcomeStatus::done)).ok());
  ASSERT_TRUE(store->retain(at + hours{48}, keep).ok());
  EXPECT_TRUE(gone(*store, "1"));
}

TEST_F(RecordsTest, WhatConcernsANodeOutOfServiceStaysUntilItIsBack) {
  auto store = open();
  NodeState state{"n3", NodePhase::in_repair, at, {}, "v-0", "a-0", {}, {}};
  ASSERT_TRUE(store->put_node_state(state).ok());
  put_chain(*store, "0", Subject::of_job("7"));  // of another subject, and why the node is out
  put_chain(*store, "1", Subject::of_node("n3"));
  put_chain(*store, "2", Subject::of_gpu("n3", "0000:3b:00.0"));
  put_chain(*store, "3", Subject::of_rank({"7", 0}, 2, "n3"));
  put_chain(*store, "4", Subject::of_node("n33"));
  put_chain(*store, "5", Subject::of_gpu("n33", "0000:3b:00.0"));
  put_chain(*store, "6", Subject::of_rank({"7", 0}, 2, "an3"));
  ASSERT_TRUE(store->retain(at + hours{48}, keep).ok());
  for (const char* name : {"0", "1", "2", "3"}) EXPECT_TRUE(whole(*store, name)) << name;
  for (const char* name : {"4", "5", "6"}) EXPECT_TRUE(gone(*store, name)) << name;
  state.phase = NodePhase::in_service;
  ASSERT_TRUE(store->put_node_state(state).ok());
  ASSERT_TRUE(store->retain(at + hours{48}, keep).ok());
  for (const char* name : {"0", "1", "2", "3"}) EXPECT_TRUE(gone(*store, name)) << name;
}

TEST_F(RecordsTest, RunsThatGoOnAndRequestsWithoutAnAnswerStay) {
  auto store = open();
  ASSERT_TRUE(store->put_attempt(attempt("1", AttemptState::running)).ok());
  ASSERT_TRUE(store->put_attempt(attempt("2", AttemptState::failed)).ok());
  for (const char* answer : {"", "act: done"})
    ASSERT_TRUE(
        store->put_request({0, RequestKind::return_node, "n3", "root(0)", at, parse_answer(answer)})
            .ok());
  Incident incident;
  incident.id = "i-1";
  incident.opened_at = at;
  ASSERT_TRUE(store->put_incident(incident).ok());
  ASSERT_TRUE(store->retain(at + hours{48}, keep).ok());
  ASSERT_EQ(store->attempts({})->size(), 1u);
  EXPECT_EQ(store->attempts({})->front().id.job, "1");
  EXPECT_EQ(store->requests({})->size(), 1u);
  EXPECT_EQ(store->open_requests()->size(), 1u);
  EXPECT_TRUE(store->incidents({})->empty());
}

}  // namespace
}  // namespace faultline
