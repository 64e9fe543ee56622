#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace faultline {
namespace {

/// Nothing that waiting would cure.
Error no_lock(const std::filesystem::path& path, int error) {
  const bool refused = error == EACCES || error == EPERM;
  const ErrorCode code = refused           ? ErrorCode::permission_denied
                         : error == ENOENT ? ErrorCode::not_found
                                           : ErrorCode::invalid_argument;
  return {code, path.string() + " cannot be locked: " + std::strerror(error)};
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& path, bool wait) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return no_lock(path, errno);
  FileLock lock(descriptor);
  while (::flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno == EWOULDBLOCK)
      return Error{ErrorCode::unavailable, path.string() + " is locked by another process"};
    if (errno != EINTR) return no_lock(path, errno);
  }
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace faultline
