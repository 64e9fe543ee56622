// A boot without a shutdown before it, in a log that all of a node's programs write into: whoever
// shuts a machine down is logged doing it, and one that lost power, was reset or crashed just
// begins anew. The kernel's own lines alone cannot tell: of a shutdown they say nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "ingest/line_prefix.h"
#include "ingest/line_time.h"

namespace faultline {

/// Not thread-safe; one for each log. Memory: bounded.
class BootWatch {
 public:
  /// Sees each line in order. A line that belongs before this one, in words of our own
  /// ("2026-11-28T10:00:00Z n9 kernel: boot_unclean: ..."), at the time of the host's last line
  /// before it; "" where it is no boot, where a shutdown was logged, or where nobody can say.
  std::string pass(const LinePrefix& prefix, std::string_view body, const TimeReference& reference);

 private:
  struct Host {
    std::size_t daemon_lines = 0;          // since it booted
    std::size_t lines_since_shutdown = 0;  // since the last word of one, if `shut_down`
    bool shut_down = false;
    TimeForm time_form{};
    std::string time;  // of its last line
  };
  std::map<std::string, Host, std::less<>> hosts_;
};

}  // namespace faultline
