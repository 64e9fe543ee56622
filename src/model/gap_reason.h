// Why lines or events are missing: field `why` of a source_gap. The words are stored, so they stay.
#pragma once

#include "base/enum_text.h"

namespace faultline {

enum class GapReason {
  rotated,        // the file was rotated, and lines were lost with the one before
  truncated,      // the file was truncated or written anew
  overrun,        // the kernel overwrote records before they were read
  binary,         // lines held NUL bytes, which were dropped
  too_long,       // lines were cut
  flood,          // more hits than a log may have in a minute
  spool_full,     // events had no room until the controller would take them
  unread,         // a log was given up while its file system did not answer
  unreadable,     // a kernel log cannot be read
  hung,           // reading a log hangs
  state_damaged,  // how far the logs were read is lost
  nvml_hung,      // the GPU driver does not answer
};
FAULTLINE_ENUM_NAMES(GapReason, "rotated", "truncated", "overrun", "binary", "too_long", "flood",
                     "spool_full", "unread", "unreadable", "hung", "state_damaged", "nvml_hung");

}  // namespace faultline
