#include "base/small_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace faultline {
namespace {

Error file_error(const std::filesystem::path& path) {
  const ErrorCode code = errno == ENOENT                     ? ErrorCode::not_found
                         : errno == EACCES || errno == EPERM ? ErrorCode::permission_denied
                                                             : ErrorCode::unavailable;
  return Error{code, fmt::format("{}: {}", path.string(), std::strerror(errno))};
}

}  // namespace

Result<std::string> read_file_part(const std::filesystem::path& path, std::uint64_t offset,
                                   std::uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return file_error(path);
  std::string out;
  char buffer[16 * 1024];
  while (out.size() < bytes) {
    const std::size_t want = std::min<std::uint64_t>(sizeof buffer, bytes - out.size());
    const ssize_t got = ::pread(descriptor, buffer, want, static_cast<off_t>(offset + out.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const Error error = file_error(path);
      ::close(descriptor);
      return error;
    }
    if (got == 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return out;
}

Result<std::string> read_small_file(const std::filesystem::path& path, std::uint64_t bytes_max) {
  auto content = read_file_part(path, 0, bytes_max + 1);
  if (content.ok() && content->size() > bytes_max) {
    return Error{ErrorCode::exhausted,
                 fmt::format("{}: longer than {} bytes", path.string(), bytes_max)};
  }
  return content;
}

Status write_small_file(const std::filesystem::path& path, std::string_view content, bool sync) {
  const std::filesystem::path beside = path.string() + ".new";
  const int descriptor =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return file_error(beside);
  bool good = true;
  while (good && !content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) content.remove_prefix(static_cast<std::size_t>(written));
  }
  good = good && (!sync || ::fdatasync(descriptor) == 0);
  Error error = file_error(beside);
  ::close(descriptor);
  if (good && ::rename(beside.c_str(), path.c_str()) == 0) return ok_status();
  if (good) error = file_error(path);
  ::unlink(beside.c_str());
  return error;
}

}  // namespace faultline
