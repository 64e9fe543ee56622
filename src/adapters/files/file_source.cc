#include "adapters/files/file_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "adapters/files/unpack.h"

namespace faultline {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ > STDIN_FILENO) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Never waits: a FIFO opens at once. Only the owner of a file may leave its access time alone.
int open_to_read(const std::string& path, Found found) {
  if (found == Found::standard_input) return STDIN_FILENO;
  const int flags =
      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (found == Found::in_folder ? O_NOFOLLOW : 0);
  const int quietly = ::open(path.c_str(), flags | O_NOATIME);
  return quietly >= 0 || errno != EPERM ? quietly : ::open(path.c_str(), flags);
}

/// A file up to the length that it had when it was opened; a pipe until its writers are gone.
class FileReader final : public InputReader {
 public:
  FileReader(int descriptor, const struct stat& opened, const std::string& name, Reading& reading)
      : descriptor_(descriptor), opened_(opened), name_(name), reading_(reading) {}

  Result<std::size_t> read(std::span<char> into) override {
    if (failed_) return *failed_;
    if (ended_) return std::size_t{0};
    const std::uint64_t room =
        is_file() ? size_of(opened_) - read_bytes_ : std::numeric_limits<std::uint64_t>::max();
    const ssize_t got = room == 0 ? 0 : read_some(into.data(), std::min(into.size(), room));
    if (got < 0) return fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    read_bytes_ += static_cast<std::uint64_t>(got);
    reading_.add_packed(static_cast<std::uint64_t>(got));
    ended_ = got == 0;
    return ended_ ? check_end(room) : Result<std::size_t>(static_cast<std::size_t>(got));
  }

 private:
  static std::uint64_t size_of(const struct stat& status) {
    return static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  }
  [[nodiscard]] bool is_file() const { return S_ISREG(opened_.st_mode); }

  /// Waits for what others write into a pipe, never for a file.
  ssize_t read_some(char* into, std::size_t bytes) const {
    for (;;) {
      const ssize_t got = ::read(descriptor_, into, bytes);
      if (got >= 0 || (errno != EINTR && (errno != EAGAIN || is_file()))) return got;
      pollfd readable{descriptor_, POLLIN, 0};
      if (errno == EAGAIN) ::poll(&readable, 1, -1);
    }
  }

  /// `missing`: how much shorter it is than it was.
  Result<std::size_t> check_end(std::uint64_t missing) {
    struct stat now {};
    if (!is_file() || ::fstat(descriptor_, &now) != 0) return std::size_t{0};
    if (missing > 0) return fail("became shorter while it was read");
    if (size_of(now) > size_of(opened_)) {
      reading_.note(name_, "grew while it was read",
                    fmt::format("what follows byte {}", read_bytes_));
    } else if (now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
               now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec) {
      reading_.note(name_, "changed while it was read", "what it said before or after");
    }
    return std::size_t{0};
  }

  Error fail(const std::string& what) {
    failed_ = reading_.broken(ErrorCode::unavailable, name_, what, read_bytes_);
    return *failed_;
  }

  int descriptor_;
  struct stat opened_;
  const std::string& name_;
  Reading& reading_;
  std::uint64_t read_bytes_ = 0;
  bool ended_ = false;
  std::optional<Error> failed_;
};

}  // namespace

void FileSource::visit(const InputVisitor& visit, const InputWarningSink& warn) {
  Reading reading(limits_, warn);
  const Descriptor descriptor(open_to_read(path_, found_));
  struct stat opened {};
  if (descriptor.number() < 0 || ::fstat(descriptor.number(), &opened) != 0) {
    return reading.note(file_.name, fmt::format("cannot be opened: {}", std::strerror(errno)),
                        "all of it");
  }
  const bool readable = S_ISREG(opened.st_mode) || found_ == Found::standard_input ||
                        (found_ == Found::named && S_ISFIFO(opened.st_mode));
  if (!readable) return reading.note(file_.name, "is no file any more", "all of it");
  ::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  if (S_ISREG(opened.st_mode)) file_.bytes = static_cast<std::uint64_t>(opened.st_size);
  FileReader reader(descriptor.number(), opened, file_.name, reading);
  unpack(reader, file_, reading, visit);
}

}  // namespace faultline
