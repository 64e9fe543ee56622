#include "adapters/local/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t state_bytes_max = 256ULL << 20;  // some hundred thousand attempts
constexpr mode_t folder_mode = 0700;  // jobs run as the owner, so only the owner may ask for them

Error file_error(const fs::path& path, int error) {
  const ErrorCode code = error == ENOENT                      ? ErrorCode::not_found
                         : error == EACCES || error == EPERM  ? ErrorCode::permission_denied
                         : error == EEXIST                    ? ErrorCode::conflict
                         : error == ENOSPC || error == EDQUOT ? ErrorCode::exhausted
                                                              : ErrorCode::unavailable;
  return {code, path.string() + ": " + std::strerror(error)};
}

/// A descriptor that is closed when it is left.
class File {
 public:
  File(const fs::path& path, int flags, mode_t mode = 0600)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void sync_folder(const fs::path& folder) {
  const File file(folder, O_RDONLY | O_DIRECTORY);
  if (file.get() >= 0) ::fsync(file.get());
}

/// Writes a file beside `path` and syncs it. The process id keeps two programs apart, and each
/// writes one at a time.
Result<fs::path> write_beside(const fs::path& path, std::string_view content) {
  const fs::path beside =
      path.parent_path() / ("." + path.filename().string() + "." + std::to_string(::getpid()));
  const File file(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (file.get() < 0) return file_error(beside, errno);
  if (!write_all(file.get(), content) || ::fsync(file.get()) != 0) {
    const int error = errno;
    ::unlink(beside.c_str());
    return file_error(beside, error);
  }
  return beside;
}

Status make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), folder_mode) == 0 || errno == EEXIST) return ok_status();
  return file_error(path, errno);
}

}  // namespace

Result<std::string> read_own_file(const fs::path& path, std::uint64_t bytes_max) {
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (file.get() < 0 && errno == ELOOP)
    return Error{ErrorCode::invalid_argument, path.string() + " is a link"};
  if (file.get() < 0) return file_error(path, errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return file_error(path, errno);
  const auto bad = [&](const char* what) {
    return Error{ErrorCode::invalid_argument, path.string() + what};
  };
  if (!S_ISREG(about.st_mode)) return bad(" is not a plain file");
  if (about.st_uid != ::geteuid()) return bad(" belongs to another user");
  if (static_cast<std::uint64_t>(about.st_size) > bytes_max) return bad(" is too long");
  std::string content;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > bytes_max) return bad(" is too long");
  }
}

Status write_durably(const fs::path& path, std::string_view content) {
  const auto beside = write_beside(path, content);
  if (!beside) return beside.error();
  if (::rename(beside->c_str(), path.c_str()) != 0) return file_error(path, errno);
  sync_folder(path.parent_path());
  return ok_status();
}

Status create_once(const fs::path& path, std::string_view content) {
  const auto beside = write_beside(path, content);
  if (!beside) return beside.error();
  const int error = ::link(beside->c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(beside->c_str());
  if (error != 0) return file_error(path, error);
  sync_folder(path.parent_path());
  return ok_status();
}

Status StateFolder::create(const std::vector<LocalNode>& nodes) const {
  FAULTLINE_TRY(make_folder(root_));
  for (const auto& folder : {inbox(), refused(), jobs()}) FAULTLINE_TRY(make_folder(folder));
  LocalState state;
  state.nodes = nodes;
  const auto status = create_once(state_file(), state_text(state));
  if (!status && status.error().code == ErrorCode::conflict) {
    return Error{ErrorCode::conflict,
                 root_.string() + " holds a cluster already; take another folder or remove it"};
  }
  return status;
}

Result<LocalState> StateFolder::load() const {
  const auto text = read_own_file(state_file(), state_bytes_max);
  if (!text && text.error().code == ErrorCode::not_found) {
    return Error{ErrorCode::not_found, root_.string() +
                                           " holds no local cluster; make one with `faultline "
                                           "local init --state DIR --nodes n1,n2`"};
  }
  if (!text) return text.error();
  auto state = parse_state(*text);
  if (state) return state;
  return Error{ErrorCode::corrupt, state_file().string() + " is damaged (" + state.error().message +
                                       "); put back a copy, or move the folder away and run "
                                       "`faultline local init` again. jobs/ keeps the outputs"};
}

Status StateFolder::save(const std::string& text) const {
  return write_durably(state_file(), text);
}

Result<std::uint64_t> StateFolder::next_job(std::uint64_t above) const {
  const auto path = root_ / "job_counter";
  const auto lock = FileLock::take(path, true);
  if (!lock) return lock.error();
  std::array<char, 32> buffer{};
  const ssize_t got = ::pread(lock->descriptor(), buffer.data(), buffer.size(), 0);
  if (got < 0) return file_error(path, errno);
  const std::string_view text =
      trim(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  const auto last =
      text.empty() ? std::optional<std::uint64_t>{0} : parse_number<std::uint64_t>(text);
  if (!last || *last >= UINT64_MAX / 2) {
    return Error{
        ErrorCode::corrupt,
        path.string() + " is damaged; remove it, the numbers go on after the last known job"};
  }
  const std::uint64_t next = std::max(*last, above) + 1;
  // Of one width, so that a shorter number never leaves digits of a longer one behind.
  const std::string line = fmt::format("{:020}\n", next);
  if (::pwrite(lock->descriptor(), line.data(), line.size(), 0) !=
          static_cast<ssize_t>(line.size()) ||
      ::fsync(lock->descriptor()) != 0) {
    return file_error(path, errno);
  }
  return next;
}

fs::path StateFolder::attempt_file(const std::string& job, std::uint32_t restart,
                                   std::string_view suffix) const {
  return jobs() / (job + "." + std::to_string(restart) + "." + std::string(suffix));
}

fs::path StateFolder::submit_file(const std::string& base_job) const {
  return jobs() / (base_job + ".submit");
}

}  // namespace faultline
