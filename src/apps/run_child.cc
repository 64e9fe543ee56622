#include "apps/run_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace faultline {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<pid_t> child_pid{-1};
std::atomic<bool> stop_asked{false};
std::array<int, 2> wake_pipe{-1, -1};

constexpr std::array forwarded{SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP, SIGCONT};
constexpr int pipe_bytes = 1024 * 1024;  // a burst of output need not wait for us

void wake() {
  const int saved = errno;
  const char byte = 0;
  // The pipe is non-blocking: when it is full the loop is awake anyway.
  if (::write(wake_pipe[1], &byte, 1) < 0) errno = saved;
  errno = saved;
}

/// Passes the signal on at once, even while the loop is blocked writing our own output.
void on_signal(int number, siginfo_t* info, void*) {
  if (number != SIGCHLD) {
    if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT)
      stop_asked = true;
    // The terminal's Ctrl-C goes to the whole process group, the child included: once is enough.
    const bool from_terminal = info->si_code == SI_KERNEL;
    const pid_t pid = child_pid;
    if (pid > 0 && !from_terminal) ::kill(pid, number);
  }
  wake();
}

void install_handlers() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  for (const int number : forwarded) ::sigaction(number, &action, nullptr);
  ::sigaction(SIGCHLD, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a closed output is an error of write(), not our death
}

struct Plumbing {
  std::array<int, 2> out{-1, -1};
  std::array<int, 2> err{-1, -1};
  std::array<int, 2> failure{-1, -1};  // carries errno of a failed exec; closed by a successful one

  bool open(bool merged) {
    const bool good = ::pipe2(out.data(), O_CLOEXEC) == 0 &&
                      (merged || ::pipe2(err.data(), O_CLOEXEC) == 0) &&
                      ::pipe2(failure.data(), O_CLOEXEC) == 0;
    for (const int end : {out[0], err[0]}) {
      if (end < 0) continue;
      ::fcntl(end, F_SETPIPE_SZ, pipe_bytes);
      ::fcntl(end, F_SETFL, O_NONBLOCK);  // ours alone: the command's end stays as it expects it
    }
    return good;
  }
  void close_all() {
    for (auto* ends : {&out, &err, &failure}) {
      for (int& end : *ends) close_end(end);
    }
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
};

[[noreturn]] void become(const std::vector<char*>& arguments, const Plumbing& pipes, bool merged,
                         pid_t parent) {
  ::dup2(pipes.out[1], STDOUT_FILENO);
  ::dup2(merged ? pipes.out[1] : pipes.err[1], STDERR_FILENO);
  for (const int number : forwarded) ::signal(number, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // If we are killed the job must not run on unwatched, holding GPUs.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);
  ::execvp(arguments[0], arguments.data());
  const int problem = errno;
  if (::write(pipes.failure[1], &problem, sizeof problem) < 0) ::_exit(125);
  ::_exit(127);
}

Error cannot_run(const std::string& program, int problem) {
  const bool missing = problem == ENOENT || problem == ENOTDIR;
  return Error{missing ? ErrorCode::not_found : ErrorCode::permission_denied,
               fmt::format("cannot run {}: {}{}", program, std::strerror(problem),
                           missing ? "; is it installed on this node, and in PATH?" : "")};
}

}  // namespace

RunChild::~RunChild() {
  close_out();
  close_err();
  child_pid = -1;
}

Status RunChild::start(const std::vector<std::string>& command,
                       const std::vector<std::pair<std::string, std::string>>& variables,
                       bool merged) {
  Plumbing pipes;
  if (!pipes.open(merged) ||
      (wake_pipe[0] < 0 && ::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)) {
    pipes.close_all();
    return Error{ErrorCode::unavailable, fmt::format("pipe: {}", std::strerror(errno))};
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  // Signals wait until the child's pid is known, so that none of them gets lost between the two.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  install_handlers();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(arguments, pipes, merged, parent);
  child_pid = pid_;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  for (int* end : {&pipes.out[1], &pipes.err[1], &pipes.failure[1]}) Plumbing::close_end(*end);
  int problem = pid_ < 0 ? errno : 0;
  ssize_t told = 0;
  do {
    told = ::read(pipes.failure[0], &problem, sizeof problem);
  } while (told < 0 && errno == EINTR);
  Plumbing::close_end(pipes.failure[0]);
  if (problem != 0) {
    pipes.close_all();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    child_pid = -1;
    return cannot_run(command.front(), problem);
  }
  out_ = pipes.out[0];
  err_ = pipes.err[0];
  return ok_status();
}

void RunChild::close_out() { Plumbing::close_end(out_); }
void RunChild::close_err() { Plumbing::close_end(err_); }

int RunChild::signal_descriptor() const { return wake_pipe[0]; }

std::optional<ChildEnd> RunChild::reap() {
  std::array<char, 64> bytes{};
  while (::read(wake_pipe[0], bytes.data(), bytes.size()) > 0) {
  }
  int status = 0;
  if (reaped_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  reaped_ = true;
  child_pid = -1;  // its number may be somebody else's from now on
  ChildEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.core_dumped = WCOREDUMP(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

bool RunChild::asked_to_stop() { return stop_asked; }

}  // namespace faultline
