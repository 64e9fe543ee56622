#include "diagnose/printed_dates.h"

#include <gtest/gtest.h>

#include <string>

#include "diagnose/gather.h"
#include "ingest/line_time.h"

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
      copied_on, copied_on);
  EXPECT_EQ(dates.first, at("2025-01-10T15:27:25Z"));
  EXPECT_EQ(dates.last, dates.first);
  EXPECT_EQ(dates.last_yearless, at("2026-01-10T15:27:25.402Z"));
}

TEST(PrintedDates, SpansWhatStandsAtBothEnds) {
  const std::string middle(20'000, 'x');
  const auto dates = printed_dates("[Fri Jul 12 10:11:12 2024] a\n" + middle +
                                       "\n2024-07-13 01:00:00 b\n2024-07-12 23:00:00 late\n",
                                   copied_on, copied_on);
  EXPECT_EQ(dates.first, at("2024-07-12T10:11:12Z"));
  EXPECT_EQ(dates.last, at("2024-07-13T01:00:00Z"));
  EXPECT_FALSE(known(dates.last_yearless));
}

TEST(PrintedDates, NumbersThatAreNoDatesAreNone) {
  const auto dates = printed_dates(
      "120250110-15:27:25 2025-13-40T99:00:00 loss 20.2024\nlr 2024-07\n20", copied_on, copied_on);
  EXPECT_FALSE(known(dates.first));
  EXPECT_FALSE(known(dates.last_yearless));
  EXPECT_FALSE(known(printed_dates("", copied_on, copied_on).first));
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

constexpr std::string_view mixed =
    "2025-11-29 19:40:00,123 INFO step 10 loss 2.1\n"
    "[rank0]:[E1129 19:48:37.911929683 ProcessGroupNCCL.cpp:689] [Rank 0] timed out\n"
    "2025-11-29 19:49:00,123 INFO saving\n";

TEST(WrittenBefore, LinesThatBeginWithAYearTellItWhateverTheFilesTimeIs) {
  const Instant expected = at("2025-11-29T19:48:37.911929683Z");
  const Instant first = at("1980-01-01T00:00:00Z"), last = at("2033-01-01T00:00:00Z");
  for (Instant written = first; written < last; written += std::chrono::days{5}) {
    const PrintedDates dates = printed_dates(mixed, written, copied_on);
    const TimeReference reference{written_before(dates, written), {}};
    ASSERT_EQ(resolve_time(TimeForm::glog, "1129 19:48:37.911929683", reference).at, expected)
        << to_text(written);
  }
}

TEST(WrittenBefore, AFileThatIsOlderThanItsLinesWasTouched) {
  const std::string_view text = "2025-11-29 19:40:00,123 INFO step 10 loss 2.1\n";
  const Instant early = at("2024-03-01T00:00:00Z");
  EXPECT_GT(written_before(printed_dates(text, early, copied_on), early),
            at("2025-11-29T19:40:00Z"));
  const Instant before_then = at("2025-01-01T00:00:00Z");
  EXPECT_EQ(written_before(printed_dates(text, early, before_then), early), early)
      << "a date that is still to come is none";
}

TEST(WrittenBefore, AFilesTimeThatAgreesStays) {
  for (const std::string_view text :
       {"2025-11-29T20:00:00Z", "2025-11-29T00:00:00Z", "2026-05-20T00:00:00Z"}) {
    const Instant written = at(text);
    EXPECT_EQ(written_before(printed_dates(mixed, written, copied_on), written), written) << text;
  }
}

TEST(WrittenBefore, ALineWithAYearIsFoundInTheMiddle) {
  const std::string far(20'000, '\n');
  const std::string text = "W1129 09:31:02.100000 311 run.py:793] x\n" + far +
                           "2025-11-29 19:40:00,123 INFO step 10\n" + far + "\nend\n";
  EXPECT_EQ(printed_dates(text, copied_on, copied_on).last_stamp, at("2025-11-29T19:40:00.123Z"));
}

TEST(WrittenBefore, ADateOfAnotherSeasonIsNoneOfTheLog) {
  const auto written = at("2026-11-30T00:00:00Z");
  const std::string text = "2024-02-01 00:00:00 built\nW1129 09:31:02.100000 311 run.py:793] x\n";
  EXPECT_EQ(written_before(printed_dates(text, written, copied_on), written), written);
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
