#include "ingest/line_time.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace faultline {
namespace {

Instant at(std::string_view text) { return parse_instant(text).value_or(Instant{}); }

std::string resolved(TimeForm form, std::string_view text, const TimeReference& reference) {
  const LineTime time = resolve_time(form, text, reference);
  return to_text(time.at) + (time.suspect ? " suspect" : "");
}

class LineTimes : public testing::Test {
 protected:
  std::string operator()(TimeForm form, std::string_view text) const {
    return resolved(form, text, reference_);
  }
  TimeReference reference_{at("2026-03-01T12:00:00Z"), at("2026-02-20T00:00:00Z"), Duration{0}};
};

TEST_F(LineTimes, KernelTimesCountFromBoot) {
  EXPECT_EQ((*this)(TimeForm::kernel_micros, "5678901"), "2026-02-20T00:00:05.678901Z");
  EXPECT_EQ((*this)(TimeForm::kernel_seconds, "901.25"), "2026-02-20T00:15:01.250000Z");
}

TEST_F(LineTimes, WithoutABootTimeTheyAreUnknownAndNotWrong) {
  reference_.boot = {};
  EXPECT_EQ((*this)(TimeForm::kernel_micros, "5678901"), "-");
  EXPECT_EQ((*this)(TimeForm::kernel_seconds, "901.25"), "-");
  EXPECT_EQ(time_since_boot(TimeForm::kernel_seconds, "901.25"),
            std::chrono::milliseconds{901'250});
}

TEST_F(LineTimes, ReadsEveryForm) {
  EXPECT_EQ((*this)(TimeForm::ctime, "Wed Nov  5 11:20:01 2025"), "2025-11-05T11:20:01.000000Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-02-11T03:21:44,283302+00:00"),
            "2025-02-11T03:21:44.283302Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-02-11 03:21:44"), "2025-02-11T03:21:44.000000Z");
  EXPECT_EQ((*this)(TimeForm::month_day, "Feb 28 09:14:02"), "2026-02-28T09:14:02.000000Z");
  EXPECT_EQ((*this)(TimeForm::month_day, "Feb  2 09:14:02.5"), "2026-02-02T09:14:02.500000Z");
  EXPECT_EQ((*this)(TimeForm::glog, "205 18:11:06.375750231"), "2026-02-05T18:11:06.375750Z");
  EXPECT_EQ((*this)(TimeForm::glog, "1129 19:50:15.346000"), "2025-11-29T19:50:15.346000Z");
  EXPECT_EQ((*this)(TimeForm::month_day_year, "Nov 05 2024 14:44:42"),
            "2024-11-05T14:44:42.000000Z");
  EXPECT_EQ((*this)(TimeForm::month_day_year, "Feb 30 2024 14:44:42"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::clock, "11:58:03.102"), "2026-03-01T11:58:03.102000Z");
  EXPECT_EQ((*this)(TimeForm::unix_seconds, "1772366283.5"), "2026-03-01T11:58:03.500000Z");
  EXPECT_EQ((*this)(TimeForm::none, ""), "-");
}

TEST_F(LineTimes, ADateWithoutYearIsTheLatestThatIsNotToCome) {
  EXPECT_EQ((*this)(TimeForm::month_day, "Mar  1 23:00:00"),
            "2026-03-01T23:00:00.000000Z");  // a day of slack
  EXPECT_EQ((*this)(TimeForm::month_day, "Mar  3 00:00:00"), "2025-03-03T00:00:00.000000Z");
  EXPECT_EQ((*this)(TimeForm::month_day, "Dec 31 23:59:59"), "2025-12-31T23:59:59.000000Z");
  reference_.written_before = at("2026-12-31T23:59:59Z");
  EXPECT_EQ((*this)(TimeForm::month_day, "Jan  1 00:00:01"), "2027-01-01T00:00:01.000000Z");
}

TEST_F(LineTimes, TheTwentyNinthOfFebruaryIsOfTheLastLeapYear) {
  EXPECT_EQ((*this)(TimeForm::month_day, "Feb 29 10:00:00"), "2024-02-29T10:00:00.000000Z");
}

TEST_F(LineTimes, ATimeOfDayStillToComeIsYesterdays) {
  EXPECT_EQ((*this)(TimeForm::clock, "12:04:00"), "2026-03-01T12:04:00.000000Z");
  EXPECT_EQ((*this)(TimeForm::clock, "17:58:03"), "2026-02-28T17:58:03.000000Z");
}

TEST_F(LineTimes, LocalTimesAreMovedByTheOffsetAndOthersAreNot) {
  reference_.utc_offset = std::chrono::hours{2};
  EXPECT_EQ((*this)(TimeForm::month_day, "Feb 28 09:14:02"), "2026-02-28T07:14:02.000000Z");
  EXPECT_EQ((*this)(TimeForm::ctime, "Wed Nov  5 11:20:01 2025"), "2025-11-05T09:20:01.000000Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-02-11T03:21:44.5"), "2025-02-11T01:21:44.500000Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-02-11T03:21:44+01:00"), "2025-02-11T02:21:44.000000Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-02-11T03:21:44Z"), "2025-02-11T03:21:44.000000Z");
  EXPECT_EQ((*this)(TimeForm::clock, "13:58:03"), "2026-03-01T11:58:03.000000Z");
}

TEST_F(LineTimes, AbsurdTimesAreSuspectAndNothingElse) {
  EXPECT_EQ((*this)(TimeForm::iso, "9999-12-31T23:59:59Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::iso, "2038-01-19T03:14:08Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::iso, "1970-01-01T00:00:00Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::iso, "0000-00-00T00:00:00Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::iso, "2025-13-41T27:00:00Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::ctime, "Thu Jan  1 00:00:00 1970"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::ctime, "Wed Feb 30 11:20:01 2025"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::month_day, "Xxx 31 09:14:02"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::month_day, "Feb 31 09:14:02"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::glog, "9999 99:99:99"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::clock, "29:58:03"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::kernel_micros, "18446744073709551615"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::unix_seconds, "9999999999.999999"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::unix_seconds, "0000000000.000000"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::kernel_seconds, "9999999999.999999999"), "- suspect");
}

TEST_F(LineTimes, ATimeSinceBootLongerThanAMachineRunsIsNone) {
  EXPECT_EQ(time_since_boot(TimeForm::kernel_micros, "9223372036854775807"), std::nullopt);
  EXPECT_EQ(time_since_boot(TimeForm::kernel_seconds, "9999999999.0"), std::nullopt);
  EXPECT_EQ(time_since_boot(TimeForm::iso, "2025-02-11T03:21:44Z"), std::nullopt);
}

TEST_F(LineTimes, Year2038IsATimeLikeAnyOtherOnceItIsNear) {
  reference_.written_before = at("2038-02-01T00:00:00Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2038-01-19T03:14:08Z"), "2038-01-19T03:14:08.000000Z");
  EXPECT_EQ((*this)(TimeForm::month_day, "Jan 19 03:14:08"), "2038-01-19T03:14:08.000000Z");
}

TEST_F(LineTimes, ALineIsNotWrittenAfterItWasRead) {
  reference_.written_before = at("2026-11-30T08:00:00Z");
  // A zone that was not told, or a clock that runs ahead: up to a day is believed.
  EXPECT_EQ((*this)(TimeForm::iso, "2026-12-01T08:00:00Z"), "2026-12-01T08:00:00.000000Z");
  EXPECT_EQ((*this)(TimeForm::iso, "2026-12-01T08:00:01Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::iso, "2027-11-30T08:00:00Z"), "- suspect");
  EXPECT_EQ((*this)(TimeForm::ctime, "Tue Nov 30 08:00:00 2027"), "- suspect");
  // Without a year it is the one before.
  EXPECT_EQ((*this)(TimeForm::month_day, "Dec  2 08:00:00"), "2025-12-02T08:00:00.000000Z");
}

TEST_F(LineTimes, NoTextMakesThemFail) {
  Rng rng(3);
  static constexpr std::string_view letters = "0123456789:.-+TZ ,JanWed";
  for (int round = 0; round < 100'000; ++round) {
    std::string text;
    for (std::uint64_t length = rng.below(30); length > 0; --length)
      text += letters[rng.below(letters.size())];
    for (int form = 0; form <= static_cast<int>(TimeForm::clock); ++form) {
      resolve_time(static_cast<TimeForm>(form), text, reference_);
    }
  }
}

}  // namespace
}  // namespace faultline
