#include "wire/intake.h"

#include <gtest/gtest.h>

#include "wire/convert.h"

namespace faultline {
namespace {

Event event_of(const std::string& node, EventSource source = EventSource::kernel_log) {
  Event event;
  event.source = source;
  event.kind = EventKind::log_signature;
  event.reporter = node;
  event.subject = Subject::of_node(node);
  event.observed_at = Instant{std::chrono::seconds{1'790'000'000}};
  event.signature = "xid.79";
  event.id = make_event_id(event);
  return event;
}

Event with_id(Event event) {
  event.id = make_event_id(event);
  return event;
}

void append(v1::Batch& batch, const Event& event) { event_to_wire(event, *batch.add_events()); }

TEST(Intake, TakesTheGoodEventsOfABatchWithBadOnes) {
  v1::Batch batch;
  append(batch, event_of("n3"));
  append(batch, event_of("n4"));
  append(batch, event_of("n3"));
  batch.mutable_events(2)->set_signature("\xFF");
  append(batch, event_of("n3", EventSource::nvml));
  Counters counters;
  const Intake intake = take_batch(batch, "n3", counters);
  ASSERT_EQ(intake.events.size(), 2U);
  EXPECT_EQ(intake.events[0], event_of("n3"));
  EXPECT_EQ(intake.refused, 2U);
  EXPECT_EQ(intake.reason, "'n3' spoke as 'n4': an agent speaks for its own node alone");
  EXPECT_EQ(counters.get("wire_events_not_permitted_total"), 1U);
  EXPECT_EQ(counters.get("wire_events_malformed_total"), 1U);
  EXPECT_EQ(counters.get("wire_events_taken_total"), 2U);
}

TEST(Intake, DoesNotTakeTheAgentsWordForWhenItWasReceived) {
  v1::Batch batch;
  Event event = event_of("n3");
  event.received_at = event.observed_at;
  append(batch, event);
  Counters counters;
  EXPECT_FALSE(known(take_batch(batch, "n3", counters).events.at(0).received_at));
}

TEST(Intake, AnEmptyBatchIsFine) {
  Counters counters;
  const Intake intake = take_batch({}, "n3", counters);
  EXPECT_EQ(intake.refused, 0U);
  EXPECT_TRUE(intake.events.empty());
}

TEST(MaySay, KernelSpeaksOfItsOwnNodeAJobMayNameAnother) {
  Event event = event_of("n3");
  event.subject = Subject::of_gpu("n4", "0000:3b:00.0");
  EXPECT_FALSE(may_say(with_id(event), "n3").ok());
  event.source = EventSource::job_log;
  EXPECT_TRUE(may_say(with_id(event), "n3").ok());
  event.source = EventSource::kernel_log;
  event.subject = Subject::of_storage("nfs1");
  EXPECT_TRUE(may_say(with_id(event), "n3").ok());
}

TEST(MaySay, NobodyButThemselvesSpeaksForControllerSchedulerAndPeople) {
  for (const auto kind :
       {EventKind::person_request, EventKind::outcome, EventKind::agent_lost, EventKind::node_seen,
        EventKind::test_finished, EventKind::attempt_ended}) {
    Event event = event_of("n3");
    event.kind = kind;
    EXPECT_FALSE(may_say(with_id(event), "n3").ok()) << to_text(kind);
  }
  EXPECT_FALSE(may_say(event_of("n3", EventSource::person), "n3").ok());
  EXPECT_FALSE(may_say(event_of("n3", EventSource::controller), "n3").ok());
  // slurmd's log lies on the node, and the launcher starts the attempt.
  EXPECT_TRUE(may_say(event_of("n3", EventSource::scheduler), "n3").ok());
  Event started = event_of("n3", EventSource::launcher);
  started.kind = EventKind::attempt_started;
  EXPECT_TRUE(may_say(with_id(started), "n3").ok());
}

TEST(MaySay, AnIdBelongsToItsContent) {
  Event event = event_of("n3");
  event.id = event_of("n4").id;
  EXPECT_FALSE(may_say(event, "n3").ok());
}

}  // namespace
}  // namespace faultline
