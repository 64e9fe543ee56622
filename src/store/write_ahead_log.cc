#include "store/write_ahead_log.h"

#include <array>
#include <utility>

#include "base/small_file.h"

namespace faultline {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat
constexpr std::size_t head_bytes = 32;
constexpr std::size_t frame_head_bytes = 24;
constexpr std::uint32_t magic_little_endian = 0x377f0682;
constexpr std::uint32_t page_bytes_default = 4096;
constexpr std::uint32_t page_bytes_max = 65536;
/// A log is written back at 4 MiB; while a reader holds it up it grows. Above this a look at it
/// would cost too much of a start.
constexpr std::uint64_t log_bytes_max = 64ULL << 20;
constexpr int copies_max = 9;  // of damaged logs; whoever has that many looks at none of them

std::uint32_t word(std::string_view bytes, std::size_t at, bool little_endian = false) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i]));
    value |= byte << 8 * (little_endian ? i : 3 - i);
  }
  return value;
}

using Pair = std::array<std::uint32_t, 2>;

Pair pair_at(std::string_view bytes, std::size_t at) {
  return {word(bytes, at), word(bytes, at + 4)};
}

/// Goes on with SQLite's running checksum.
Pair add_checksum(Pair sum, std::string_view bytes, bool little_endian) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum[0] += word(bytes, at, little_endian) + sum[1];
    sum[1] += word(bytes, at + 4, little_endian) + sum[0];
  }
  return sum;
}

struct Head {
  bool whole = false;
  bool little_endian = false;
  std::uint32_t page_bytes = page_bytes_default;
  Pair salt{};
  Pair checksum{};
};

Head read_head(std::string_view log) {
  Head head;
  head.little_endian = word(log, 0) == magic_little_endian;
  head.checksum = add_checksum({}, log.substr(0, head_bytes - 8), head.little_endian);
  head.whole = head.checksum == pair_at(log, head_bytes - 8);
  if (head.whole) head.page_bytes = word(log, 8);
  // Of the first frame, where the head itself is damaged.
  const std::size_t salt_at = head.whole ? 16 : head_bytes + 8;
  if (log.size() >= salt_at + 8) head.salt = pair_at(log, salt_at);
  return head;
}

/// Twice the same, or nothing: what changes while it is read is no damage.
std::optional<Result<std::string>> read_at_rest(const std::filesystem::path& log) {
  constexpr int reads_max = 4;
  auto bytes = read_small_file(log, log_bytes_max);
  for (int i = 1; i < reads_max; ++i) {
    if (!bytes || !read_log(*bytes).damage) return bytes;
    auto again = read_small_file(log, log_bytes_max);
    if (again && *again == *bytes) return bytes;
    bytes = std::move(again);
  }
  return std::nullopt;
}

LogFindings damaged_log(const std::filesystem::path& log, const LogBreak& damage,
                        const std::string& kept) {
  return {true, log.string() + " is damaged in its record " + std::to_string(damage.frame) +
                    ": at least " + std::to_string(damage.commits) +
                    (damage.commits == 1 ? " commit after it is" : " commits after it are") +
                    " lost, the latest events and acts among them (" + kept +
                    "): look at the disk, and compare `faultline nodes` with the scheduler"};
}

LogFindings lost_log(const std::filesystem::path& file, const std::filesystem::path& log) {
  return {false,
          "there is nothing in " + file.string() +
              ", though it is not new: all that a young store knows is in its log, and " +
              log.string() +
              " has no whole commit. Unless this store was never in use, put back a copy made by "
              "`faultline store backup`, and look at the disk; nodes that are drained with the "
              "reason `faultline:...` are then not known any more (`faultline return NODE`)"};
}

std::filesystem::path copy_name(const std::filesystem::path& log, int number) {
  return log.string() + ".damaged" + (number == 1 ? "" : "." + std::to_string(number));
}

/// Of exactly these bytes.
std::optional<std::filesystem::path> copy_of(const std::filesystem::path& log,
                                             const std::string& bytes) {
  for (int number = 1; number <= copies_max; ++number) {
    const auto name = copy_name(log, number);
    const auto kept = read_small_file(name, log_bytes_max);
    if (kept && *kept == bytes) return name;
  }
  return std::nullopt;
}

/// Copies the log, which SQLite is about to overwrite, and says where to. No copy replaces another:
/// the first is the one with the most in it.
std::string keep_copy(const std::filesystem::path& log, const std::string& bytes) {
  namespace fs = std::filesystem;
  const std::string lost = "the log could not be kept: ";
  if (const auto kept = copy_of(log, bytes)) return "the log is kept as " + kept->string();
  std::error_code error;
  for (int number = 1; number <= copies_max; ++number) {
    const auto name = copy_name(log, number);
    if (fs::exists(fs::symlink_status(name, error))) continue;
    if (fs::copy_file(log, name, error)) return "the log is kept as " + name.string();
    std::error_code ignored;
    fs::remove(name, ignored);  // half a copy
    return lost + error.message();
  }
  return lost + "there are " + std::to_string(copies_max) + " beside it; move them away";
}

}  // namespace

LogReading read_log(std::string_view log) {
  LogReading reading;
  if (log.size() < head_bytes) return reading;
  const Head head = read_head(log);
  if (head.page_bytes < 512 || head.page_bytes > page_bytes_max) return reading;
  const std::size_t frame_bytes = frame_head_bytes + head.page_bytes;
  Pair sum = head.checksum;
  bool broken = !head.whole;
  bool break_commits = false;
  LogBreak found;
  std::uint64_t number = 0;
  for (std::size_t at = head_bytes; at + frame_bytes <= log.size(); at += frame_bytes) {
    const std::string_view frame = log.substr(at, frame_bytes);
    ++number;
    // What is left of an earlier use of the file has another salt.
    const bool of_this_log = pair_at(frame, 8) == head.salt;
    const bool commits = of_this_log && word(frame, 4) != 0;
    if (broken) {
      found.commits += commits ? 1 : 0;
      continue;
    }
    sum = add_checksum(sum, frame.substr(0, 8), head.little_endian);
    sum = add_checksum(sum, frame.substr(frame_head_bytes), head.little_endian);
    if (of_this_log && sum == pair_at(frame, 16)) {
      reading.commits += commits ? 1 : 0;
      continue;
    }
    broken = true;
    break_commits = commits;
    found.frame = number;
  }
  // One alone may be the last, which a crash has left unfinished and nobody was promised.
  const bool promised = found.commits + (break_commits ? 1 : 0) > 1;
  if (promised && found.commits > 0) reading.damage = found;
  return reading;
}

std::filesystem::path log_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(file, error);
  return (real.empty() ? file : real).string() + "-wal";
}

bool begins_in_its_log(const std::filesystem::path& file) {
  constexpr std::size_t log_mode_at = 18;  // in the head of 100 bytes
  constexpr char log_mode = 2;
  constexpr std::uint64_t first_page_bytes_max = 65536;
  const auto page = read_small_file(file, first_page_bytes_max);  // refused if it is longer
  if (!page || page->size() < 512 || (*page)[log_mode_at] != log_mode) return false;
  // The kind of the first page's tree, and how many entries it has: none, so no table.
  return (*page)[100] == 0x0d && (*page)[103] == 0 && (*page)[104] == 0;
}

bool log_is_kept(const std::filesystem::path& file) {
  const std::filesystem::path log = log_of(file);
  std::error_code ignored;
  if (!std::filesystem::exists(copy_name(log, 1), ignored)) return false;
  const auto bytes = read_small_file(log, log_bytes_max);
  return bytes && !bytes->empty() && copy_of(log, *bytes).has_value();
}

LogFindings examine_log(const std::filesystem::path& file, Examine how) {
  const std::filesystem::path log = log_of(file);
  const auto bytes = read_at_rest(log);
  if (!bytes) return {false, "not looked at for damage: " + log.string() + " is written to"};
  if (!*bytes && bytes->error().code == ErrorCode::not_found) return {};
  if (!*bytes) return {false, "not looked at for damage: " + bytes->error().message};
  const LogReading reading = read_log(**bytes);
  if (reading.damage) {
    return damaged_log(log, *reading.damage,
                       how == Examine::keep ? keep_copy(log, **bytes)
                                            : "copy the log before anything is written into it");
  }
  if (reading.commits == 0 && begins_in_its_log(file)) return lost_log(file, log);
  return {};
}

}  // namespace faultline
