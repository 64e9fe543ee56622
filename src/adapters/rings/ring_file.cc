#include "adapters/rings/ring_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace faultline {
namespace {

// A later version may be longer; what is longer than this is another thing, by its name a black
// box.
constexpr off_t file_bytes_max = 64 << 20;

Error open_error(const std::filesystem::path& path, int error) {
  const ErrorCode code = error == ENOENT                     ? ErrorCode::not_found
                         : error == EACCES || error == EPERM ? ErrorCode::permission_denied
                         : error == ELOOP                    ? ErrorCode::invalid_argument
                                                             : ErrorCode::unavailable;
  const char* words = error == ELOOP ? "is a link, which is not followed: name the file itself"
                                     : std::strerror(error);
  return Error{code, path.string() + ": " + words};
}

}  // namespace

Result<RingFile> RingFile::open(const std::filesystem::path& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return open_error(path, errno);
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) {
    const int error = errno;
    ::close(descriptor);
    return open_error(path, error);
  }
  RingFile file(descriptor, facts.st_uid);
  if (!S_ISREG(facts.st_mode))
    return Error{ErrorCode::invalid_argument, path.string() + ": is no file"};
  if (facts.st_size > file_bytes_max)
    return Error{ErrorCode::invalid_argument, path.string() + ": is far longer than a black box"};
  return file;
}

RingFile::RingFile(RingFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), owner_(other.owner_) {}

RingFile::~RingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t RingFile::read(std::uint64_t offset, std::span<std::byte> into) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + have, into.size() - have,
                                static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

Result<RingSnapshot> read_ring_file(const std::filesystem::path& path) {
  auto file = RingFile::open(path);
  if (!file) return file.error();
  auto snapshot = read_ring(file.value());
  if (!snapshot) return snapshot.error().with_context(path.string());
  if (snapshot->identity.uid != file->owner()) ++snapshot.value().problems["foreign_owner"];
  return snapshot;
}

Result<std::vector<std::filesystem::path>> rings_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> rings;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".ring") continue;
    if (rings.size() == ring_files_max)
      return Error{ErrorCode::exhausted, folder.string() + ": more than " +
                                             std::to_string(ring_files_max) + " black boxes"};
    rings.push_back(entry->path());
  }
  if (error) return open_error(folder, error.value());
  std::ranges::sort(rings);
  return rings;
}

}  // namespace faultline
