#include "ingest/sinfo_reasons.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/decoder_fixture.h"
#include "tests/fixtures/event_lines.h"

namespace faultline {
namespace {

class SinfoReasons : public DecoderTest {
 protected:
  std::string lines_of(const std::string& text) {
    Origin origin;
    origin.source = EventSource::scheduler;
    origin.path = "sinfo.txt";
    origin.utc_offset = std::chrono::hours{1};
    auto events = decode_sinfo_reasons(text, origin, counters_, database(EventSource::scheduler));
    error_ = events ? "" : events.error().message;
    events_ = events ? std::move(events).value() : std::vector<Event>{};
    return event_lines(events_, {"state", "down", "drained", "reason", "owner", "reason_cut"});
  }
  std::string error_;
  std::vector<Event> events_;
};

TEST_F(SinfoReasons, ItsOwnColumns) {
  EXPECT_EQ(lines_of("REASON               USER      TIMESTAMP           NODELIST\n"
                     "Not responding       slurm     2026-11-29T21:18:32 n[3-4]\n"
                     "Kill task failed     root      2026-11-29T21:20:00 n7\n"
                     "fan is loud          ann       Unknown             n9\n"),
            "2026-11-29T20:18:32 node_seen node:n3 down=true drained=false owner=slurm reason=Not "
            "responding state=DOWN\n"
            "2026-11-29T20:18:32 reason.notresp node:n3\n"
            "2026-11-29T20:18:32 node_seen node:n4 down=true drained=false owner=slurm reason=Not "
            "responding state=DOWN\n"
            "2026-11-29T20:18:32 reason.notresp node:n4\n"
            "2026-11-29T20:20:00 node_seen node:n7 owner=root reason=Kill task failed\n"
            "2026-11-29T20:20:00 reason.killtask node:n7\n"
            "- node_seen node:n9 owner=ann reason=fan is loud\n");
  EXPECT_EQ(events_[4].raw.offset, 118U) << "its own line";
  EXPECT_EQ(events_[4].raw.text, "Kill task failed root 2026-11-29T21:20:00 n7");
}

TEST_F(SinfoReasons, TheLongForm) {
  EXPECT_EQ(
      lines_of("Sun Nov 29 21:30:00 2026\n"
               "REASON               USER         TIMESTAMP           STATE  NODELIST\n"
               "Not responding       slurm(64030) 2026-11-29T21:18:32 down*  n3\n"
               "Kill task failed     root(0)      2026-11-29T21:18:32 drng   n[4-5]\n"),
      "2026-11-29T20:18:32 node_seen node:n3 down=true drained=false owner=slurm reason=Not "
      "responding state=DOWN+NOT_RESPONDING\n"
      "2026-11-29T20:18:32 reason.notresp node:n3\n"
      "2026-11-29T20:18:32 node_seen node:n4 down=false drained=true owner=root reason=Kill task "
      "failed state=DRAINING\n"
      "2026-11-29T20:18:32 reason.killtask node:n4\n"
      "2026-11-29T20:18:32 node_seen node:n5 down=false drained=true owner=root reason=Kill task "
      "failed state=DRAINING\n"
      "2026-11-29T20:18:32 reason.killtask node:n5\n");
}

TEST_F(SinfoReasons, AReasonThatWasCutIsCompletedWhereItCanOnlyBeOne) {
  EXPECT_EQ(lines_of("REASON               USER      TIMESTAMP           NODELIST\n"
                     "gres/gpu count repor slurm     2026-11-29T21:18:32 n3\n"
                     "gres/gpu counting is slurm     2026-11-29T21:18:32 n4\n"
                     "gres/gpu count repo  slurm     2026-11-29T21:18:32 n5\n"),
            "2026-11-29T20:18:32 node_seen node:n3 owner=slurm reason=gres/gpu count reported "
            "lower than configured reason_cut=1\n"
            "2026-11-29T20:18:32 reason.gres node:n3\n"
            "2026-11-29T20:18:32 node_seen node:n4 owner=slurm reason=gres/gpu counting is "
            "reason_cut=1\n"
            "2026-11-29T20:18:32 node_seen node:n5 owner=slurm reason=gres/gpu count repo\n");
}

TEST_F(SinfoReasons, AnyColumnsInAnyOrder) {
  const std::string expected =
      "2026-11-29T20:18:32 node_seen node:n3 down=false drained=true owner=ann reason=fan | is "
      "loud state=DRAINED\n";
  EXPECT_EQ(lines_of("HOSTNAMES|STATE|REASON|USER|TIMESTAMP\n"
                     "n3|drained|fan | is loud|ann|2026-11-29T21:18:32\n"),
            expected);
  EXPECT_EQ(lines_of("STATE NODELIST USER REASON TIMESTAMP\r\n"
                     "drained n3 ann fan | is loud 2026-11-29T21:18:32\r\n"),
            expected);
}

TEST_F(SinfoReasons, RowsThatAreNoneAreCounted) {
  EXPECT_EQ(lines_of("REASON               USER      TIMESTAMP           NODELIST\n"
                     "n3\n"
                     "fan is loud          ann       2026-11-29T21:18:32 n[3-\n"
                     "fan is loud          ann       2026-11-29T21:18:32 ;reboot\n"),
            "");
  EXPECT_EQ(counters_.get("sinfo_rows_bad_total"), 3U);
  EXPECT_EQ(lines_of("Not responding       slurm     2026-11-29T21:18:32 n3\n"), "");
  EXPECT_NE(error_.find("sinfo -R"), std::string::npos);
  EXPECT_EQ(lines_of("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"), "");
  EXPECT_NE(error_, "");
}

}  // namespace
}  // namespace faultline
