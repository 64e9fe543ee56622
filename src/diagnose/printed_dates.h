// The year of times that leave it out (syslog, glog). A file's own time tells it only where the
// file lies as its writer left it: what was copied or downloaded is younger, by years if need be.
// Then times with a year tell it, those of the file itself or else those of the other files.
#pragma once

#include <string_view>

#include "base/time.h"

namespace faultline {

struct Gathered;

/// What the times say that stand near the ends of a text; not known where there is none.
struct PrintedDates {
  Instant first;          // with a year
  Instant last;           // with a year
  Instant last_yearless;  // in the year that the file's own time gives it
};

/// `written` is the file's own time, or when it is read.
PrintedDates printed_dates(std::string_view text, Instant written);

/// When a file was written at the latest, for what it says without a year: `written`, unless its
/// last line is older than that and other lines of it have a year.
Instant written_before(const PrintedDates& dates, Instant written);

/// Moves the events of copied files that have no year at all by whole years, to where the other
/// files are; none where no other file is near.
void settle_years(Gathered& gathered, Instant now);

}  // namespace faultline
