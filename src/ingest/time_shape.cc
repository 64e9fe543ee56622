#include "ingest/time_shape.h"

namespace faultline {
namespace {

/// Three letters, the first one upper case: "Oct", "Wed".
bool take_name(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take_while(is_upper, 1, 1) || !ahead.take_while(is_lower, 2, 2)) return false;
  cursor = ahead;
  return true;
}

/// "02", " 2", "2".
bool take_day(TextCursor& cursor) {
  cursor.skip_spaces(1);
  return cursor.take_digits(1, 2);
}

void take_offset(TextCursor& cursor) {
  if (cursor.take('Z')) return;
  TextCursor ahead = cursor;
  if (!ahead.take_any("+-") || !ahead.take_digits(2, 2)) return;
  ahead.take(':');
  if (ahead.take_digits(2, 2)) cursor = ahead;
}

}  // namespace

bool take_clock(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take_digits(2, 2) || !ahead.take(':') || !ahead.take_digits(2, 2) ||
      !ahead.take(':') || !ahead.take_digits(2, 2)) {
    return false;
  }
  TextCursor fraction = ahead;
  if (fraction.take_any(".,") && fraction.take_digits(1, 9)) ahead = fraction;
  cursor = ahead;
  return true;
}

bool take_iso(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take_digits(4, 4) || !ahead.take('-') || !ahead.take_digits(2, 2) ||
      !ahead.take('-') || !ahead.take_digits(2, 2) || !ahead.take_any("T ") || !take_clock(ahead)) {
    return false;
  }
  take_offset(ahead);
  cursor = ahead;
  return true;
}

bool take_month_day(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!take_name(ahead) || !ahead.take(' ') || !take_day(ahead) || !ahead.take(' ') ||
      !take_clock(ahead))
    return false;
  cursor = ahead;
  return true;
}

bool take_month_day_year(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!take_name(ahead) || !ahead.take(' ') || !take_day(ahead) || !ahead.take(' ') ||
      !ahead.take_digits(4, 4) || !ahead.take(' ') || !take_clock(ahead))
    return false;
  cursor = ahead;
  return true;
}

bool take_ctime(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!take_name(ahead) || !ahead.take(' ') || !take_month_day(ahead) || !ahead.take(' ') ||
      !ahead.take_digits(4, 4)) {
    return false;
  }
  cursor = ahead;
  return true;
}

bool take_glog(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take_digits(3, 4) || !ahead.take(' ') || !take_clock(ahead)) return false;
  cursor = ahead;
  return true;
}

bool take_kernel_seconds(TextCursor& cursor) {
  TextCursor ahead = cursor;
  ahead.skip_spaces(8);
  if (!ahead.take_digits(1, 10) || !ahead.take('.') || !ahead.take_digits(1, 9)) return false;
  cursor = ahead;
  return true;
}

}  // namespace faultline
