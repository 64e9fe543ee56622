// Recognises times by their shape alone: passes over one, or stays and says no. Shared by the
// prefix parsers.
#pragma once

#include "ingest/text_cursor.h"

namespace faultline {

/// "17:58:03" with an optional fraction after '.' or ','.
bool take_clock(TextCursor& cursor);
/// "2025-02-11T03:21:44,283302+00:00"; ' ' instead of 'T'; fraction and offset may be missing.
bool take_iso(TextCursor& cursor);
/// "Oct 02 09:14:02", "Oct  2 09:14:02.123456".
bool take_month_day(TextCursor& cursor);
/// "Nov 05 2025 14:44:42".
bool take_month_day_year(TextCursor& cursor);
/// "Wed Nov  5 11:20:01 2025".
bool take_ctime(TextCursor& cursor);
/// "1129 19:50:15.346000", "818 17:40:34.227".
bool take_glog(TextCursor& cursor);
/// "  901233.11".
bool take_kernel_seconds(TextCursor& cursor);

}  // namespace faultline
