#include "adapters/local/local_keeper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "adapters/local/attempt_files.h"
#include "adapters/local/job_processes.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::int32_t exit_not_found = 127;  // as shells say it
constexpr std::int32_t exit_cannot_start = 126;
constexpr Duration look_interval =
    std::chrono::milliseconds{200};                           // between looks when no signal comes
constexpr Duration sweep_wait_max = std::chrono::seconds{5};  // for killed processes to be gone
constexpr Duration sweep_step = std::chrono::milliseconds{10};

/// Signals are taken one by one in wait(), never at a moment when a child exists that nobody knows
/// of.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
  }
  /// The next signal, or 0 after a while.
  [[nodiscard]] int wait() const {
    const timespec timeout{0, static_cast<long>(look_interval.count())};
    return std::max(0, ::sigtimedwait(&set_, nullptr, &timeout));
  }

 private:
  sigset_t set_{};
};

class Keeper {
 public:
  Keeper(const StateFolder& folder, const std::string& job, std::uint32_t restart,
         const Clock& clock)
      : folder_(folder), job_(job), restart_(restart), clock_(clock) {}

  int run() {
    const auto text = read_own_file(file("launch"), attempt_file_bytes_max);
    const auto launch = text ? parse_launch_file(*text) : Result<LaunchFile>(text.error());
    if (!launch) return say(launch.error().message);
    self_.keeper = identify_process(::getpid());
    // The claim decides between two keepers that a controller's crash may have left.
    if (const auto claim = create_once(file("run"), to_file(self_)); !claim)
      return say(claim.error().message);
    const auto started = start(*launch);
    if (!started) {
      say(started.error().message);
      return write_end(
          {started.error().code == ErrorCode::not_found ? exit_not_found : exit_cannot_start,
           clock_.now(), printable(started.error().message, 256)});
    }
    self_.command = *started;
    // Without this file a controller that outlives us cannot end the job; the job itself needs it
    // not.
    if (const auto status = write_durably(file("run"), to_file(self_)); !status)
      say(status.error().message);
    const auto status = wait_for_command(launch->grace);
    const Instant ended_at = clock_.now();
    sweep();
    if (!status) return write_end({std::nullopt, ended_at, "the exit code is lost"});
    const bool killed = WIFSIGNALED(*status);
    return write_end({killed ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status), ended_at,
                      killed ? "killed by signal " + std::to_string(WTERMSIG(*status)) : ""});
  }

 private:
  [[nodiscard]] std::filesystem::path file(std::string_view suffix) const {
    return folder_.attempt_file(job_, restart_, suffix);
  }

  Result<ProcessId> start(const LaunchFile& launch) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ProcessOptions options;
    options.environment = launch.environment;
    options.directory = launch.directory;
    // The program is looked up in our PATH, which must be the job's.
    for (const std::string& entry : launch.environment)
      if (entry.starts_with("PATH=")) ::setenv("PATH", entry.c_str() + 5, 1);
    return start_process_group(launch.argv, options, file("out"));
  }

  /// Its status, as waitpid gives it; nullopt if the kernel says that it is not there.
  std::optional<int> wait_for_command(Duration grace) {
    bool stopping = false;
    Duration kill_at{};
    for (;;) {
      const int signal = signals_.wait();
      int status = 0;
      while (const pid_t ended = ::waitpid(-1, &status, WNOHANG)) {
        if (ended == self_.command->pid) return status;
        if (ended < 0) return std::nullopt;
      }
      if (signal != 0 && signal != SIGCHLD && !stopping) {
        stopping = true;
        kill_at = clock_.monotonic() + grace;
        signal_session(*self_.command, SIGTERM);
      }
      if (stopping && clock_.monotonic() >= kill_at) signal_session(*self_.command, SIGKILL);
    }
  }

  /// Ends what the job left behind: the rest of its session, and what has become our child because
  /// its parent is gone.
  void sweep() {
    const Duration end = clock_.monotonic() + sweep_wait_max;
    for (;;) {
      std::size_t left = signal_session(*self_.command, SIGKILL);
      for (const auto pid : children_of_this_process()) {
        ::kill(static_cast<pid_t>(pid), SIGKILL);
        ++left;
      }
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      // What is in an uninterruptible sleep is left to the kernel.
      if (left == 0 || clock_.monotonic() >= end) return;
      clock_.sleep(sweep_step);
    }
  }

  int write_end(const LocalEnd& end) {
    const auto status = write_durably(file("exit"), to_file(end));
    return status ? 0 : say(status.error().message);
  }

  /// Into the job's output: a keeper has nobody else to tell.
  static int say(const std::string& message) {
    const std::string line = "faultline local-keeper: " + message + "\n";
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    return 1;
  }

  const SignalQueue signals_;
  const StateFolder& folder_;
  const std::string& job_;
  const std::uint32_t restart_;
  const Clock& clock_;
  RunFile self_;
};

}  // namespace

int keep_job(const StateFolder& folder, const std::string& job, std::uint32_t restart,
             const Clock& clock) {
  if (!valid_job_id(job)) return 1;
  return Keeper(folder, job, restart, clock).run();
}

}  // namespace faultline
