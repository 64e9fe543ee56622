#include "diagnose/printed_dates.h"

#include <gtest/gtest.h>

#include <string>

#include "diagnose/gather.h"

namespace faultline {
namespace {

Instant at(std::string_view text) {
  const auto instant = parse_instant(text);
  EXPECT_TRUE(instant) << text;
  return instant.value_or(Instant{});
}

const Instant copied_on = at("2026-12-01T00:00:00Z");

TEST(PrintedDates, ADateWithAYearIsFoundAnywhereInALine) {
  const auto dates = printed_dates(
      "W0110 15:27:25.402000 311 api.py:704] shutting down\n"
      "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2025-01-10T15:27:25 DUE TO TIME LIMIT ***\n",
      copied_on);
  EXPECT_EQ(dates.first, at("2025-01-10T15:27:25Z"));
  EXPECT_EQ(dates.last, dates.first);
  EXPECT_EQ(dates.last_yearless, at("2026-01-10T15:27:25.402Z"));
}

TEST(PrintedDates, SpansWhatStandsAtBothEnds) {
  const std::string middle(20'000, 'x');
  const auto dates = printed_dates("[Fri Jul 12 10:11:12 2024] a\n" + middle +
                                       "\n2024-07-13 01:00:00 b\n2024-07-12 23:00:00 late\n",
                                   copied_on);
  EXPECT_EQ(dates.first, at("2024-07-12T10:11:12Z"));
  EXPECT_EQ(dates.last, at("2024-07-13T01:00:00Z"));
  EXPECT_FALSE(known(dates.last_yearless));
}

TEST(PrintedDates, NumbersThatAreNoDatesAreNone) {
  const auto dates = printed_dates(
      "120250110-15:27:25 2025-13-40T99:00:00 loss 20.2024\nlr 2024-07\n20", copied_on);
  EXPECT_FALSE(known(dates.first));
  EXPECT_FALSE(known(dates.last_yearless));
  EXPECT_FALSE(known(printed_dates("", copied_on).first));
}

TEST(WrittenBefore, AFileAsItsWriterLeftItKeepsItsTime) {
  const auto written = at("2026-01-11T00:00:00Z");  // within a day of its last line
  const PrintedDates dates{at("2019-01-01T00:00:00Z"), at("2019-01-01T00:00:00Z"),
                           at("2026-01-10T15:00:00Z")};
  EXPECT_EQ(written_before(dates, written), written);
}

TEST(WrittenBefore, ACopyIsAsOldAsItsOwnDates) {
  PrintedDates dates{at("2025-01-10T15:00:00Z"), at("2025-01-10T15:00:00Z"),
                     at("2026-01-10T15:00:00Z")};
  EXPECT_LT(written_before(dates, copied_on), at("2026-01-10T00:00:00Z"));
  EXPECT_GT(written_before(dates, copied_on), at("2025-01-11T00:00:00Z"));
  dates = {{}, {}, at("2026-01-10T15:00:00Z")};
  EXPECT_EQ(written_before(dates, copied_on), copied_on) << "nothing says another year";
}

/// A file of one event, at its last time.
void add_file(Gathered& gathered, const PrintedDates& dates, Instant observed) {
  ReadFile read;
  read.file.modified = copied_on;
  read.dates = dates;
  read.held = 1;
  gathered.files.push_back(read);
  Event event;
  event.observed_at = observed;
  gathered.events.push_back(event);
}

TEST(SettleYears, ACopyWithoutAnyYearGoesToWhereTheOthersAre) {
  Gathered gathered;
  const Instant syslog = at("2026-07-12T10:11:00Z");
  add_file(gathered, {{}, {}, syslog}, syslog);
  add_file(gathered, {at("2024-07-11T00:00:00Z"), at("2024-07-12T10:12:00Z"), {}},
           at("2024-07-12T10:12:00Z"));
  settle_years(gathered, copied_on);
  EXPECT_EQ(gathered.events[0].observed_at, at("2024-07-12T10:11:00Z"));
  EXPECT_EQ(gathered.events[1].observed_at, at("2024-07-12T10:12:00Z"));
}

TEST(SettleYears, ADumpsOwnTimesAreDatesToo) {
  Gathered gathered;
  const Instant syslog = at("2026-02-28T10:11:00Z");
  add_file(gathered, {{}, {}, syslog}, syslog);
  add_file(gathered, {}, at("2024-02-28T10:12:00Z"));
  settle_years(gathered, copied_on);
  EXPECT_EQ(gathered.events[0].observed_at, at("2024-02-28T10:11:00Z"));
}

TEST(SettleYears, NothingMovesWhereNoOtherFileIsNear) {
  Gathered gathered;
  const Instant syslog = at("2026-07-12T10:11:00Z");
  add_file(gathered, {{}, {}, syslog}, syslog);
  add_file(gathered, {at("2024-04-01T00:00:00Z"), at("2024-04-01T00:00:00Z"), {}},
           at("2024-04-01T00:00:00Z"));
  settle_years(gathered, copied_on);
  EXPECT_EQ(gathered.events[0].observed_at, syslog);
}

TEST(SettleYears, TheYearThatIsRightStays) {
  Gathered gathered;
  const Instant syslog = at("2026-07-12T10:11:00Z");
  add_file(gathered, {{}, {}, syslog}, syslog);
  add_file(gathered, {at("2025-07-12T10:11:00Z"), at("2025-07-12T10:11:00Z"), {}}, {});
  add_file(gathered, {at("2026-07-12T10:11:00Z"), at("2026-07-12T10:11:00Z"), {}}, {});
  settle_years(gathered, copied_on);
  EXPECT_EQ(gathered.events[0].observed_at, syslog);
}

}  // namespace
}  // namespace faultline
