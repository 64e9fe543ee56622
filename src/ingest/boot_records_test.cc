#include "ingest/boot_records.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class BootRecordsTest : public RecordTest {
 protected:
  std::vector<Event> events(const std::string& text, std::size_t chunk = 4096) {
    Origin origin = file_origin();
    origin.node = "n3";
    BootRecordsDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
};

const std::string boot =
    "reboot   system boot  5.15.0-91-generic Sat Nov 28 10:06   still running\n";
const std::string before = "reboot   system boot  5.15.0-91-generic Tue Nov 24 08:11 - crash\n";
const std::string down = "shutdown system down  5.15.0-91-generic Tue Nov 24 08:02 - 08:11\n";

TEST_F(BootRecordsTest, ABootBehindAnotherOne) {
  for (const std::size_t chunk : {4096U, 7U}) {
    const auto told = events(boot + before + down, chunk);
    ASSERT_EQ(briefs(told), Texts{"boot.unclean node:n3 @0"});
    EXPECT_EQ(to_text(told[0].observed_at), "2026-11-28T10:06:00.000000Z");
  }
}

TEST_F(BootRecordsTest, WithoutAnyShutdownNothingIsKnown) {
  EXPECT_TRUE(events(boot + before).empty());
  EXPECT_TRUE(events(boot + down).empty());
  EXPECT_TRUE(events(boot).empty()) << "nobody knows what came before";
}

TEST_F(BootRecordsTest, RowsOfLast) {
  EXPECT_EQ(boot_row(boot)->time, "Nov 28 10:06");
  EXPECT_FALSE(boot_row(down)->boot);
  EXPECT_EQ(boot_row("reboot   system boot  5.15.0 Sat Nov 28 10:06:31 2026   still running")->time,
            "Nov 28 10:06:31 2026");
  EXPECT_FALSE(boot_row("reboot   pts/0  10.1.2.3 Sat Nov 28 10:06   still logged in"));
  EXPECT_FALSE(boot_row("reboot   system boot  5.15.0-91-generic"));
}

TEST_F(BootRecordsTest, BootsOfTheJournal) {
  const std::string id = "0f0e0d0c0b0a09080706050403020100";
  for (const std::string between : {" UTC ", " UTC—"}) {
    const std::string line =
        " -1 " + id + " Tue 2026-11-24 08:11:02" + between + "Sat 2026-11-28 10:01:58 UTC";
    const auto told = journal_boot(line);
    ASSERT_TRUE(told) << line;
    EXPECT_EQ(told->first, "2026-11-24 08:11:02");
    EXPECT_EQ(told->last, "2026-11-28 10:01:58");
  }
  EXPECT_FALSE(journal_boot("IDX BOOT ID                          FIRST ENTRY"));
  EXPECT_FALSE(journal_boot("0 " + id));
  EXPECT_FALSE(journal_boot("0 0f0e Tue 2026-11-24 08:11:02 UTC Sat 2026-11-28 10:01:58 UTC"));
}

}  // namespace
}  // namespace faultline
