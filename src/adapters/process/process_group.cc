// Process groups that outlive us: found again by pid, start time and boot.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "adapters/process/process.h"
#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::uint64_t proc_file_bytes_max = 64 * 1024;

std::string read_proc(const std::string& path) {
  auto text = read_small_file("/proc/" + path, proc_file_bytes_max);
  return text ? std::move(text).value() : std::string{};  // a process may end while it is read
}

std::string boot_id() { return std::string(trim(read_proc("sys/kernel/random/boot_id"))); }

struct ProcessStat {
  char state = '?';
  std::int64_t group = 0;
  std::uint64_t start_ticks = 0;
};

std::optional<ProcessStat> read_stat(std::int64_t pid) {
  const std::string text = read_proc(std::to_string(pid) + "/stat");
  const auto close = text.rfind(')');  // the name before it may hold anything
  if (close == std::string::npos || close + 2 >= text.size()) return std::nullopt;
  const auto fields = split(std::string_view(text).substr(close + 2), ' ');
  if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
  const auto group = parse_number<std::int64_t>(fields[2]);
  const auto start = parse_number<std::uint64_t>(fields[19]);
  if (!group || !start) return std::nullopt;
  return ProcessStat{fields[0][0], *group, *start};
}

bool any_member_runs(std::int64_t group) {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return false;
  bool found = false;
  while (const dirent* entry = ::readdir(folder)) {
    const auto pid = parse_number<std::int64_t>(entry->d_name);
    if (!pid) continue;
    const auto stat = read_stat(*pid);
    if (stat && stat->group == group && stat->state != 'Z' && stat->state != 'X') {
      found = true;
      break;
    }
  }
  ::closedir(folder);
  return found;
}

/// False if the pid belongs to somebody else by now. With the leader gone its group keeps the
/// number from being reused.
bool same_group(const ProcessId& leader) {
  if (leader.pid <= 1 || leader.boot_id != boot_id()) return false;
  const auto stat = read_stat(leader.pid);
  return !stat || stat->start_ticks == leader.start_ticks;
}

}  // namespace

ProcessId identify_process(std::int64_t pid) {
  const auto stat = read_stat(pid);
  return {pid, stat ? stat->start_ticks : 0, boot_id()};
}

bool group_alive(const ProcessId& leader) {
  if (!same_group(leader)) return false;
  ::waitpid(static_cast<pid_t>(leader.pid), nullptr, WNOHANG);
  return any_member_runs(leader.pid);
}

void signal_group(const ProcessId& leader, int signal) {
  if (group_alive(leader)) ::kill(static_cast<pid_t>(-leader.pid), signal);
}

}  // namespace faultline
