// Runs other programs: an argument list (never a shell), a deadline, a limit on what is kept of the
// output, a clean environment and no inherited files. A program that outlives its deadline is
// killed with its whole process group.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace faultline {

inline constexpr std::size_t argument_bytes_max =
    120'000;  // of one argument; the kernel's own limit is 128 KiB

struct ProcessOptions {
  Duration deadline{std::chrono::seconds{10}};
  Duration kill_grace{std::chrono::milliseconds{500}};  // between SIGTERM and SIGKILL
  std::size_t output_bytes_max = std::size_t{256}
                                 << 20;  // of stdout and of stderr; the rest is read and dropped
  /// The child sees PATH, LANG=C, LC_ALL=C and these. NAME=VALUE; the last of a name wins.
  std::vector<std::string> environment;
  std::vector<std::string>
      inherit;            // names of variables that are taken over from our own environment, if set
  std::string directory;  // "" = "/"
  const std::atomic<bool>* stop = nullptr;  // once it is true, the deadline is over
};

struct ProcessResult {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
  bool timed_out = false;  // the deadline passed; it was killed. What it did until then is unknown
  bool truncated = false;  // output_bytes_max was reached
};

/// Blocks until the program ended and its group is gone. Errors: invalid_argument (bad argv),
/// not_found and permission_denied (no such program), exhausted (no process to be had), internal. A
/// timeout is no error.
Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                  const ProcessOptions& options);

/// "scontrol update nodename=n3 reason='a b'": for people to paste; quoted where a shell would need
/// it.
std::string command_text(const std::vector<std::string>& argv);

/// A process of this boot that no other can be mistaken for: a reused pid has another start time.
struct ProcessId {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // of /proc/PID/stat
  std::string boot_id;

  bool operator==(const ProcessId&) const = default;
};

/// The identity of a process that runs, or has ended but was not reaped.
ProcessId identify_process(std::int64_t pid);

/// Starts a program in a session and process group of its own, with output appended to
/// `output_path`, and does not wait. `deadline`, `kill_grace` and `output_bytes_max` are not used.
Result<ProcessId> start_process_group(const std::vector<std::string>& argv,
                                      const ProcessOptions& options,
                                      const std::string& output_path);

/// True while any process of the group that `leader` leads runs (a zombie does not). Reaps the
/// leader if it is ours.
bool group_alive(const ProcessId& leader);

/// Signals every process of the group, if it is still that group.
void signal_group(const ProcessId& leader, int signal);

}  // namespace faultline
