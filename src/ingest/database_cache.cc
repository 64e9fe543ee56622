#include "ingest/database_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/hash.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t bytes_max = std::size_t{64} << 20U;  // far above any database
constexpr std::string_view magic = "faultline signature database 1";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

Error failure(ErrorCode code, const fs::path& file, const std::string& what) {
  return {code, file.string() + ": " + what};
}

/// "magic key checksum\n", before the bytes.
std::string header(const std::string& key, std::string_view bytes) {
  return std::string(magic) + " " + key + " " + StableHash().add(bytes).hex() + "\n";
}

Status check_file(int descriptor, const fs::path& file, std::size_t& size) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0)
    return failure(ErrorCode::unavailable, file, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::corrupt, file, "is not a plain file");
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failure(ErrorCode::corrupt, file, "others could have written it");
  }
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) > bytes_max) {
    return failure(ErrorCode::corrupt, file, "is too large");
  }
  size = static_cast<std::size_t>(status.st_size);
  return ok_status();
}

bool read_all(int descriptor, std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

fs::path cache_path(const fs::path& folder, const std::string& key) {
  return folder / ("signatures-" + key + ".db");
}

Result<std::string> read_cache(const fs::path& file, const std::string& key) {
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (input.get() < 0) {
    return failure(errno == ENOENT ? ErrorCode::not_found : ErrorCode::corrupt, file,
                   std::strerror(errno));
  }
  std::size_t size = 0;
  FAULTLINE_TRY(check_file(input.get(), file, size));
  std::string bytes(size, '\0');
  if (!read_all(input.get(), bytes))
    return failure(ErrorCode::corrupt, file, "is shorter than it was");
  const auto line_end = bytes.find('\n');
  if (line_end == std::string::npos) return failure(ErrorCode::corrupt, file, "has no header");
  const std::string head = bytes.substr(0, line_end + 1);
  bytes.erase(0, line_end + 1);
  if (head != header(key, bytes))
    return failure(ErrorCode::corrupt, file, "is damaged or of another catalog");
  return bytes;
}

Status write_cache(const fs::path& file, const std::string& key, std::string_view bytes) {
  std::error_code failed;
  if (fs::create_directories(file.parent_path(), failed)) {
    fs::permissions(file.parent_path(), fs::perms::owner_all, failed);
  }
  std::string temporary = file.string() + ".XXXXXX";
  const Descriptor output(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (output.get() < 0) return failure(ErrorCode::unavailable, file, std::strerror(errno));
  const bool written = write_all(output.get(), header(key, bytes)) &&
                       write_all(output.get(), bytes) && ::fsync(output.get()) == 0 &&
                       ::rename(temporary.c_str(), file.c_str()) == 0;
  if (written) return ok_status();
  const Error error = failure(ErrorCode::unavailable, file, std::strerror(errno));
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace faultline
