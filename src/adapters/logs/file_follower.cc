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

Error system_error(const std::string& what, int number) {
  const ErrorCode code = number == ENOENT || number == ENOTDIR ? ErrorCode::not_found
                         : number == EACCES || number == EPERM ? ErrorCode::permission_denied
                         : number == ELOOP                     ? ErrorCode::invalid_argument
                                                               : ErrorCode::unavailable;
  return {code, fmt::format("{}: {}", what, std::strerror(number))};
}

/// Up to `bytes` at `offset`; shorter at the end of the file. An error is no end: who took it for
/// one would find the file shorter than it was, and read it again.
Result<std::string> read_at(int descriptor, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got =
        ::pread(descriptor, out.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", errno);
    if (got == 0) break;
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

std::string hash_of(std::string_view bytes) { return StableHash().add(bytes).hex(); }

/// The last bytes of what was read and what came after it.
std::string tail_of(std::string_view before, std::string_view bytes) {
  std::string both(before);
  both += bytes.size() > tail_bytes_max ? bytes.substr(bytes.size() - tail_bytes_max) : bytes;
  return both.size() > tail_bytes_max ? both.substr(both.size() - tail_bytes_max) : both;
}

std::int64_t modified_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
}

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

/// How far which file was read: a file is known by its device, its inode, its first bytes and those
/// before the place.
struct FileFollower::Cursor {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::size_t head_bytes = 0;
  std::string head_hash;
  std::string tail_hash;

  static std::optional<Cursor> parse(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 6) return std::nullopt;
    const auto device = parse_number<std::uint64_t>(parts[0]);
    const auto inode = parse_number<std::uint64_t>(parts[1]);
    const auto offset = parse_number<std::uint64_t>(parts[2]);
    const auto head = parse_number<std::size_t>(parts[3]);
    if (!device || !inode || !offset || !head || *head > head_bytes_max) return std::nullopt;
    return Cursor{*device, *inode, *offset, *head, std::string(parts[4]), std::string(parts[5])};
  }

  [[nodiscard]] Result<bool> fits(const Incarnation& file) const {
    if (device != file.device || inode != file.inode || offset > size_of(file.descriptor))
      return false;
    const auto head = read_at(file.descriptor, 0, head_bytes);
    if (!head.ok()) return head.error();
    const std::uint64_t tail_bytes = std::min<std::uint64_t>(offset, tail_bytes_max);
    const auto tail = read_at(file.descriptor, offset - tail_bytes, tail_bytes);
    if (!tail.ok()) return tail.error();
    return head_hash == hash_of(*head) && tail_hash == hash_of(*tail);
  }
};

void FileFollower::Incarnation::let_go() {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

void FileFollower::Incarnation::close() {
  let_go();
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
  if (descriptor < 0) return system_error(path, errno);
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
Status FileFollower::place_at(Incarnation& file, std::uint64_t offset) {
  auto head = read_at(file.descriptor, 0, std::min<std::uint64_t>(offset, head_bytes_max));
  if (!head.ok()) return head.error();
  const std::size_t tail_bytes = std::min<std::uint64_t>(offset, tail_bytes_max);
  auto tail = read_at(file.descriptor, offset - tail_bytes, tail_bytes);
  if (!tail.ok()) return tail.error();
  file.offset = offset;
  file.line_start = offset;
  file.head = std::move(head).value();
  file.tail = std::move(tail).value();
  file.line_tail = file.tail;
  return ok_status();
}

Status FileFollower::place_first(Incarnation& file) {
  const std::uint64_t size = size_of(file.descriptor);
  const auto cursor = Cursor::parse(resume_);
  const auto fits = cursor ? cursor->fits(file) : Result<bool>(false);
  if (!fits.ok()) return fits.error();
  if (*fits)
    return place_at(file, std::max(cursor->offset, std::min(options_.start_at.value_or(0), size)));
  if (options_.start_at && !born_) return place_at(file, std::min(*options_.start_at, size));
  if (cursor) {
    // Replaced while nobody looked: all of it is newer than what we had read.
    if (!find_rotated(*cursor)) file.gap = GapReason::rotated;
    return ok_status();
  }
  return born_ ? ok_status() : place_at(file, size);  // else all of it is older than we are
}

/// Opens the file of the cursor under its new name. True if nothing was lost: it is there, and no
/// other lies between it and the present one.
bool FileFollower::find_rotated(const Cursor& cursor) {
  const auto files = rotated_files(path_);
  for (const Rotated& rotated : files) {
    if (rotated.status.st_dev != cursor.device || rotated.status.st_ino != cursor.inode) continue;
    auto opened = open(rotated.path);
    if (!opened.ok()) return false;
    const auto fits = cursor.fits(*opened);
    if (!fits.ok() || !*fits || !place_at(opened.value(), cursor.offset).ok()) {
      opened.value().close();
      return false;
    }
    before_ = std::move(opened).value();
    return std::none_of(files.begin(), files.end(),
                        [&](const Rotated& other) { return newer(other.status, rotated.status); });
  }
  return false;
}

/// What has the name now; not_found if nothing has.
Result<struct stat> FileFollower::look_up() const {
  struct stat named {};
  const int found =
      options_.follow_links ? ::stat(path_.c_str(), &named) : ::lstat(path_.c_str(), &named);
  if (found != 0) return system_error(path_, errno);
  return named;
}

Status FileFollower::look_for_successor() {
  const auto named = look_up();
  if (now_.descriptor >= 0 && (!named.ok() || now_.is(named->st_dev, named->st_ino)))
    return ok_status();  // still the same, or renamed, deleted, out of reach: read on in it
  if (longer_than(before_.descriptor, before_.offset))
    return ok_status();  // two files at a time; the third waits until the first has been read
  auto opened = open(path_);
  if (!opened.ok()) {
    // Only a name that is not there says so: a file that cannot be opened may be old.
    if (opened.error().code == ErrorCode::not_found) born_ = true;
    return opened.error();
  }
  const Status taken = take(opened.value());
  if (taken.ok()) return taken;
  opened.value().close();
  return taken.error().with_context(path_);
}

/// The file that has the name now: the one that we had let go, or another.
Status FileFollower::take(Incarnation& opened) {
  if (now_.inode == 0) FAULTLINE_TRY(place_first(opened));
  if (now_.descriptor < 0 && now_.is(opened.device, opened.inode)) {
    now_.descriptor = opened.descriptor;  // goes on where it was
    now_.last_growth = opened.last_growth;
    now_.unread = false;
    return ok_status();
  }
  if (now_.descriptor >= 0) {
    before_.close();
    before_ = std::exchange(now_, Incarnation{});
  } else if (now_.unread) {
    const auto place = Cursor::parse(cursor());
    if (!place || !find_rotated(*place)) opened.gap = GapReason::rotated;
  }
  now_ = std::move(opened);
  return ok_status();
}

/// A file that became shorter, or whose bytes changed before where we read, was truncated: it
/// starts anew.
Status FileFollower::restart_if_rewritten(Incarnation& file, std::uint64_t size) {
  if (file.offset == 0) return ok_status();
  if (size >= file.offset) {
    const auto head = read_at(file.descriptor, 0, file.head.size());
    if (!head.ok()) return head.error();
    const auto tail = read_at(file.descriptor, file.offset - file.tail.size(), file.tail.size());
    if (!tail.ok()) return tail.error();
    if (*head == file.head && *tail == file.tail) return ok_status();
  }
  file.offset = 0;
  file.line_start = 0;
  file.head.clear();
  file.tail.clear();
  file.line_tail.clear();
  ++file.truncations;
  file.gap = GapReason::truncated;
  return ok_status();
}

Status FileFollower::read_some(Incarnation& file, std::size_t bytes_max,
                               std::vector<Chunk>& chunks) {
  if (file.descriptor < 0) return ok_status();
  struct stat status {};
  if (::fstat(file.descriptor, &status) != 0) return system_error(path_, errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Of the same length, but written to since: it may have been truncated and refilled.
  const bool same = size == file.offset && modified_ns(status) == file.modified_ns;
  if (same && !file.gap) return ok_status();
  FAULTLINE_TRY(restart_if_rewritten(file, size));
  auto bytes =
      read_at(file.descriptor, file.offset, std::min<std::uint64_t>(size - file.offset, bytes_max));
  if (!bytes.ok()) return bytes.error().with_context(path_);
  file.modified_ns = modified_ns(status);
  Chunk chunk;
  chunk.bytes = std::move(bytes).value();
  chunk.offset = file.offset;
  chunk.incarnation = fmt::format("{:x}-{:x}-{}", file.device, file.inode, file.truncations);
  chunk.gap = std::exchange(file.gap, {});
  if (!chunk.bytes.empty()) advance(file, chunk.bytes);
  if (!chunk.bytes.empty() || chunk.gap) chunks.push_back(std::move(chunk));
  return ok_status();
}

void FileFollower::advance(Incarnation& file, std::string_view bytes) const {
  if (file.head.size() < head_bytes_max && file.offset == file.head.size()) {
    file.head.append(bytes, 0, head_bytes_max - file.head.size());
  }
  if (const auto newline = bytes.rfind('\n'); newline != std::string_view::npos) {
    file.line_start = file.offset + newline + 1;
    file.line_tail = tail_of(file.tail, bytes.substr(0, newline + 1));
  }
  file.tail = tail_of(file.tail, bytes);
  file.offset += bytes.size();
  file.last_growth = clock_.monotonic();
}

/// An open file keeps its blocks on the disk even without a name.
bool FileFollower::idle(const Incarnation& file) const {
  return file.descriptor >= 0 && clock_.monotonic() - file.last_growth > options_.linger;
}

Result<std::vector<Chunk>> FileFollower::poll(std::size_t bytes_max) {
  std::vector<Chunk> chunks;
  // The successor is looked for first and the old file read after it: what was written before the
  // rename is then certainly there to be read, and comes before the new file's first line.
  const Status looked = look_for_successor();
  Status read = read_some(before_, bytes_max, chunks);
  before_.unread = !read.ok();
  std::size_t taken = 0;
  for (const Chunk& chunk : chunks) taken += chunk.bytes.size();
  if (read.ok() && taken < bytes_max) {
    read = read_some(now_, bytes_max - taken, chunks);
    if (!read.ok()) {
      // Opened anew by its name: a handle may be dead (ESTALE) while the file is not.
      now_.let_go();
      now_.unread = true;
    }
  }
  if (idle(before_)) {
    if (before_.unread) now_.gap = GapReason::rotated;
    before_.close();
  }
  if (idle(now_)) {
    const auto named = look_up();
    if (!named.ok() && named.error().code == ErrorCode::not_found) now_.let_go();
  }
  if (chunks.empty() && !looked.ok()) return looked.error();
  if (chunks.empty() && !read.ok()) return read.error();
  return chunks;
}

std::string FileFollower::cursor() const {
  if (now_.inode == 0) return resume_;
  // What the old file still has comes first: after a crash, lines of the new one may be read twice.
  const Incarnation& file = longer_than(before_.descriptor, before_.offset) ? before_ : now_;
  const bool near = file.offset - file.line_start <= line_back_bytes_max;
  const std::uint64_t offset = near ? file.line_start : file.offset;
  const std::size_t head = std::min<std::uint64_t>(file.head.size(), offset);
  return fmt::format("{}:{}:{}:{}:{}:{}", file.device, file.inode, offset, head,
                     hash_of(std::string_view(file.head).substr(0, head)),
                     hash_of(near ? file.line_tail : file.tail));
}

}  // namespace faultline
