#include "apps/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace faultline {

void LineTagger::feed(std::string_view bytes, std::string_view prefix, std::string& out) {
  while (!bytes.empty()) {
    // A line that ends exactly where it was cut is whole: its newline must not make an empty one.
    if (std::exchange(cut_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t room = line_bytes_max_ - rest_.size();
    const std::size_t newline = bytes.substr(0, room).find('\n');
    const bool complete = newline != std::string_view::npos;
    const std::string_view piece = bytes.substr(0, complete ? newline : room);
    bytes.remove_prefix(piece.size() + (complete ? 1 : 0));
    if (!complete && piece.size() < room) {
      rest_ += piece;
      return;
    }
    out.append(prefix).append(rest_).append(piece).push_back('\n');
    rest_.clear();
    cut_ = !complete;
  }
}

void LineTagger::finish(std::string_view prefix, std::string& out) {
  if (rest_.empty()) return;
  out.append(prefix).append(rest_).push_back('\n');
  rest_.clear();
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno ==
               EAGAIN) {  // somebody made our output non-blocking: it is shared with other programs
      pollfd wait{descriptor, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

RunLog::~RunLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status RunLog::open(const std::filesystem::path& folder, std::string_view job,
                    std::string_view node, std::int32_t rank) {
  std::error_code problem;
  const auto absolute = std::filesystem::absolute(folder, problem);
  if (!problem) std::filesystem::create_directories(absolute, problem);
  const auto path = absolute / fmt::format("{}-{}-{}.log", job, node, rank);
  if (problem) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot make {}: {}", folder.string(), problem.message())};
  }
  // O_NOFOLLOW: in a folder that others can write to, a link could point at any file of this user.
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (descriptor_ < 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot write {}: {}", path.string(), std::strerror(errno))};
  }
  path_ = path;
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  start_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  tag_ = fmt::format(" {} rank{} | ", node, rank);
  return ok_status();
}

std::string RunLog::prefix(Instant now) const { return to_text(now) + tag_; }

Status RunLog::write(Stream stream, std::string_view bytes, Instant now) {
  if (descriptor_ < 0) return ok_status();
  (stream == Stream::out ? out_ : err_).feed(bytes, prefix(now), pending_);
  return put();
}

Status RunLog::note(std::string_view text, Instant now) {
  if (descriptor_ < 0) return ok_status();
  pending_.append(prefix(now)).append("faultline: ").append(text).push_back('\n');
  return put();
}

Status RunLog::finish(Instant now) {
  if (descriptor_ < 0) return ok_status();
  out_.finish(prefix(now), pending_);
  err_.finish(prefix(now), pending_);
  return put();
}

Status RunLog::put() {
  const int problem = write_all(descriptor_, pending_);
  if (problem != 0) lost_bytes_ += pending_.size();
  pending_.clear();
  if (pending_.capacity() > 1024 * 1024) pending_.shrink_to_fit();
  if (problem == 0 || complained_) return ok_status();
  complained_ = true;
  return Error{ErrorCode::unavailable,
               fmt::format("cannot write {}: {}", path_.string(), std::strerror(problem))};
}

}  // namespace faultline
