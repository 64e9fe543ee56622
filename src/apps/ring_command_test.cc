#include "apps/ring_command.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/output.h"
#include "base/small_file.h"

namespace faultline {
namespace {

using testing::HasSubstr;
using testing::Not;

RingTime at_second(int second) {
  const Duration time = std::chrono::seconds{second};
  return {true, time, Instant{std::chrono::seconds{1'790'000'000} + time}};
}

RingView stuck() {
  RingView view;
  view.path = "x.ring";
  view.life = WriterLife::stopped;
  view.until = at_second(100);
  view.ring.identity.host = "n12";
  view.ring.identity.pid = 4242;
  view.ring.identity.rank = 3;
  view.ring.state = "active";
  view.ring.disabled_reason = "none";
  RingCommunicator data;
  data.name = "DATA_PARALLEL";
  data.started = 2;
  data.finished = 1;
  RingOperation hangs;
  hangs.kind = "all_reduce";
  hangs.sequence = 300;
  hangs.phase = OperationPhase::running;
  hangs.channels = 8;
  hangs.channels_started = 3;
  hangs.started = at_second(58);
  data.in_flight.push_back(hangs);
  RingOperation over = hangs;
  over.sequence = 299;
  over.phase = OperationPhase::over;
  over.outcome = "done";
  over.ended = at_second(59);
  data.completed.push_back(over);
  view.ring.communicators.push_back(data);
  RingPeer peer;
  peer.rank = 4;
  peer.waits[1].open = 1;
  peer.waits[1].open_since = at_second(60);
  view.ring.peers.push_back(peer);
  return view;
}

TEST(RingCommandTest, SaysWhatIsInFlightForHowLongAndForWhom) {
  const std::string text = ring_text(stuck(), false);
  EXPECT_THAT(text, HasSubstr("pid 4242 on n12, stopped"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "DATA_PARALLEL +all_reduce +300 .*42\\.0 s .*running, 3 of 8 channels began"));
  EXPECT_THAT(text, testing::ContainsRegex("DATA_PARALLEL +all_reduce +299 .*done"));
  EXPECT_THAT(text, testing::ContainsRegex("DATA_PARALLEL +4 +send_credit +1 +40\\.0 s"));
  EXPECT_THAT(text, Not(HasSubstr("not recorded")));
  EXPECT_THAT(text, Not(HasSubstr("made sense of")));
}

TEST(RingCommandTest, SaysWhatIsMissingAndWhatMadeNoSense) {
  RingView view = stuck();
  view.ring.communicators.clear();
  view.ring.state = "disabled";
  view.ring.disabled_reason = "foreign_header";
  view.ring.drops["operations"] = 7;
  view.ring.problems["torn"] = 2;
  const std::string text = ring_text(view, false);
  for (const char* words : {"no communicators", "nothing in flight", "disabled: foreign_header",
                            "not recorded by the writer: 7 operations", "made sense of: 2 torn"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(RingCommandTest, JsonHasNullForWhatIsNotKnown) {
  const auto json = ring_json(stuck());
  EXPECT_EQ(json["process"], "stopped");
  EXPECT_EQ(json["identity"]["rank"], 3);
  EXPECT_TRUE(json["identity"]["local_rank"].is_null());
  const auto& operation = json["communicators"][0]["in_flight"][0];
  EXPECT_EQ(operation["in_flight_s"], 42.0);
  EXPECT_TRUE(operation["ended"].is_null());
  EXPECT_EQ(json["peers"][0]["waits"]["send_credit"]["open_s"], 40.0);
}

TEST(RingCommandTest, WhatCannotBeReadIsSaid) {
  const auto file = std::filesystem::temp_directory_path() / "no-black-box.ring";
  ASSERT_TRUE(write_small_file(file, "too short", false).ok());
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_EQ(ring_main({{file.string()}, false, false}), exit_failed);
  EXPECT_EQ(ring_main({{"/no/such.ring"}, false, false}), exit_not_found);
  testing::internal::GetCapturedStdout();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("shorter than the head of a black box"));
  EXPECT_THAT(said, HasSubstr("/no/such.ring"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace faultline
