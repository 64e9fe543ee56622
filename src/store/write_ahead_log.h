// Damage in SQLite's write-ahead log. SQLite takes the log up to the first record that is not whole
// and forgets the rest without a word, since a crash leaves such an end. A record that is damaged
// in the midst of the log hides commits that were acknowledged, and the next write overwrites them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace faultline {

struct LogBreak {
  std::uint64_t frame = 0;    // the first that does not fit, from 1; 0: the head of the log
  std::uint64_t commits = 0;  // that follow it, and that SQLite does not take; at least
};

/// Nothing if the log is whole, or ends as a crash may leave it: without all of its last commit.
std::optional<LogBreak> find_log_break(std::string_view log);

/// Where SQLite keeps the log of `file`: beside the database itself, also where `file` is a link.
std::filesystem::path log_of(const std::filesystem::path& file);

struct LogFindings {
  bool damaged = false;
  std::string text;  // for an operator; "" if there is nothing to say
};

/// Looks for damage in the log of the database `file`, and copies a damaged log to a name beside
/// it. A log that cannot be looked at (above 64 MiB, or not readable) is not called damaged, and
/// the text says so. To be called before the database is opened, and by its one controller alone.
LogFindings examine_log(const std::filesystem::path& file);

}  // namespace faultline
