#include "ingest/flight_recorder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fixtures/flight_recorder_story.h"
#include "tests/fixtures/flight_recorder_writer.h"

namespace faultline {
namespace {

using namespace std::string_literals;

std::string file(const std::string& name) {
  std::ifstream stream(FAULTLINE_SOURCE_DIR "/tests/fixtures/flight_recorder/" + name,
                       std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// One of everything.
FlightRecorderDump sample() {
  RecorderStory story;
  const auto world = story.group("0", "default_pg", {0, 1, 2, 3});
  const auto pipe = story.group("hash_5f2c", "pp", {1, 3});
  const auto inner = story.frame("all_reduce", "/opt/torch/distributed/distributed_c10d.py", 3068);
  const auto outer = story.frame("<module>", "/srv/jobs/train.py", 65);
  story.dump.statuses = {{0, 12, -1, 10}, {1, 3, 3, 2}};
  story.collective(world, "nccl:all_reduce", OperationState::completed, 1).frames = {inner, outer};
  auto& gather = story.collective(world, "nccl:_all_gather_base", OperationState::started, 2);
  gather.in_sizes = "[8,16],[4]";
  gather.out_sizes = "[]";
  gather.in_dtypes = "Float,BFloat16";
  gather.started = gather.created + std::chrono::milliseconds{1};
  gather.frames = {inner, outer, inner};
  auto& send = story.transfer(pipe, "nccl:send 0->1", OperationState::scheduled, 1);
  send.in_sizes = "";
  send.in_dtypes = "";
  send.timeout_ms = -1;
  return story.dump;
}

FlightRecorderDump without_offsets(FlightRecorderDump dump) {
  for (auto& group : dump.groups) group.offset = 0;
  for (auto& entry : dump.entries) entry.offset = 0;
  return dump;
}

class FlightRecorderTest : public testing::Test {
 protected:
  FlightRecorderDump read(const std::string& bytes) {
    auto dump = read_flight_recorder(bytes, counters_);
    EXPECT_TRUE(dump.ok()) << dump.error().message;
    return dump ? std::move(dump).value() : FlightRecorderDump{};
  }
  std::string trouble(const std::string& bytes) {
    const auto dump = read_flight_recorder(bytes, counters_);
    return dump ? "read" : std::string(to_text(dump.error().code)) + ": " + dump.error().message;
  }
  /// A dump with one entry, of which `write` tells the fields.
  RecorderEntry entry(const std::function<void(PicklePen&)>& write) {
    PicklePen pen;
    pen.begin_dict();
    pen.text("version"), pen.text("2.0");
    pen.text("entries");
    pen.begin_list();
    pen.begin_dict();
    pen.text("profiling_name"), pen.text("nccl:all_reduce");
    write(pen);
    pen.end();
    pen.end();
    pen.end();
    const auto dump = read(pen.finish());
    EXPECT_EQ(dump.entries.size(), 1U);
    return dump.entries.empty() ? RecorderEntry{} : dump.entries[0];
  }

  Counters counters_;
};

TEST_F(FlightRecorderTest, WhatIsWrittenIsRead) {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    EXPECT_EQ(without_offsets(read(flight_recorder_pickle(sample(), protocol))), sample())
        << protocol;
  }
  EXPECT_TRUE(counters_.snapshot().empty());
}

TEST_F(FlightRecorderTest, JsonSaysTheSameWithoutStacks) {
  FlightRecorderDump expected = sample();
  expected.frames.clear();
  for (auto& entry : expected.entries) entry.frames.clear();
  EXPECT_EQ(without_offsets(read(flight_recorder_json(sample()))), expected);
  EXPECT_TRUE(counters_.snapshot().empty());
}

TEST_F(FlightRecorderTest, OffsetsAreThoseOfTheFile) {
  const std::string json = flight_recorder_json(sample());
  const auto dump = read(json);
  ASSERT_EQ(dump.entries.size(), 3U);
  for (const auto& entry : dump.entries) {
    const std::string begin = "{\"record_id\":" + std::to_string(entry.record_id) + ",";
    EXPECT_EQ(json.substr(entry.offset, begin.size()), begin);
  }
  EXPECT_EQ(json.substr(dump.groups[1].offset, 19), "{\"name\":\"hash_5f2c\"");
}

TEST_F(FlightRecorderTest, ADumpOfPyTorch211) {
  const std::string bytes = file("hang/rank_0");
  const auto dump = read(bytes);
  EXPECT_TRUE(counters_.snapshot().empty());
  EXPECT_EQ(dump.version, "2.10");
  EXPECT_EQ(dump.comm_lib_version, "2.28.9");
  ASSERT_EQ(dump.groups.size(), 1U);
  EXPECT_EQ(dump.groups[0].name, "0");
  EXPECT_EQ(dump.groups[0].desc, "default_pg");
  EXPECT_EQ(dump.groups[0].ranks, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(dump.statuses, (std::vector<RecorderStatus>{{0, 12, -1, 10}}));
  ASSERT_EQ(dump.entries.size(), 12U);
  const RecorderEntry& last = dump.entries.back();
  EXPECT_EQ(last.record_id, 11);
  EXPECT_EQ(last.collective_seq_id, 12);
  EXPECT_EQ(last.profiling_name, "nccl:all_reduce");
  EXPECT_EQ(last.state, OperationState::scheduled);
  EXPECT_EQ(last.in_sizes, "429568");
  EXPECT_EQ(last.in_dtypes, "Float");
  EXPECT_EQ(last.timeout_ms, 10'000);
  EXPECT_FALSE(last.retired);
  EXPECT_FALSE(known(last.completed));
  EXPECT_TRUE(known(dump.entries[0].completed));
  EXPECT_EQ(bytes[last.offset], '}');
  ASSERT_EQ(last.frames.size(), 3U);
  EXPECT_EQ(dump.frames[last.frames[2]],
            (RecorderFrame{"<module>", "/srv/jobs/ddp-smol/train.py", 65}));
  EXPECT_EQ(dump.frames.size(), 3U);
}

TEST_F(FlightRecorderTest, ARankThatDidNothingYet) {
  FlightRecorderDump empty;
  empty.version = "2.4";
  for (const auto& bytes : {flight_recorder_pickle(empty), flight_recorder_json(empty)})
    EXPECT_EQ(read(bytes), empty);
}

// --- older spellings ---

TEST_F(FlightRecorderTest, AGroupKnownByItsNumberAlone) {
  const auto old = entry([](PicklePen& pen) { pen.text("pg_id"), pen.integer(7); });
  EXPECT_EQ(old.pg_id, 7);
  PicklePen pen;
  pen.begin_dict();
  pen.text("version"), pen.text("2.0");
  pen.text("pg_config");
  pen.begin_dict();
  pen.text("7");
  pen.begin_dict();
  pen.text("ranks");
  pen.begin_list();
  for (const int rank : {4, 5, 6}) pen.integer(rank);
  pen.end();
  pen.end();
  pen.end();
  pen.text("entries");
  pen.begin_list();
  pen.begin_dict();
  pen.text("pg_id"), pen.integer(7);
  pen.text("profiling_name"), pen.text("nccl:broadcast");
  pen.end();
  pen.end();
  pen.end();
  const auto dump = read(pen.finish());
  ASSERT_EQ(dump.groups.size(), 1U);
  EXPECT_EQ(dump.groups[0].name, "7");
  EXPECT_EQ(dump.groups[0].ranks, (std::vector<std::int32_t>{4, 5, 6}));
  ASSERT_EQ(dump.entries.size(), 1U);
  EXPECT_EQ(dump.entries[0].group, 0U);
}

TEST_F(FlightRecorderTest, OneNumberForAllOperations) {
  const auto old = entry([](PicklePen& pen) {
    pen.text("seq_id"), pen.integer(9);
    pen.text("time_created_us"), pen.integer(1'795'981'706'966'081);
    pen.text("process_group"), pen.text("tp0");
  });
  EXPECT_EQ(old.collective_seq_id, 9);
  EXPECT_EQ(old.p2p_seq_id, -1);
  EXPECT_EQ(old.created, Instant{Duration{1'795'981'706'966'081'000}});
}

TEST_F(FlightRecorderTest, OneShapeInsteadOfAListOfShapes) {
  const auto old = entry([](PicklePen& pen) {
    pen.text("input_sizes");
    pen.begin_list();
    pen.integer(8), pen.integer(16);
    pen.end();
  });
  EXPECT_EQ(old.in_sizes, "[8,16]");
}

TEST_F(FlightRecorderTest, TransfersAreKnownByTheirName) {
  const auto old =
      entry([](PicklePen& pen) { pen.text("profiling_name"), pen.text("nccl:recv 3<-0"); });
  EXPECT_TRUE(old.is_p2p);
  EXPECT_FALSE(entry([](PicklePen&) {}).is_p2p);
}

TEST_F(FlightRecorderTest, AStateThatIsNotSaidFollowsFromTheTimes) {
  const auto at = [this](const char* key) {
    return entry([key](PicklePen& pen) { pen.text(key), pen.integer(1'795'981'706'966'081'304); })
        .state;
  };
  EXPECT_EQ(at("time_discovered_completed_ns"), OperationState::completed);
  EXPECT_EQ(at("time_discovered_started_ns"), OperationState::started);
  EXPECT_EQ(at("time_created_ns"), OperationState::scheduled);
  EXPECT_TRUE(counters_.snapshot().empty());
  const auto other = entry([](PicklePen& pen) { pen.text("state"), pen.text("lost"); });
  EXPECT_EQ(other.state, OperationState::scheduled);
  EXPECT_EQ(counters_.get("flight_recorder_odd_values_total"), 1U);
}

TEST_F(FlightRecorderTest, EntriesAloneAreADump) {
  PicklePen pen;
  pen.begin_list();
  pen.begin_dict();
  pen.text("profiling_name"), pen.text("nccl:all_reduce");
  pen.end();
  pen.end();
  EXPECT_EQ(read(pen.finish()).entries.size(), 1U);
}

// --- newer and odd ones ---

TEST_F(FlightRecorderTest, WhatIsNotKnownIsSkippedAndCounted) {
  PicklePen pen;
  pen.begin_dict();
  pen.text("version"), pen.text("2.42");
  pen.text("pg_config"), pen.begin_dict(), pen.end();
  pen.text("weather"), pen.text("fine");
  pen.text("nccl_comm_state"), pen.begin_dict(), pen.end();
  pen.text("entries");
  pen.begin_list();
  pen.begin_dict();
  pen.text("profiling_name"), pen.text("nccl:all_reduce");
  pen.text("mood"), pen.none();
  pen.text("duration_ms"), pen.integer(3);
  pen.end();
  pen.integer(5);
  pen.end();
  pen.end();
  EXPECT_EQ(read(pen.finish()).entries.size(), 1U);
  EXPECT_EQ(counters_.get("flight_recorder_unknown_fields_total"), 2U);
  EXPECT_EQ(counters_.get("flight_recorder_odd_values_total"), 1U);
}

TEST_F(FlightRecorderTest, AWrongTypeIsAsIfItWereNotThere) {
  const auto odd = entry([](PicklePen& pen) {
    pen.text("record_id"), pen.begin_list(), pen.end();
    pen.text("timeout_ms"), pen.text("soon");
    pen.text("input_sizes"), pen.text("many");
    pen.text("frames");
    pen.begin_list();
    pen.integer(1);
    pen.end();
  });
  EXPECT_EQ(odd.record_id, -1);
  EXPECT_EQ(odd.timeout_ms, -1);
  EXPECT_EQ(odd.in_sizes, "");
  EXPECT_TRUE(odd.frames.empty());
  EXPECT_EQ(counters_.get("flight_recorder_odd_values_total"), 4U);
}

TEST_F(FlightRecorderTest, SizesThatAreTooLongAreAnElementCount) {
  const auto wide = entry([](PicklePen& pen) {
    pen.text("input_sizes");
    pen.begin_list();
    for (int i = 0; i < 100; ++i) pen.begin_list(), pen.integer(1024), pen.integer(2), pen.end();
    pen.end();
    pen.text("input_dtypes");
    pen.begin_list();
    for (int i = 0; i < 100; ++i) pen.text("Float");
    pen.end();
  });
  EXPECT_EQ(wide.in_sizes, "204800");
  EXPECT_EQ(wide.in_dtypes, "Float");
}

TEST_F(FlightRecorderTest, OtherDataIsNoDump) {
  PicklePen pen;
  pen.begin_dict();
  pen.text("lr"), pen.integer(1);
  pen.end();
  for (const std::string& bytes : {pen.finish(), "{\"lr\": 1}"s, "[]"s, "[1]"s, "N."s, "I1\n."s})
    EXPECT_EQ(trouble(bytes), "invalid_argument: not a flight-recorder dump");
  EXPECT_TRUE(trouble("").starts_with("corrupt"));
  EXPECT_TRUE(trouble("step 12 loss 2.3").starts_with("corrupt")) << "'s' is an opcode";
}

TEST_F(FlightRecorderTest, AnotherMajorVersionIsNotGuessedAt) {
  FlightRecorderDump dump = sample();
  dump.version = "3.0";
  EXPECT_EQ(trouble(flight_recorder_pickle(dump)),
            "invalid_argument: a flight-recorder dump of version 3.0; versions up to 2.x are read");
  dump.version = "2.999";
  EXPECT_EQ(trouble(flight_recorder_pickle(dump)), "read");
}

TEST_F(FlightRecorderTest, CutAtAnyByteItIsAnError) {
  for (const std::string& whole :
       {file("hang/rank_1"), flight_recorder_pickle(sample(), 5), flight_recorder_json(sample())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<char> part(whole.begin(),
                                   whole.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(read_flight_recorder({part.data(), part.size()}, counters_).ok()) << size;
    }
  }
}

// --- what a small file may make of itself ---

TEST_F(FlightRecorderTest, OfTooManyOperationsTheNewestAreKept) {
  RecorderStory story;
  const auto group = story.group("0", "", {0});
  for (int i = 0; i < 10; ++i)
    story.collective(group, "nccl:all_reduce", OperationState::completed, i);
  std::string bytes = flight_recorder_pickle(story.dump);
  EXPECT_EQ(read(bytes).entries_left_out, 0U);
  // A list that refers to one entry again and again.
  std::string bomb = "\x80\x02](}(X\x0e\x00\x00\x00profiling_nameX\x02\x00\x00\x00:xuq\x00"s;
  for (std::size_t i = 0; i < recorder_entries_max; ++i) bomb += "h\x00"s;
  const auto dump = read(bomb + "e.");
  EXPECT_EQ(dump.entries.size(), recorder_entries_max);
  EXPECT_EQ(dump.entries_left_out, 1U);
}

TEST_F(FlightRecorderTest, StacksAreBounded) {
  const auto deep = entry([](PicklePen& pen) {
    pen.text("frames");
    pen.begin_list();
    for (int i = 0; i < 200; ++i) pen.begin_dict(), pen.text("line"), pen.integer(i), pen.end();
    pen.end();
  });
  EXPECT_EQ(deep.frames.size(), recorder_stack_frames_max);
  EXPECT_EQ(counters_.get("flight_recorder_left_out_total"), 72U);
}

TEST_F(FlightRecorderTest, PartsThatAreReferredToFromEverywhereAreNotWalkedForEver) {
  // 60,000 operations that share one list of 60,000 shapes.
  std::string bomb = "\x80\x02]q\x00(K\x01\x85q\x01"s;
  for (int i = 0; i < 60'000; ++i) bomb += "h\x01"s;
  bomb +=
      "e0](}(X\x0e\x00\x00\x00profiling_nameX\x02\x00\x00\x00:xX\x0b\x00\x00\x00input_sizesh"
      "\x00uq\x02"s;
  for (int i = 0; i < 60'000; ++i) bomb += "h\x02"s;
  EXPECT_EQ(trouble(bomb + "e."),
            "exhausted: it refers to its parts more often than the limit allows");
}

TEST_F(FlightRecorderTest, RanksAndGroupsAreBounded) {
  PicklePen pen;
  pen.begin_dict();
  pen.text("version"), pen.text("2.4");
  pen.text("pg_config");
  pen.begin_dict();
  std::string ranks = "[0";
  for (int i = 1; i < 5000; ++i) ranks += ", " + std::to_string(i);
  ranks += "]";
  for (std::size_t i = 0; i < recorder_groups_max + 10; ++i) {
    pen.text("group" + std::to_string(i));
    pen.begin_dict();
    pen.text("ranks"), pen.text(ranks);
    pen.end();
  }
  pen.end();
  pen.end();
  const auto dump = read(pen.finish());
  EXPECT_EQ(dump.groups.size(), recorder_groups_max);
  std::size_t total = 0;
  for (const auto& group : dump.groups) total += group.ranks.size();
  EXPECT_EQ(total, recorder_ranks_max);
  EXPECT_GE(counters_.get("flight_recorder_left_out_total"), 10U);
}

TEST_F(FlightRecorderTest, APickleThatWantsToActIsRefused) {
  std::string bytes = flight_recorder_pickle(sample());
  bytes.insert(bytes.size() - 1, "cos\nsystem\nX\x02\x00\x00\x00id\x85R"s);
  EXPECT_NE(trouble(bytes).find("(GLOBAL)"), std::string::npos) << trouble(bytes);
}

}  // namespace
}  // namespace faultline
