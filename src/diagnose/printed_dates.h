// The year of times that leave it out (syslog, glog). Where other lines of the file begin with a
// time that has a year, those tell it, whatever the file's own time is: logs are copied, unpacked
// and touched. Without them the file's own time tells it where the file lies as its writer left it,
// and else any date that it prints, or those of the other files.
#pragma once

#include <string_view>

#include "base/time.h"

namespace faultline {

struct Gathered;

/// What the times say that stand near the ends of a text, or anywhere in it where those leave a
/// year open; not known where there is none.
struct PrintedDates {
  Instant first;          // with a year
  Instant last;           // with a year
  Instant last_yearless;  // in the year that the file's own time gives it
  Instant last_stamp{};   // with a year, at the beginning of a line
};

/// `written` is the file's own time, or `now`, when it is read: what is later than that is no date.
PrintedDates printed_dates(std::string_view text, Instant written, Instant now);

/// When a file was written at the latest, for what it says without a year: `written`, unless lines
/// that begin with a year put it elsewhere, or the last line is older and the file prints a year.
Instant written_before(const PrintedDates& dates, Instant written);

/// Moves the events of copied files that have no year at all by whole years, to where the other
/// files are; none where no other file is near.
void settle_years(Gathered& gathered, Instant now);

}  // namespace faultline
