// A controller that starts again tells its detectors what the store has and goes on from there. It
// must come to the verdicts of the one that was never stopped, whenever that happens and whoever
// looked when.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/detectors.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant start{std::chrono::hours{500000}};

const Catalog& catalog() {
  static const Catalog shipped = std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value());
  return shipped;
}

using Verdicts = std::map<VerdictId, Verdict>;

struct Stored final : VerdictSink {
  void verdict(const Verdict& verdict) override { now[verdict.id] = verdict; }
  Verdicts now;
};

/// What is said of eve's, ann's and others' attempts, in the order in which it comes in.
class Stream {
 public:
  void begins(const std::string& user, const std::string& job, const std::string& nodes,
              Duration at) {
    Event event = about(EventKind::attempt_started, EventSource::scheduler, job, at);
    event.fields = {{"nodes", nodes}, {"user", user}, {"name", "big"}};
    give(std::move(event));
  }
  void ends(const std::string& job, const std::string& state, Duration at) {
    Event event = about(EventKind::attempt_ended, EventSource::scheduler, job, at);
    event.fields = {{"state", state}, {"exit_code", state == "completed" ? "0" : "1"}};
    give(std::move(event));
  }
  void prints(const std::string& job, const std::string& signature, const std::string& node,
              Duration at, Duration late = {}) {
    Event event = about(EventKind::log_signature, EventSource::job_log, job, at);
    event.signature = signature;
    event.raw.text = signature;
    event.reporter = node;
    event.clock = ClockDomain::node_wall;
    event.subject = Subject::of_rank(*event.attempt, 0, node);
    event.received_at += late;
    give(std::move(event));
  }
  void kernel(const std::string& signature, const std::string& node, Duration at,
              Duration late = {}) {
    Event event = of_node(EventKind::log_signature, EventSource::kernel_log, node, at);
    event.signature = signature;
    event.raw.text = signature;
    event.clock = ClockDomain::node_wall;
    event.subject = Subject::of_gpu(node, "0000:3b:00.0");
    event.received_at += late;
    give(std::move(event));
  }
  void about_node(EventKind kind, EventSource source, const std::string& node, Fields fields,
                  Duration at) {
    Event event = of_node(kind, source, node, at);
    event.fields = std::move(fields);
    give(std::move(event));
  }
  /// The job prints `signature` on `node`, and ends a second later.
  void breaks(const std::string& user, const std::string& job, const std::string& signature,
              const std::string& node, Duration at) {
    begins(user, job, node + ",n9", at - seconds{5});
    prints(job, signature, node, at);
    ends(job, "failed", at + seconds{1});
  }
  void again(std::size_t index, Duration at) {
    Event event = events_[index % events_.size()];
    event.received_at = std::max(event.received_at, start + at);
    events_.push_back(std::move(event));
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> sorted = events_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Event& a, const Event& b) { return a.received_at < b.received_at; });
    return sorted;
  }

 private:
  static Event of_node(EventKind kind, EventSource source, const std::string& node, Duration at) {
    Event event;
    event.kind = kind;
    event.source = source;
    event.reporter = node;
    event.subject = Subject::of_node(node);
    event.observed_at = event.received_at = start + at;
    event.clock = ClockDomain::controller;
    return event;
  }
  static Event about(EventKind kind, EventSource source, const std::string& job, Duration at) {
    Event event = of_node(kind, source, "", at);
    event.attempt = AttemptId{job, 0};
    event.subject = Subject::of_attempt(*event.attempt);
    return event;
  }
  void give(Event event) {
    event.raw.offset = events_.size() + 1;
    event.id = make_event_id(event);
    events_.push_back(std::move(event));
  }

  std::vector<Event> events_;
};

/// Lives of a controller on one store: it takes an event once, looks at random times, and tells a
/// new life everything.
class Lives {
 public:
  explicit Lives(std::uint32_t seed) : random_(seed) {}

  void live(const std::vector<Event>& events, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const Event& event = events[i];
      while (next_look_ < event.received_at) look();
      if (!known_.insert(event.id).second) continue;
      detectors_->observe(event);
      kept_.push_back(event);
    }
  }
  void look_until(Instant end) {
    while (next_look_ < end) look();
    detectors_->evaluate(end, stored_);
  }
  void restart() {
    detectors_ = std::make_unique<Detectors>(catalog());
    for (const Event& event : kept_) detectors_->observe(event);
    if (!kept_.empty())
      detectors_->drop_before(kept_.back().received_at - catalog().policy().limits.verdict_age_max);
  }
  [[nodiscard]] const Verdicts& verdicts() const { return stored_.now; }

 private:
  void look() {
    detectors_->evaluate(next_look_, stored_);
    // Seldom at all: between two looks a life may end and with it what was not yet passed on.
    next_look_ += milliseconds{1 + random_.below(40'000)};
  }

  Rng random_;
  std::unique_ptr<Detectors> detectors_ = std::make_unique<Detectors>(catalog());
  Instant next_look_ = start;
  std::set<EventId> known_;
  std::vector<Event> kept_;
  Stored stored_;
};

Verdicts uninterrupted(const std::vector<Event>& events, Duration until) {
  Lives lives(1);
  lives.live(events, 0, events.size());
  lives.look_until(start + until);
  return lives.verdicts();
}

Verdicts restarted_after(const std::vector<Event>& events, std::size_t split, Duration until) {
  Lives lives(2);
  lives.live(events, 0, split);
  lives.restart();
  lives.live(events, split, events.size());
  lives.look_until(start + until);
  return lives.verdicts();
}

std::string text(const Verdicts& verdicts) {
  std::string all;
  for (const auto& [id, verdict] : verdicts) {
    all += id + " " + verdict.cause + " " + verdict.subject.text() + " " +
           std::string(to_text(verdict.status)) + " " + to_text(verdict.since) + " " +
           to_text(verdict.updated_at) + " " + join(verdict.evidence, ",") + " " +
           join(verdict.missing, ",") + " " + verdict.explanation + "\n";
  }
  return all;
}

Stream random_stream(std::uint32_t seed) {
  Rng random(seed);
  const auto pick = [&](int n) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
  };
  const auto node = [&] { return "n" + std::to_string(1 + pick(5)); };
  static const std::vector<std::string> words = {"cuda.ecc", "cuda.hw", "cuda.launch", "cuda.oom",
                                                 "python.exception"};
  static const std::vector<std::string> faults = {"xid.79", "xid.94", "xid.48", "xid.31", "xid.46"};
  Stream stream;
  for (int job = 0; job < 30; ++job) {
    const std::string id = std::to_string(100 + job);
    const std::string user = pick(3) == 0 ? "ann" : "eve";
    const std::string first = node();
    // Many within the same second, and some after a silence in which everything was closed.
    const Duration at = seconds{10 + pick(600)} + minutes{25 * pick(3)} + milliseconds{pick(1000)};
    stream.begins(user, id, first + ",n9", at);
    const Duration end = at + milliseconds{500 + pick(90'000)};
    const Duration late = pick(4) == 0 ? Duration{seconds{pick(200)}} : Duration{milliseconds{20}};
    const bool fails = pick(3) != 0;
    if (fails) stream.prints(id, words[static_cast<std::size_t>(pick(5))], first, end, late);
    if (pick(5) == 0)
      stream.kernel(faults[static_cast<std::size_t>(pick(5))], node(),
                    end + seconds{pick(300) - 150}, late);
    if (pick(8) != 0)
      stream.ends(id, fails ? "failed" : "completed", end + milliseconds{pick(3000)});
    if (pick(10) == 0)
      stream.about_node(EventKind::node_boot, EventSource::agent, node(), {}, end + seconds{40});
    if (pick(10) == 0)
      stream.about_node(EventKind::person_request, EventSource::person, first,
                        {{"request", "return"}}, end + seconds{pick(400)});
    if (pick(12) == 0)
      stream.about_node(EventKind::node_seen, EventSource::scheduler, first, {{"state", "down"}},
                        end + seconds{pick(20)});
    if (pick(3) == 0) stream.again(static_cast<std::size_t>(pick(1000)), at + seconds{pick(900)});
  }
  return stream;
}

TEST(DetectorsReplay, AnySplitOfAnyStreamGivesTheVerdictsOfTheUninterruptedRun) {
  constexpr Duration until = minutes{75};
  std::size_t confirmed = 0;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Event> events = random_stream(seed).events();
    const Verdicts whole = uninterrupted(events, until);
    for (const auto& [id, verdict] : whole)
      confirmed +=
          verdict.cause == cause_id::repeat_offender && verdict.status == VerdictStatus::confirmed;
    for (std::size_t split = seed; split < events.size(); split += 37) {
      ASSERT_EQ(text(restarted_after(events, split, until)), text(whole))
          << "seed " << seed << ", restarted after event " << split << " of " << events.size();
    }
  }
  EXPECT_GT(confirmed, 0U) << "the streams try nothing";
}

using Statuses = std::map<std::string, VerdictStatus>;

/// Of the repeat offenders, by node.
Statuses offenders(const Verdicts& verdicts) {
  Statuses nodes;
  for (const auto& [id, verdict] : verdicts) {
    if (verdict.cause == cause_id::repeat_offender) nodes[verdict.subject.node] = verdict.status;
  }
  return nodes;
}

const Statuses n5_only = {{"n2", VerdictStatus::suspected}, {"n5", VerdictStatus::confirmed}};
const Statuses none_confirmed = {{"n2", VerdictStatus::suspected},
                                 {"n5", VerdictStatus::suspected}};

/// Eve's failures, two each on n5 and n2, and a success elsewhere: her word takes out one node.
Stream one_word(Duration n5_again, Duration n2_again, Duration success) {
  Stream stream;
  stream.begins("eve", "9", "n8", seconds{1});
  stream.breaks("eve", "10", "cuda.ecc", "n5", seconds{20});
  stream.breaks("eve", "20", "nccl.ib.async", "n2", seconds{22});
  stream.breaks("eve", "11", "cuda.launch", "n5", n5_again);
  stream.breaks("eve", "21", "cuda.oom", "n2", n2_again);
  stream.ends("9", "completed", success);
  return stream;
}

void expect_offenders(const Stream& stream, Duration until, const Statuses& expected) {
  const std::vector<Event> events = stream.events();
  EXPECT_EQ(offenders(uninterrupted(events, until)), expected);
  Lives lives(3);  // the first look comes when all is over
  lives.live(events, 0, events.size());
  lives.restart();
  lives.look_until(start + until);
  EXPECT_EQ(offenders(lives.verdicts()), expected) << "replayed";
}

TEST(DetectorsReplay, AWordIsSpentOnTheNodeOfTheLiveRun) {
  expect_offenders(one_word(seconds{90}, seconds{120}, seconds{60}), minutes{3}, n5_only);
}

TEST(DetectorsReplay, NoNameIsFavoured) {
  expect_offenders(one_word(seconds{120}, seconds{90}, seconds{60}), minutes{3},
                   {{"n2", VerdictStatus::confirmed}, {"n5", VerdictStatus::suspected}});
}

TEST(DetectorsReplay, SoItIsAfterHours) {
  expect_offenders(one_word(seconds{90}, minutes{60}, seconds{60}), minutes{240}, n5_only);
}

TEST(DetectorsReplay, AReturnedNodeDoesNotGiveTheWordBack) {
  Stream stream = one_word(seconds{90}, minutes{60}, seconds{60});
  stream.about_node(EventKind::person_request, EventSource::person, "n5", {{"request", "return"}},
                    minutes{30});
  EXPECT_EQ(offenders(uninterrupted(stream.events(), minutes{120})).at("n2"),
            VerdictStatus::suspected);
  EXPECT_EQ(offenders(restarted_after(stream.events(), stream.events().size() - 6, minutes{120}))
                .at("n2"),
            VerdictStatus::suspected);
}

TEST(DetectorsReplay, OfNodesThatOneWordProvesAtOnceTheOneAccusedFirstIsTaken) {
  expect_offenders(one_word(seconds{60}, seconds{70}, seconds{100}), minutes{3}, n5_only);
}

TEST(DetectorsReplay, ATieIsDecidedByNoName) {
  const Stream tie = one_word(seconds{60}, seconds{60} + order_uncertainty, seconds{100});
  expect_offenders(tie, minutes{3}, none_confirmed);
  for (const auto& [id, verdict] : uninterrupted(tie.events(), minutes{3})) {
    if (verdict.cause != cause_id::repeat_offender) continue;
    ASSERT_FALSE(verdict.missing.empty());
    EXPECT_EQ(verdict.missing.front(), "a test of n5 and n2");
  }
  expect_offenders(
      one_word(seconds{60}, seconds{60} + order_uncertainty + milliseconds{1}, seconds{100}),
      minutes{3}, n5_only);
}

}  // namespace
}  // namespace faultline
