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

struct LogReading {
  std::uint64_t commits = 0;  // that SQLite takes
  /// Nothing if the log is whole, or ends as a crash may leave it: without all of its last commit.
  std::optional<LogBreak> damage;
};

LogReading read_log(std::string_view log);

/// Where SQLite keeps the log of `file`: beside the database itself, also where `file` is a link.
std::filesystem::path log_of(const std::filesystem::path& file);

/// True if the database is one empty page: a store begins its life in its log, until that is
/// written back for the first time.
bool begins_in_its_log(const std::filesystem::path& file);

enum class Examine {
  look,  // beside whoever writes
  keep,  // before it is opened for writing: a damaged log is copied to a free name beside it
};

struct LogFindings {
  bool damaged = false;
  std::string text;  // for an operator; "" if there is nothing to say
};

/// Looks for damage in the log of the database `file`, and whether a store that had begun in it was
/// lost with it. A log that cannot be looked at (above 64 MiB, not readable, or written to all the
/// while) is not called damaged, and the text says so.
LogFindings examine_log(const std::filesystem::path& file, Examine how);

/// True if the log as it is was found damaged and copied, so that nothing in it is needed any more
/// but what SQLite takes.
bool log_is_kept(const std::filesystem::path& file);

}  // namespace faultline
