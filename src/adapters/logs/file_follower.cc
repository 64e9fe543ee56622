#include "adapters/logs/file_follower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t head_bytes_max = 256;
constexpr std::size_t tail_bytes_max = 64;
constexpr std::size_t rotated_max = 256;  // more are not looked at
constexpr std::uint64_t line_back_bytes_max =
    64 * 1024;  // a cursor goes back to a line's start no further than this

/// Up to `bytes` at `offset`; shorter at the end of the file or on an error.
std::string read_at(int descriptor, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got =
        ::pread(descriptor, out.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

/// Bytes beyond `offset` are there to be read.
bool longer_than(int descriptor, std::uint64_t offset) {
  struct stat status {};
  return descriptor >= 0 && ::fstat(descriptor, &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) > offset;
}

std::string head_hash(std::string_view head) { return StableHash().add(head).hex(); }

std::uint64_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// "log.1", "log.12", "log-20261130", "log-2026-11-30.1" for "log": what logrotate makes of it.
/// What it compressed is another file and was not read by anybody.
bool rotated_name(std::string_view name, std::string_view of) {
  if (!name.starts_with(of) || name.size() < of.size() + 2) return false;
  name.remove_prefix(of.size());
  return (name[0] == '.' || name[0] == '-') &&
         name.substr(1).find_first_not_of("0123456789-.") == std::string_view::npos;
}

struct Rotated {
  std::string path;
  struct stat status {};
};

/// The rotated files of `path`, at most `rotated_max`.
std::vector<Rotated> rotated_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<Rotated> found;
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  const std::string of = fs::path(path).filename().string();
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    Rotated file{it->path().string(), {}};
    if (!rotated_name(it->path().filename().string(), of)) continue;
    if (::lstat(file.path.c_str(), &file.status) == 0 && S_ISREG(file.status.st_mode))
      found.push_back(std::move(file));
    if (found.size() >= rotated_max) break;
  }
  return found;
}

bool newer(const struct stat& one, const struct stat& other) {
  return std::pair(one.st_mtim.tv_sec, one.st_mtim.tv_nsec) >
         std::pair(other.st_mtim.tv_sec, other.st_mtim.tv_nsec);
}

}  // namespace

/// How far which file was read: a file is known by its device, inode and first bytes.
struct FileFollower::Cursor {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::size_t head_bytes = 0;
  std::string head_hash;

  static std::optional<Cursor> parse(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 5) return std::nullopt;
    const auto device = parse_number<std::uint64_t>(parts[0]);
    const auto inode = parse_number<std::uint64_t>(parts[1]);
    const auto offset = parse_number<std::uint64_t>(parts[2]);
    const auto head = parse_number<std::size_t>(parts[3]);
    if (!device || !inode || !offset || !head || *head > head_bytes_max) return std::nullopt;
    return Cursor{*device, *inode, *offset, *head, std::string(parts[4])};
  }

  [[nodiscard]] bool fits(const Incarnation& file) const {
    return device == file.device && inode == file.inode && offset <= size_of(file.descriptor) &&
           head_hash == faultline::head_hash(read_at(file.descriptor, 0, head_bytes));
  }
};

void FileFollower::Incarnation::close() {
  if (descriptor >= 0) ::close(descriptor);
  *this = Incarnation{};
}

FileFollower::FileFollower(std::string path, FollowOptions options, const Clock& clock)
    : path_(std::move(path)), options_(options), clock_(clock) {}

FileFollower::~FileFollower() {
  now_.close();
  before_.close();
}

Result<FileFollower::Incarnation> FileFollower::open(const std::string& path) const {
  // O_NONBLOCK: opening a FIFO that a job put there must not wait for its writer.
  const int flags =
      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (options_.follow_links ? 0 : O_NOFOLLOW);
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) {
    const int number = errno;
    const bool refused = number == EACCES || number == EPERM;
    const ErrorCode code = refused           ? ErrorCode::permission_denied
                           : number == ELOOP ? ErrorCode::invalid_argument
                                             : ErrorCode::unavailable;
    return Error{code, fmt::format("{}: {}", path, std::strerror(number))};
  }
  Incarnation file;
  file.descriptor = descriptor;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    file.close();
    return Error{ErrorCode::invalid_argument, path + ": not a regular file"};
  }
  if (options_.owner && status.st_uid != *options_.owner) {
    file.close();
    return Error{ErrorCode::permission_denied, fmt::format("{}: belongs to user {}, not {}", path,
                                                           status.st_uid, *options_.owner)};
  }
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.last_growth = clock_.monotonic();
  return file;
}

/// Where reading begins. The head holds only what was read: a file that is truncated and refilled
/// later must not look like itself.
void FileFollower::place_at(Incarnation& file, std::uint64_t offset) {
  file.offset = offset;
  file.line_start = offset;
  file.head = read_at(file.descriptor, 0, std::min<std::uint64_t>(offset, head_bytes_max));
  const std::size_t tail = std::min<std::uint64_t>(offset, tail_bytes_max);
  file.tail = read_at(file.descriptor, offset - tail, tail);
}

void FileFollower::place_first(Incarnation& file) {
  const std::uint64_t size = size_of(file.descriptor);
  const auto cursor = Cursor::parse(resume_);
  if (cursor && cursor->fits(file)) {
    place_at(file, std::max(cursor->offset, std::min(options_.start_at.value_or(0), size)));
  } else if (options_.start_at) {
    place_at(file, std::min(*options_.start_at, size));
  } else if (cursor) {
    // Replaced while nobody looked: all of it is newer than what we had read.
    if (!find_rotated(*cursor)) file.gap = "rotated";
  } else {
    place_at(file, size);  // all older than we are
  }
}

/// Opens the file of the cursor under its new name. True if nothing was lost: it is there, and no
/// other lies between it and the present one.
bool FileFollower::find_rotated(const Cursor& cursor) {
  const auto files = rotated_files(path_);
  for (const Rotated& rotated : files) {
    if (rotated.status.st_dev != cursor.device || rotated.status.st_ino != cursor.inode) continue;
    auto opened = open(rotated.path);
    if (!opened.ok() || !cursor.fits(*opened)) {
      if (opened.ok()) opened.value().close();
      return false;
    }
    before_ = std::move(opened).value();
    place_at(before_, cursor.offset);
    return std::none_of(files.begin(), files.end(),
                        [&](const Rotated& other) { return newer(other.status, rotated.status); });
  }
  return false;
}

Status FileFollower::look_for_successor() {
  struct stat named {};
  const int found =
      options_.follow_links ? ::stat(path_.c_str(), &named) : ::lstat(path_.c_str(), &named);
  if (found == 0 && now_.descriptor >= 0 && named.st_dev == now_.device &&
      named.st_ino == now_.inode) {
    return ok_status();
  }
  if (found != 0 && now_.descriptor >= 0)
    return ok_status();  // renamed or deleted: read on in what is open
  if (longer_than(before_.descriptor, before_.offset))
    return ok_status();  // two files at a time; the third waits until the first has been read
  auto opened = open(path_);
  if (!opened.ok()) {
    began_ = began_ || opened.error().code == ErrorCode::unavailable;
    return opened.error();
  }
  if (!std::exchange(began_, true)) place_first(opened.value());
  if (now_.descriptor >= 0) {
    before_.close();
    before_ = std::exchange(now_, Incarnation{});
  }
  now_ = std::move(opened).value();
  return ok_status();
}

/// A file that became shorter, or whose bytes changed before where we read, was truncated: it
/// starts anew.
void FileFollower::restart_if_rewritten(Incarnation& file, std::uint64_t size) {
  if (file.offset == 0) return;
  const bool rewritten =
      size < file.offset || read_at(file.descriptor, 0, file.head.size()) != file.head ||
      read_at(file.descriptor, file.offset - file.tail.size(), file.tail.size()) != file.tail;
  if (!rewritten) return;
  file.offset = 0;
  file.line_start = 0;
  file.head.clear();
  file.tail.clear();
  ++file.truncations;
  file.gap = "truncated";
}

void FileFollower::read_some(Incarnation& file, std::size_t bytes_max, std::vector<Chunk>& chunks) {
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == file.offset && file.gap.empty()) return;
  restart_if_rewritten(file, size);
  Chunk chunk;
  chunk.bytes =
      read_at(file.descriptor, file.offset, std::min<std::uint64_t>(size - file.offset, bytes_max));
  chunk.offset = file.offset;
  chunk.incarnation = fmt::format("{:x}-{:x}-{}", file.device, file.inode, file.truncations);
  chunk.gap = std::exchange(file.gap, {});
  if (file.head.size() < head_bytes_max && file.offset == file.head.size()) {
    file.head.append(chunk.bytes, 0, head_bytes_max - file.head.size());
  }
  file.tail = chunk.bytes.size() >= tail_bytes_max
                  ? chunk.bytes.substr(chunk.bytes.size() - tail_bytes_max)
                  : file.tail + chunk.bytes;
  if (file.tail.size() > tail_bytes_max) file.tail.erase(0, file.tail.size() - tail_bytes_max);
  if (const auto newline = chunk.bytes.rfind('\n'); newline != std::string::npos) {
    file.line_start = file.offset + newline + 1;
  }
  file.offset += chunk.bytes.size();
  file.last_growth = clock_.monotonic();
  if (!chunk.bytes.empty() || !chunk.gap.empty()) chunks.push_back(std::move(chunk));
}

void FileFollower::drop_if_idle(Incarnation& file) const {
  // An open file keeps its blocks on the disk even without a name.
  if (file.descriptor >= 0 && clock_.monotonic() - file.last_growth > options_.linger) file.close();
}

Result<std::vector<Chunk>> FileFollower::poll(std::size_t bytes_max) {
  std::vector<Chunk> chunks;
  // The successor is looked for first and the old file read after it: what was written before the
  // rename is then certainly there to be read, and comes before the new file's first line.
  const Status looked = look_for_successor();
  read_some(before_, bytes_max, chunks);
  std::size_t taken = 0;
  for (const Chunk& chunk : chunks) taken += chunk.bytes.size();
  if (taken < bytes_max) read_some(now_, bytes_max - taken, chunks);
  drop_if_idle(before_);
  struct stat named {};
  if (now_.descriptor >= 0 && ::stat(path_.c_str(), &named) != 0) drop_if_idle(now_);
  if (chunks.empty() && !looked.ok()) return looked.error();
  return chunks;
}

std::string FileFollower::cursor() const {
  if (now_.descriptor < 0) return began_ ? std::string() : resume_;
  // What the old file still has comes first: after a crash, lines of the new one may be read twice.
  const Incarnation& file = longer_than(before_.descriptor, before_.offset) ? before_ : now_;
  const bool near = file.offset - file.line_start <= line_back_bytes_max;
  const std::uint64_t offset = near ? file.line_start : file.offset;
  const std::size_t head = std::min<std::uint64_t>(file.head.size(), offset);
  return fmt::format("{}:{}:{}:{}:{}", file.device, file.inode, offset, head,
                     head_hash(std::string_view(file.head).substr(0, head)));
}

}  // namespace faultline
