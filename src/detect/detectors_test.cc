// What holds for all detectors together: they name only causes that exist, forget, and do not
// depend on the order in which the events of one moment come.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "detect/cause_ids.h"
#include "detect/detectors.h"
#include "detect/event_window.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

constexpr Instant start{std::chrono::hours{500000}};

struct Sent final : VerdictSink {
  void verdict(const Verdict& verdict) override { now[verdict.id] = verdict; }
  std::map<VerdictId, Verdict> now;
};

const Catalog& catalog() {
  static const Catalog shipped = std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value());
  return shipped;
}

Event line(EventSource source, const std::string& signature, Subject subject,
           const std::string& node, int ms, int number = 0) {
  Event event;
  event.source = source;
  event.kind = EventKind::log_signature;
  event.signature = signature;
  event.subject = std::move(subject);
  event.reporter = node;
  event.observed_at = event.received_at = start + std::chrono::milliseconds{ms};
  event.clock = ClockDomain::node_wall;
  event.raw.offset = static_cast<std::uint64_t>(number);
  event.id = make_event_id(event);
  return event;
}

Event attempt_event(EventKind kind, Fields fields, int ms) {
  Event event;
  event.source = EventSource::scheduler;
  event.kind = kind;
  event.attempt = AttemptId{"7", 0};
  event.subject = Subject::of_attempt(*event.attempt);
  event.fields = std::move(fields);
  event.observed_at = event.received_at = start + std::chrono::milliseconds{ms};
  event.id = make_event_id(event);
  return event;
}

std::map<VerdictId, Verdict> run(const std::vector<Event>& events, int until_s) {
  auto detectors = make_detectors(catalog());
  Sent sent;
  for (const Event& event : events) {
    for (const auto& detector : detectors) detector->observe(event);
  }
  for (int second = 0; second <= until_s; ++second) {
    for (const auto& detector : detectors)
      detector->evaluate(start + std::chrono::seconds{second}, sent);
  }
  return sent.now;
}

TEST(Detectors, EveryCauseThatARuleNamesExists) {
  for (const std::string_view id : cause_id::all) EXPECT_NE(catalog().cause(id), nullptr) << id;
}

TEST(Detectors, EverySignatureThatARuleNamesExists) {
  for (const std::string_view id :
       {finished_signature, resumed_signature, exception_signature, own_address_signature,
        std::string_view("c10d.timeout"), std::string_view("c10d.dumpsignal"),
        std::string_view("xid.149")}) {
    EXPECT_NE(catalog().signature(id), nullptr) << id;
  }
}

TEST(Detectors, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto& detector : make_detectors(catalog()))
    EXPECT_TRUE(names.insert(detector->name()).second) << detector->name();
  EXPECT_FALSE(names.empty());
}

std::vector<Event> a_failure() {
  const AttemptId id{"7", 0};
  std::vector<Event> events = {
      attempt_event(EventKind::attempt_started, {{"nodes", "n1,n2"}}, 0),
      line(EventSource::kernel_log, "aer.corrected", Subject::of_node("n2"), "n2", 50),
      line(EventSource::kernel_log, "xid.48", Subject::of_gpu("n2", "0000:3b:00.0"), "n2", 100),
      line(EventSource::kernel_log, "xid.94", Subject::of_gpu("n2", "0000:3b:00.0"), "n2", 110),
      line(EventSource::kernel_log, "xid.45", Subject::of_gpu("n2", "0000:4b:00.0"), "n2", 200),
  };
  for (int rank = 0; rank < 4; ++rank) {
    Event event = line(EventSource::job_log, rank == 2 ? "cuda.ecc" : "nccl.remote",
                       Subject::of_rank(id, rank, rank < 2 ? "n1" : "n2"), rank < 2 ? "n1" : "n2",
                       120 + rank);
    event.attempt = id;
    events.push_back(event);
  }
  events.push_back(attempt_event(EventKind::attempt_ended, {{"state", "failed"}}, 900));
  return events;
}

TEST(Detectors, TheOrderOfArrivalWithinAMomentChangesNothing) {
  std::vector<Event> events = a_failure();
  const auto expected = run(events, 10);
  EXPECT_FALSE(expected.empty());
  for (int turn = 0; turn < 20; ++turn) {
    std::rotate(events.begin() + 1, events.begin() + 4, events.end());
    if (turn % 3 == 0) std::reverse(events.begin() + 1, events.end());
    EXPECT_EQ(run(events, 10), expected) << "turn " << turn;
  }
}

TEST(Detectors, EventsTwiceChangeNothing) {
  std::vector<Event> events = a_failure();
  const auto expected = run(events, 10);
  const std::vector<Event> once = events;
  events.insert(events.end(), once.begin(), once.end());
  EXPECT_EQ(run(events, 10), expected);
}

TEST(Detectors, AFloodOfTeardownBlamesNobodyAndDoesNotDrownTheRoot) {
  std::vector<Event> events = {
      line(EventSource::kernel_log, "xid.79", Subject::of_gpu("n1", "0000:3b:00.0"), "n1", 0)};
  for (int i = 1; i <= 5000; ++i) {
    events.push_back(
        line(EventSource::kernel_log, "xid.45", Subject::of_gpu("n1", "0000:4b:00.0"), "n1", i, i));
  }
  const auto verdicts = run(events, 5);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.begin()->second.cause, "gpu.fell_off_bus");
}

std::map<VerdictId, Verdict> skimmed(const std::vector<Event>& events, Duration after) {
  Detectors detectors(catalog());
  Sent sent;
  for (const Event& event : events) detectors.skim(event);
  detectors.evaluate(events.back().received_at + after, sent);
  return sent.now;
}

TEST(Detectors, APastThatIsSkimmedIsJudgedAllTheSame) {
  constexpr int minute_ms = 60'000;
  const Subject gpu = Subject::of_gpu("n1", "0000:3b:00.0");
  const Event fault = line(EventSource::kernel_log, "xid.79", gpu, "n1", 0);
  for (const int later_ms : {1, minute_ms, 14 * minute_ms, 16 * minute_ms, 1500 * minute_ms}) {
    const Event other =
        line(EventSource::kernel_log, "aer.corrected", Subject::of_node("n1"), "n1", later_ms);
    const auto verdicts = skimmed({fault, other}, std::chrono::minutes{1});
    ASSERT_EQ(verdicts.size(), 1U) << later_ms << ": a day later nobody remembers the line";
    EXPECT_EQ(verdicts.begin()->second.cause, "gpu.fell_off_bus");
    EXPECT_EQ(verdicts.begin()->second.status, VerdictStatus::confirmed);
    EXPECT_EQ(verdicts.begin()->second.since, start);
  }
}

TEST(Detectors, WhatWasTakenBackMeanwhileIsNoVerdict) {
  const Subject gpu = Subject::of_gpu("n1", "0000:3b:00.0");
  const std::vector<Event> events = {
      line(EventSource::kernel_log, "xid154.reboot", gpu, "n1", 0),
      line(EventSource::kernel_log, "xid154.none_after_reboot", gpu, "n1", 200'000)};
  for (const auto& [id, verdict] : skimmed(events, std::chrono::minutes{1}))
    ADD_FAILURE() << verdict.cause << " " << to_text(verdict.status) << " " << verdict.explanation;
}

/// One program's fault on `gpu` at `s` seconds; many of them differ by their number.
Event sm_exception(const std::string& tpc, int pid, int s, int number) {
  Event event = line(EventSource::kernel_log, "xid.13", Subject::of_gpu("n1", "0000:3b:00.0"), "n1",
                     s * 1000, number);
  event.fields = {{"gpc", "3"}, {"tpc", tpc}, {"pid", std::to_string(pid)}};
  return event;
}

TEST(Detectors, AFaultOnManyMultiprocessorsDoesNotMakeDeafForAMonth) {
  auto detectors = make_detectors(catalog());
  Sent sent;
  const auto tell = [&](const Event& event) {
    for (const auto& detector : detectors) detector->observe(event);
  };
  const auto judge = [&](int s) {
    for (const auto& detector : detectors)
      detector->evaluate(start + std::chrono::seconds{s}, sent);
  };
  for (int i = 0; i < 1000; ++i) tell(sm_exception(std::to_string(i % 9), 1, 0, i));
  judge(20);
  for (int run = 0; run < 2; ++run) {
    const int s = 90000 + run * 3600;
    tell(sm_exception("5", 2 + run, s, 2000 + run));
    judge(s + 20);
  }
  EXPECT_TRUE(std::any_of(sent.now.begin(), sent.now.end(), [](const auto& entry) {
    return entry.second.cause == cause_id::sm_exception &&
           entry.second.status != VerdictStatus::cleared;
  }));
}

TEST(Detectors, TeardownBeforeTheRootDoesNotDrownIt) {
  std::vector<Event> events;
  for (int i = 1; i <= 5000; ++i) {
    events.push_back(
        line(EventSource::kernel_log, "xid.45", Subject::of_gpu("n1", "0000:4b:00.0"), "n1", i, i));
  }
  events.push_back(
      line(EventSource::kernel_log, "xid.79", Subject::of_gpu("n1", "0000:3b:00.0"), "n1", 6000));
  const auto verdicts = run(events, 10);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.begin()->second.cause, "gpu.fell_off_bus");
}

TEST(Detectors, KernelWordsFromAJobAreNotTheKernels) {
  Event forged =
      line(EventSource::job_log, "xid.79", Subject::of_gpu("n1", "0000:3b:00.0"), "n1", 0);
  forged.attempt = AttemptId{"7", 0};
  EXPECT_TRUE(run({forged}, 5).empty());
}

TEST(Detectors, UnknownSignaturesAndKindsAreIgnored) {
  Event odd = line(EventSource::kernel_log, "no.such.signature", Subject::of_node("n1"), "n1", 0);
  Event gap = odd;
  gap.kind = EventKind::source_gap;
  EXPECT_TRUE(run({odd, gap, Event{}}, 5).empty());
}

TEST(Normalised, NumbersAndTagsAreWhereRanksDiffer) {
  EXPECT_EQ(normalised("[rank3]: ValueError: batch 17 of 0x7f3a"),
            normalised("c000001: ValueError: batch 4 of 0x11"));
  EXPECT_NE(normalised("ValueError: batch 17"), normalised("KeyError: batch 17"));
}

}  // namespace
}  // namespace faultline
