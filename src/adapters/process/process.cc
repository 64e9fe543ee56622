#include "adapters/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/text.h"

namespace faultline {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

constexpr std::string_view clean_path =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr auto poll_step = std::chrono::milliseconds{5};

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;

  Status open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      return Error{ErrorCode::exhausted, std::string("pipe: ") + strerror(errno)};
    read.reset(ends[0]);
    write.reset(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ok_status();
  }
};

std::vector<std::string> make_environment(const ProcessOptions& options) {
  std::vector<std::string> values{std::string(clean_path), "LANG=C", "LC_ALL=C"};
  const auto put = [&](const std::string& assignment) {
    const std::string_view name = std::string_view(assignment).substr(0, assignment.find('=') + 1);
    std::erase_if(values, [&](const std::string& value) { return value.starts_with(name); });
    values.push_back(assignment);
  };
  for (const auto& name : options.inherit) {
    if (const char* value = std::getenv(name.c_str())) put(name + "=" + value);
  }
  for (const auto& assignment : options.environment) put(assignment);
  return values;
}

Status check_arguments(const std::vector<std::string>& argv, const ProcessOptions& options) {
  if (argv.empty() || argv.front().empty())
    return Error{ErrorCode::invalid_argument, "no program named"};
  for (const auto& argument : argv) {
    if (argument.find('\0') != std::string::npos || argument.size() > argument_bytes_max) {
      return Error{ErrorCode::invalid_argument,
                   argv.front() + ": an argument is too long or has a NUL in it"};
    }
  }
  for (const auto& assignment : options.environment) {
    if (assignment.find('\0') != std::string::npos || assignment.find('=') == std::string::npos ||
        assignment.front() == '=') {
      return Error{ErrorCode::invalid_argument, argv.front() + ": bad environment entry"};
    }
  }
  return ok_status();
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const auto& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // posix_spawn does not write
  result.push_back(nullptr);
  return result;
}

/// What the child does between fork and exec.
class SpawnPlan {
 public:
  explicit SpawnPlan(const ProcessOptions& options, int out, int err, bool session) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out, 1);
    posix_spawn_file_actions_adddup2(&actions_, err, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    posix_spawn_file_actions_addchdir_np(
        &actions_, options.directory.empty() ? "/" : options.directory.c_str());
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  Result<pid_t> spawn(const std::vector<std::string>& argv, const ProcessOptions& options) {
    const auto environment = make_environment(options);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, argv.front().c_str(), &actions_, &attributes_,
                                     pointers(argv).data(), pointers(environment).data());
    if (error == 0) return child;
    const std::string text = argv.front() + ": " + strerror(error);
    if (error == ENOENT || error == ENOTDIR) return Error{ErrorCode::not_found, text};
    if (error == EACCES || error == EPERM) return Error{ErrorCode::permission_denied, text};
    if (error == EAGAIN || error == ENOMEM) return Error{ErrorCode::exhausted, text};
    return Error{ErrorCode::internal, text};
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Reads what is there. Returns false at the end of the file.
bool drain(FileDescriptor& from, std::string& into, std::size_t bytes_max, bool& truncated) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    const std::size_t kept = std::min(static_cast<std::size_t>(count), bytes_max - into.size());
    into.append(buffer.data(), kept);
    truncated = truncated || kept < static_cast<std::size_t>(count);
  }
}

/// True once the child has ended. It is not reaped yet, so that its pid and group stay its own.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

int reap(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Waits for a child while reading both its pipes, up to a point in time.
class Supervision {
 public:
  Supervision(pid_t child, Pipe& out, Pipe& err, std::size_t bytes_max)
      : child_(child), out_(out), err_(err), bytes_max_(bytes_max) {}

  bool wait_until(TimePoint end, const std::atomic<bool>* stop = nullptr) {
    for (;;) {
      read_pipes();
      if (has_ended(child_)) {
        ended_ = true;
        read_pipes();
        return true;
      }
      if (SteadyClock::now() >= end || (stop != nullptr && stop->load())) return false;
    }
  }

  ProcessResult result;

 private:
  void read_pipes() {
    std::array<pollfd, 2> fds{pollfd{out_.read.get(), POLLIN, 0},
                              pollfd{err_.read.get(), POLLIN, 0}};
    if (fds[0].fd < 0 && fds[1].fd < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      return;
    }
    ::poll(fds.data(), fds.size(), ended_ ? 0 : static_cast<int>(poll_step.count()));
    if (fds[0].revents != 0 && !drain(out_.read, result.out, bytes_max_, result.truncated))
      out_.read.close();
    if (fds[1].revents != 0 && !drain(err_.read, result.err, bytes_max_, result.truncated))
      err_.read.close();
  }

  pid_t child_;
  Pipe& out_;
  Pipe& err_;
  std::size_t bytes_max_;
  bool ended_ = false;
};

bool safe_in_shell(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_./:=,+@%") == std::string_view::npos;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                  const ProcessOptions& options) {
  FAULTLINE_TRY(check_arguments(argv, options));
  Pipe out;
  Pipe err;
  FAULTLINE_TRY(out.open());
  FAULTLINE_TRY(err.open());
  const auto end = SteadyClock::now() + options.deadline;
  const auto child =
      SpawnPlan(options, out.write.get(), err.write.get(), false).spawn(argv, options);
  if (!child) return child.error();
  out.write.close();
  err.write.close();

  Supervision supervision(*child, out, err, options.output_bytes_max);
  bool ended = supervision.wait_until(end, options.stop);
  supervision.result.timed_out = !ended;
  if (!ended) {
    ::kill(-*child, SIGTERM);
    ended = supervision.wait_until(SteadyClock::now() + options.kill_grace);
  }
  // A run leaves nothing behind. The leader is not reaped yet, so this can hit nobody else.
  ::kill(-*child, SIGKILL);
  // After SIGKILL only a process in uninterruptible sleep stays; it is left to the kernel.
  if (!ended) supervision.wait_until(SteadyClock::now() + options.kill_grace);
  supervision.result.exit_code = reap(*child);
  return std::move(supervision.result);
}

std::string command_text(const std::vector<std::string>& argv) {
  std::string text;
  for (const auto& argument : argv) {
    if (!text.empty()) text += ' ';
    if (safe_in_shell(argument)) {
      text += argument;
      continue;
    }
    // name=value reads better with only the value quoted.
    const auto equals = argument.find('=');
    const bool split = equals != std::string::npos && safe_in_shell(argument.substr(0, equals));
    if (split) text += argument.substr(0, equals + 1);
    text += '\'';
    for (const char c : split ? argument.substr(equals + 1) : argument) {
      if (c == '\'')
        text += "'\\''";
      else
        text += c;
    }
    text += '\'';
  }
  return text;
}

Result<ProcessId> start_process_group(const std::vector<std::string>& argv,
                                      const ProcessOptions& options,
                                      const std::string& output_path) {
  FAULTLINE_TRY(check_arguments(argv, options));
  const FileDescriptor output(
      ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (output.get() < 0)
    return Error{ErrorCode::permission_denied, output_path + ": " + strerror(errno)};
  const auto child = SpawnPlan(options, output.get(), output.get(), true).spawn(argv, options);
  if (!child) return child.error();
  return identify_process(*child);
}

}  // namespace faultline
