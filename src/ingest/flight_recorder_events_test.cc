#include "ingest/flight_recorder_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/fixtures/flight_recorder_story.h"
#include "tests/fixtures/flight_recorder_writer.h"

namespace faultline {
namespace {

constexpr auto completed = OperationState::completed;
constexpr auto started = OperationState::started;
constexpr auto scheduled = OperationState::scheduled;

class FlightRecorderEventsTest : public testing::Test {
 protected:
  static Origin origin(std::int32_t rank) {
    Origin origin;
    origin.source = EventSource::collective_trace;
    origin.path = "fr/rank_" + std::to_string(rank);
    origin.rank = rank;
    return origin;
  }

  std::vector<Event> events(const FlightRecorderDump& dump, std::int32_t rank) {
    // By way of a file, so that each thing has its place in it.
    const auto read = read_flight_recorder(flight_recorder_pickle(dump), counters_);
    EXPECT_TRUE(read.ok());
    auto events = flight_recorder_events(read.value(), origin(rank), counters_);
    std::set<std::string> ids;
    for (const Event& event : events) {
      EXPECT_EQ(event.source, EventSource::collective_trace);
      EXPECT_EQ(event.id, make_event_id(event));
      EXPECT_TRUE(ids.insert(event.id).second) << "twice: " << event.raw.text;
      EXPECT_LE(event.fields.size(), event_fields_max);
      for (const auto& [name, value] : event.fields) EXPECT_LE(value.size(), field_bytes_max);
    }
    return events;
  }

  /// "operation_pending seq=3 state=scheduled", a line each; kinds that begin with `kind`.
  static std::string lines(const std::vector<Event>& events, std::string_view kind,
                           const std::vector<std::string>& fields) {
    std::string text;
    for (const Event& event : events) {
      if (!to_text(event.kind).starts_with(kind)) continue;
      text += std::string(to_text(event.kind));
      for (const auto& field : fields) {
        if (!event.field(field).empty())
          text += ' ' + field + '=' + std::string(event.field(field));
      }
      text += '\n';
    }
    return text;
  }
  std::string operations(const FlightRecorderDump& dump, std::int32_t rank,
                         const std::vector<std::string>& fields) {
    return lines(events(dump, rank), "operation_", fields);
  }

  Counters counters_;
};

TEST_F(FlightRecorderEventsTest, TheDumpsOfAHang) {
  std::string all;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string folder = FAULTLINE_SOURCE_DIR "/tests/fixtures/flight_recorder/";
    std::ifstream stream(folder + "hang/rank_" + std::to_string(rank), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const auto dump = read_flight_recorder(bytes, counters_);
    ASSERT_TRUE(dump.ok());
    for (const Event& event : flight_recorder_events(*dump, origin(rank), counters_)) {
      all += to_text(event.observed_at) + ' ' + std::string(to_text(event.kind)) + ' ' +
             event.subject.text() + ' ' + event.raw.path + ':' + std::to_string(event.raw.offset) +
             ' ' + event.raw.text + '\n';
      for (const auto& [name, value] : event.fields) {
        std::string shown = value;
        std::replace(shown.begin(), shown.end(), '\n', '|');
        all += "  " + name + " = " + shown + '\n';
      }
    }
  }
  std::ifstream golden(FAULTLINE_SOURCE_DIR "/tests/fixtures/flight_recorder/hang.events");
  EXPECT_EQ(all, std::string(std::istreambuf_iterator<char>(golden), {}));
  EXPECT_TRUE(counters_.snapshot().empty());
}

// --- the moment of writing ---

TEST_F(FlightRecorderEventsTest, WhenItWasWritten) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", scheduled, 1);
  const Instant newest = story.dump.entries.back().created;
  const auto written_after = [&](Duration after) {
    Origin known_time = origin(0);
    known_time.last_written = newest + after;
    return lines(flight_recorder_events(story.dump, known_time, counters_), "trace_read",
                 {"written_after_ms"});
  };
  EXPECT_EQ(written_after(std::chrono::milliseconds{1500}), "trace_read written_after_ms=1500\n");
  EXPECT_EQ(written_after(std::chrono::milliseconds{-1999}), "trace_read written_after_ms=0\n");
  EXPECT_EQ(written_after(std::chrono::seconds{-2}), "trace_read\n") << "another clock";
  EXPECT_EQ(lines(events(story.dump, 0), "trace_read", {"written_after_ms"}), "trace_read\n");
}

TEST_F(FlightRecorderEventsTest, WhatTheWatchdogHasNotPutAwayYet) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  for (int seq = 1; seq <= 3; ++seq) story.collective(world, "nccl:all_reduce", completed, seq);
  const auto told = [&] { return lines(events(story.dump, 0), "trace_read", {"unretired"}); };
  EXPECT_EQ(told(), "trace_read\n");
  story.dump.entries[2].retired = false;
  EXPECT_EQ(told(), "trace_read unretired=1\n");
  for (auto& entry : story.dump.entries) entry.retired = false;
  EXPECT_EQ(told(), "trace_read\n") << "this recorder does not say it";
}

TEST_F(FlightRecorderEventsTest, TransfersOfABatchSayWhereItBegins) {
  RecorderStory story;
  const auto pipe = story.group("7", "pipe", {0, 1, 2});
  story.transfer(pipe, "nccl:send 1->0", completed, 1);
  story.transfer(pipe, "nccl:send 1->2", scheduled, 2);
  story.transfer(pipe, "nccl:recv 1<-2", scheduled, 2);
  story.transfer(pipe, "nccl:coalesced", scheduled, 2);
  EXPECT_EQ(operations(story.dump, 1, {"lane", "record", "batch"}),
            "operation_completed lane=send>0 record=0\n"
            "operation_pending lane=send>2 record=1 batch=1\n"
            "operation_pending lane=recv<2 record=2 batch=1\n");
}

// --- lanes ---

TEST_F(FlightRecorderEventsTest, TheLastCompletedAndTheFirstFourThatAreNot) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  for (int seq = 1; seq <= 9; ++seq)
    story.collective(world, "nccl:all_reduce", seq <= 3 ? completed : scheduled, seq);
  EXPECT_EQ(operations(story.dump, 1, {"lane", "seq", "record", "state", "last", "pending"}),
            "operation_completed lane=collective seq=3 record=2 state=completed last=9 pending=6\n"
            "operation_pending lane=collective seq=4 record=3 state=scheduled last=9 pending=6\n"
            "operation_pending lane=collective seq=5 record=4 state=scheduled last=9 pending=6\n"
            "operation_pending lane=collective seq=6 record=5 state=scheduled last=9 pending=6\n"
            "operation_pending lane=collective seq=7 record=6 state=scheduled last=9 pending=6\n");
}

TEST_F(FlightRecorderEventsTest, AllCompletedOrNoneAtAll) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  EXPECT_EQ(operations(story.dump, 1, {}), "");
  story.collective(world, "nccl:all_reduce", completed, 1);
  EXPECT_EQ(operations(story.dump, 1, {"seq", "pending"}), "operation_completed seq=1 pending=0\n");
  story.dump.entries[0].state = started;
  EXPECT_EQ(operations(story.dump, 1, {"seq", "pending"}), "operation_pending seq=1 pending=1\n");
}

TEST_F(FlightRecorderEventsTest, CompletedThoughNotRetiredIsCompletedAndRetiredIsNotCompleted) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", completed, 1).retired = false;
  story.collective(world, "nccl:all_reduce", scheduled, 2).retired = true;  // timed out
  EXPECT_EQ(operations(story.dump, 1, {"seq"}),
            "operation_completed seq=1\noperation_pending seq=2\n");
}

TEST_F(FlightRecorderEventsTest, EachGroupHasItsOwn) {
  RecorderStory story;
  const auto tensor = story.group("3", "tp", {4, 5});
  const auto data = story.group("9", "dp", {1, 5, 9});
  story.collective(tensor, "nccl:all_reduce", completed, 70);
  story.collective(data, "nccl:_reduce_scatter_base", scheduled, 7);
  EXPECT_EQ(operations(story.dump, -1, {"group", "seq", "op"}),
            "operation_completed group=3[4,5] seq=70 op=all_reduce\n"
            "operation_pending group=9[1-9:4] seq=7 op=_reduce_scatter_base\n");
}

TEST_F(FlightRecorderEventsTest, TransfersAreCountedByPeerAndDirection) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11, 19});
  story.transfer(pipe, "nccl:recv 1<-0", completed, 1);
  story.transfer(pipe, "nccl:send 1->2", completed, 2);
  story.transfer(pipe, "nccl:recv 1<-0", completed, 3);
  story.transfer(pipe, "nccl:send 1->2", scheduled, 4);
  story.transfer(pipe, "nccl:recv 1<-2", scheduled, 5);
  EXPECT_EQ(operations(story.dump, -1, {"lane", "seq", "record", "op", "last"}),
            "operation_completed lane=recv<3 seq=2 record=2 op=recv last=2\n"
            "operation_completed lane=send>19 seq=1 record=1 op=send last=2\n"
            "operation_pending lane=send>19 seq=2 record=3 op=send last=2\n"
            "operation_pending lane=recv<19 seq=1 record=4 op=recv last=1\n");
}

TEST_F(FlightRecorderEventsTest, APeerOfAGroupThatNobodyKnows) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {});
  story.transfer(pipe, "nccl:send 1->2", scheduled, 1);
  EXPECT_EQ(operations(story.dump, 11, {"lane"}), "operation_pending lane=send>#2\n");
}

TEST_F(FlightRecorderEventsTest, WhereTheBeginningIsLostTransfersHaveNoNumber) {
  for (const bool lost : {false, true}) {
    RecorderStory story;
    const auto pipe = story.group("7", "pp", {3, 11});
    story.transfer(pipe, "nccl:send 1->0", scheduled, 1);
    story.collective(pipe, "nccl:barrier", scheduled, 41);
    if (lost) {
      for (auto& entry : story.dump.entries) entry.record_id += 1;
    }
    const auto all = events(story.dump, -1);
    EXPECT_EQ(lines(all, "trace_read", {"truncated"}),
              lost ? "trace_read truncated=1\n" : "trace_read\n");
    EXPECT_EQ(lines(all, "operation_", {"lane", "seq", "last"}),
              lost ? "operation_pending lane=send>3\n"
                     "operation_pending lane=collective seq=41 last=41\n"
                   : "operation_pending lane=send>3 seq=1 last=1\n"
                     "operation_pending lane=collective seq=41 last=41\n");
  }
}

TEST_F(FlightRecorderEventsTest, ADumpThatLeavesOutWhatIsCompletedHasLostIt) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  for (int seq = 1; seq <= 3; ++seq) story.collective(world, "nccl:all_reduce", scheduled, seq);
  story.dump.entries.erase(story.dump.entries.begin() + 1);
  EXPECT_EQ(lines(events(story.dump, 1), "trace_read", {"truncated"}), "trace_read truncated=1\n");
}

TEST_F(FlightRecorderEventsTest, LanesAreBounded) {
  RecorderStory story;
  std::vector<std::int32_t> ranks(5000);
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::int32_t>(i);
  const auto world = story.group("0", "default_pg", ranks);
  for (int peer = 1; peer < 3000; ++peer)
    story.transfer(world, "nccl:send 0->" + std::to_string(peer), scheduled, peer);
  const auto all = events(story.dump, 0);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const auto& e) { return e.kind == EventKind::operation_pending; }),
            static_cast<std::ptrdiff_t>(recorder_lanes_max));
  EXPECT_EQ(counters_.get("flight_recorder_left_out_total"), 2999 - recorder_lanes_max);
}

// --- batches ---

TEST_F(FlightRecorderEventsTest, TransfersOfABatchHaveTheStateOfWhatClosesIt) {
  for (const auto state : {completed, started, scheduled}) {
    RecorderStory story;
    const auto pipe = story.group("7", "pp", {3, 11, 19});
    story.transfer(pipe, "nccl:send 1->2", scheduled, 1);
    story.transfer(pipe, "nccl:recv 1<-0", scheduled, 1);
    story.transfer(pipe, "nccl:coalesced", state, 1).in_sizes = "";
    const std::string kind = state == completed ? "operation_completed" : "operation_pending";
    const std::string word(to_text(state));
    EXPECT_EQ(
        operations(story.dump, -1, {"lane", "state"}),
        kind + " lane=send>19 state=" + word + "\n" + kind + " lane=recv<3 state=" + word + "\n");
  }
}

TEST_F(FlightRecorderEventsTest, ABatchTakesInItsOwnMembersAlone) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11, 19});
  const auto other = story.group("8", "pp2", {11, 12});
  story.transfer(pipe, "nccl:send 1->2", scheduled, 1);   // on its own, and stuck
  story.transfer(pipe, "nccl:recv 1<-0", scheduled, 2);   // in the batch
  story.transfer(other, "nccl:send 0->1", scheduled, 2);  // of another group
  story.collective(pipe, "nccl:barrier", scheduled, 0);   // no transfer
  story.dump.entries.back().p2p_seq_id = 2;
  story.transfer(pipe, "nccl:coalesced", completed, 2);
  EXPECT_EQ(operations(story.dump, -1, {"group", "lane", "state"}),
            "operation_pending group=7[3-19:8] lane=send>19 state=scheduled\n"
            "operation_pending group=7[3-19:8] lane=recv<3 state=scheduled\n"
            "operation_pending group=8[11,12] lane=send>12 state=scheduled\n"
            "operation_pending group=7[3-19:8] lane=collective state=scheduled\n")
      << "a collective between them ends the search";
  story.dump.entries.erase(story.dump.entries.begin() + 3);
  story.dump.entries.back().record_id = 3;
  EXPECT_EQ(operations(story.dump, -1, {"group", "lane", "state"}),
            "operation_pending group=7[3-19:8] lane=send>19 state=scheduled\n"
            "operation_completed group=7[3-19:8] lane=recv<3 state=completed\n"
            "operation_pending group=8[11,12] lane=send>12 state=scheduled\n");
}

TEST_F(FlightRecorderEventsTest, ABatchThatWasNeverClosedIsPending) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11});
  story.transfer(pipe, "nccl:send 1->0", scheduled, 1);
  EXPECT_EQ(operations(story.dump, -1, {"lane", "state"}),
            "operation_pending lane=send>3 state=scheduled\n");
}

TEST_F(FlightRecorderEventsTest, WhereWhatIsDoneIsLeftOutABatchThatNothingClosesIsDone) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11, 19});
  story.transfer(pipe, "nccl:send 1->2", scheduled, 1);
  story.transfer(pipe, "nccl:recv 1<-0", scheduled, 1);
  story.transfer(pipe, "nccl:coalesced", completed, 1);
  story.transfer(pipe, "nccl:send 1->0", scheduled, 2);
  story.dump.entries.erase(story.dump.entries.begin() + 2);
  const std::string stuck = "operation_pending lane=send>3 state=scheduled\n";
  EXPECT_EQ(operations(story.dump, -1, {"lane", "state"}),
            "operation_completed lane=send>19 state=completed\n"
            "operation_completed lane=recv<3 state=completed\n" +
                stuck);
  // One alone may be on its own and stuck, and what comes last may not be closed yet.
  const auto two = story.dump.entries;
  story.dump.entries.erase(story.dump.entries.begin());
  EXPECT_EQ(operations(story.dump, -1, {"lane", "state"}),
            "operation_pending lane=recv<3 state=scheduled\n" + stuck);
  story.dump.entries = {two[0], two[1]};
  EXPECT_EQ(operations(story.dump, -1, {"lane", "state"}),
            "operation_pending lane=send>19 state=scheduled\n"
            "operation_pending lane=recv<3 state=scheduled\n");
}

TEST_F(FlightRecorderEventsTest, AnEmptyDumpThatCountsWhatItHadHasLostIt) {
  for (const std::int64_t enqueued : {-1, 0, 1}) {
    RecorderStory story;
    story.group("0", "default_pg", {0, 1});
    story.dump.statuses = {{0, enqueued, -1, -1}};
    EXPECT_EQ(lines(events(story.dump, 1), "trace_read", {"truncated"}),
              enqueued > 0 ? "trace_read truncated=1\n" : "trace_read\n");
  }
}

TEST_F(FlightRecorderEventsTest, WhatClosesABatchWhoseBeginningIsLostIsOnNoLane) {
  RecorderStory story;
  const auto pipe = story.group("7", "pp", {3, 11});
  story.transfer(pipe, "nccl:coalesced", scheduled, 9);
  EXPECT_EQ(operations(story.dump, 3, {}), "");
}

TEST_F(FlightRecorderEventsTest, ABatchOfCollectivesIsOneOperation) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", completed, 1);
  story.collective(world, "nccl:all_reduce", scheduled, 2).in_sizes = "[8,16]";
  story.collective(world, "nccl:all_reduce", scheduled, 2).in_sizes = "4";
  story.collective(world, "nccl:coalesced", scheduled, 2).in_sizes = "";
  story.dump.entries.back().out_sizes = "";
  EXPECT_EQ(operations(story.dump, 0, {"seq", "op", "in_sizes", "out_sizes", "pending"}),
            "operation_completed seq=1 op=all_reduce in_sizes=4096 out_sizes=4096 pending=1\n"
            "operation_pending seq=2 op=all_reduce in_sizes=[8,16],4 out_sizes=4096,4096 "
            "pending=1\n");
}

TEST_F(FlightRecorderEventsTest, ABatchOfCollectivesWithoutMembersIsOneToo) {
  RecorderStory story;  // before 2.7 only what closes it was written
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", completed, 1);
  story.collective(world, "nccl:coalesced", started, 2);
  EXPECT_EQ(operations(story.dump, 0, {"seq", "op"}),
            "operation_completed seq=1 op=all_reduce\noperation_pending seq=2 op=coalesced\n");
}

TEST_F(FlightRecorderEventsTest, ACoalescedCollectiveOfItsOwnIsNoBatch) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", completed, 1);
  story.collective(world, "nccl:all_gather_into_tensor_coalesced", scheduled, 2);
  EXPECT_EQ(operations(story.dump, 0, {"seq", "op"}),
            "operation_completed seq=1 op=all_reduce\n"
            "operation_pending seq=2 op=all_gather_into_tensor_coalesced\n");
}

// --- groups, rank, place ---

TEST_F(FlightRecorderEventsTest, RanksAsRangesAndStrides) {
  RecorderStory story;
  story.group("0", "default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  story.group("1", "dp", {0, 4, 8, 12, 13, 7});
  story.group("2", "one", {0});
  story.group("3", "gone", {});
  const auto all = events(story.dump, -1);
  EXPECT_EQ(lines(all, "group_seen", {"group", "desc", "ranks"}),
            "group_seen group=0 desc=default_pg ranks=0-7\n"
            "group_seen group=1[0-12:4,13,7] desc=dp ranks=0-12:4,13,7\n"
            "group_seen group=2[0] desc=one ranks=0\n"
            "group_seen group=3 desc=gone\n");
  EXPECT_EQ(lines(all, "trace_read", {"format", "version", "comm_lib", "entries", "world"}),
            "trace_read format=flight_recorder version=2.10 comm_lib=2.28.9 entries=0 world=8\n");
}

TEST_F(FlightRecorderEventsTest, GroupsOfOneNumberAndOtherRanksAreTwoGroups) {
  const auto name = [this](const std::string& group, const std::vector<std::int32_t>& ranks) {
    RecorderStory story;
    story.group(group, "mesh_tp", ranks);
    return std::string(events(story.dump, ranks.front()).back().field("group"));
  };
  EXPECT_EQ(name("3", {0, 1, 2, 3}), "3[0-3]");
  EXPECT_EQ(name("3", {4, 5, 6, 7}), "3[4-7]");
  EXPECT_EQ(name("0", {0, 1, 2, 3}), "0") << "everybody's";
  EXPECT_EQ(name("a1f3", {0, 1}), "a1f3") << "made of its ranks";
  std::vector<std::int32_t> odd;
  for (std::int32_t i = 0; i < 100; ++i) odd.push_back(i * i);
  const std::string hashed = name("3", odd);
  EXPECT_EQ(hashed.size(), 20U) << hashed;
  odd.back() += 1;
  EXPECT_NE(name("3", odd), hashed);
}

TEST_F(FlightRecorderEventsTest, AGroupThatDoesNotFitIntoOneEvent) {
  RecorderStory story;
  std::vector<std::int32_t> ranks;
  for (std::int32_t i = 0; i < 600; ++i) ranks.push_back(i * i);
  story.group("0", "odd", ranks);
  const auto all = events(story.dump, 4);
  std::string joined;
  std::size_t parts = 0;
  for (const Event& event : all) {
    if (event.kind != EventKind::group_seen) continue;
    ++parts;
    joined += (joined.empty() ? "" : ",") + std::string(event.field("ranks"));
  }
  EXPECT_GT(parts, 2U);
  EXPECT_EQ(std::count(joined.begin(), joined.end(), ','), 599);
}

TEST_F(FlightRecorderEventsTest, WithoutARankThereIsNothingToSay) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  story.collective(world, "nccl:all_reduce", scheduled, 1);
  const auto all = events(story.dump, 4711);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, EventKind::trace_read);
  EXPECT_EQ(all[0].subject.text(), "attempt:unknown#0");
  EXPECT_EQ(all[0].field("rank_conflict"), "1");
  EXPECT_EQ(counters_.get("flight_recorder_rank_conflicts_total"), 1U);
  EXPECT_EQ(counters_.get("flight_recorder_rank_unknown_total"), 1U);
}

TEST_F(FlightRecorderEventsTest, TheContentsOutweighTheName) {
  RecorderStory story;
  story.group("5", "tp", {2});
  const auto all = events(story.dump, 3);
  EXPECT_EQ(all[0].subject.text(), "rank:unknown#0/2");
  EXPECT_EQ(lines(all, "trace_read", {"rank_by", "rank_conflict"}),
            "trace_read rank_by=contents rank_conflict=1\n");
}

TEST_F(FlightRecorderEventsTest, TheOriginGivesAttemptAndNode) {
  RecorderStory story;
  story.group("0", "default_pg", {0, 1});
  Origin from = origin(1);
  from.attempt = AttemptId{"77", 2};
  from.node = "n3";
  const auto all = flight_recorder_events(story.dump, from, counters_);
  EXPECT_EQ(all[0].subject.text(), "rank:77#2/1@n3");
  EXPECT_EQ(all[0].attempt, (AttemptId{"77", 2}));
  EXPECT_EQ(all[0].clock, ClockDomain::none) << "no operation, no time";
}

TEST_F(FlightRecorderEventsTest, NamesThatCannotBePrinted) {
  RecorderStory story;
  const auto world = story.group("a\x1b[2J", "b\x01", {0, 1});
  story.collective(world, "nccl:all\x07", scheduled, 1);
  const auto all = events(story.dump, 0);
  for (const Event& event : all) {
    for (const auto& [name, value] : event.fields)
      EXPECT_EQ(value.find_first_of("\x1b\x01\x07"), std::string::npos) << name;
    EXPECT_EQ(event.raw.text.find_first_of("\x1b\x01\x07"), std::string::npos);
  }
}

// --- stacks ---

TEST_F(FlightRecorderEventsTest, TheInnermostLineOfTheProgramItself) {
  struct Case {
    std::vector<std::string> files;
    std::string frame;
  };
  const std::vector<Case> cases = {
      {{"/opt/env/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py",
        "/opt/env/lib/python3.12/site-packages/megatron/core/p2p.py", "/srv/a/train.py",
        "/srv/a/main.py"},
       "/srv/a/train.py:2 in f2"},
      {{"/usr/local/lib/python3.10/dist-packages/torch/_tensor.py",
        "/usr/lib/python3.10/contextlib.py", "/home/me/torch/train.py"},
       "/home/me/torch/train.py:2 in f2"},
      {{"/opt/pytorch/torch/nn/parallel/distributed.py", "??", "csrc/distributed/c10d/init.cpp",
        "<frozen runpy>", "/workspace/pretrain.py"},
       "/workspace/pretrain.py:4 in f4"},
      {{"/e/lib/python3.11/site-packages/torch/distributed/x.py",
        "/e/lib/python3.11/site-packages/lightning/strategy.py"},
       "/e/lib/python3.11/site-packages/lightning/strategy.py:1 in f1"},
      {{"/e/lib/python3.11/site-packages/torch/distributed/x.py"}, ""},
      {{"/e/site-packages/torch/utils/x.py", "<ipython-input-3>"}, "<ipython-input-3>:1 in f1"},
      {{}, ""},
  };
  for (const Case& one : cases) {
    RecorderStory story;
    const auto world = story.group("0", "default_pg", {0, 1});
    auto& entry = story.collective(world, "nccl:all_reduce", scheduled, 1);
    for (const auto& file : one.files) {
      const auto number = static_cast<std::int64_t>(entry.frames.size());
      entry.frames.push_back(story.frame("f" + std::to_string(number), file, number));
    }
    EXPECT_EQ(
        operations(story.dump, 0, {"frame"}),
        one.frame.empty() ? "operation_pending\n" : "operation_pending frame=" + one.frame + "\n");
  }
}

TEST_F(FlightRecorderEventsTest, AStackHasAsManyLinesAsFit) {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1});
  auto& entry = story.collective(world, "nccl:all_reduce", scheduled, 1);
  for (int i = 0; i < 30; ++i)
    entry.frames.push_back(story.frame("f", "/srv/" + std::string(90, 'x') + ".py", i));
  const auto all = events(story.dump, 0);
  const std::string stack(all.back().field("stack"));
  EXPECT_GT(stack.size(), 900U);
  EXPECT_TRUE(stack.ends_with(" in f")) << "no line is cut";
  EXPECT_EQ(std::count(stack.begin(), stack.end(), '\n'), 8);
}

}  // namespace
}  // namespace faultline
