// When a machine began anew -> events: `last -x`, which says of each boot whether a shutdown came
// before it, and `journalctl --list-boots`, which has the last entry of each boot, and does not say
// how it ended.
//
// A boot behind which `last -x` has another one, and no shutdown between them, is one that nobody
// asked for: it becomes the line that a syslog without a shutdown gives (ingest/boot_watch.h), at
// the time of the boot. When the machine went down nobody wrote; it was not later. What it has
// outlived by a week is history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/line_splitter.h"
#include "ingest/record_lines.h"

namespace faultline {

/// In the line of a boot that came without a shutdown, as against those of a syslog.
inline constexpr std::string_view boot_record_words = "last -x has no shutdown before this boot";

/// One boot or shutdown of `last -x`: "reboot   system boot  5.15.0-91 Wed Nov 25 10:23 ...".
struct BootRow {
  bool boot = false;      // or a shutdown
  std::string_view time;  // "Nov 25 10:23", and with -F "Nov 25 10:23:11 2026"
};
std::optional<BootRow> boot_row(std::string_view line);

/// The date in a line of `last`: of a session, a boot, or "wtmp begins ..." at its end; "" if it is
/// none.
std::string_view login_date(std::string_view line);

/// One boot of `journalctl --list-boots`: its first entry's and its last one's time.
struct JournalBoot {
  std::string_view first;
  std::string_view last;
};
std::optional<JournalBoot> journal_boot(std::string_view line);

/// Not thread-safe; one for each file. Only `databases.kernel` is used. Counters:
/// ingest_boot_records_total.
class BootRecordsDecoder {
 public:
  BootRecordsDecoder(const SystemDatabases& databases, Origin origin, Counters& counters,
                     const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  struct Boot {
    Instant at;
    std::uint64_t offset = 0;
  };
  void take_line(const Line& line, Instant now);
  void take_row(const BootRow& row, std::uint64_t offset);
  void add_line(Instant at, std::string_view words, std::uint64_t offset, Instant now);

  Origin origin_;
  Counters& counters_;
  RecordLines records_;
  LineSplitter lines_;
  Instant newest_;             // of all lines of `last`
  std::optional<Boot> later_;  // the boot above, the newest first: what came before it?
  std::vector<Boot> unclean_;  // held until a shutdown shows that those are written down at all
  bool knows_shutdowns_ = false;
};

}  // namespace faultline
