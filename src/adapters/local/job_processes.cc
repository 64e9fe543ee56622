#include "adapters/local/job_processes.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::uint64_t stat_bytes_max = 64 * 1024;  // far above what the kernel writes

struct Standing {
  char state = '?';
  std::int64_t parent = 0;
  std::int64_t session = 0;
};

std::optional<Standing> standing_of(std::int64_t pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat", stat_bytes_max);
  if (!text) return std::nullopt;       // it may end while it is read
  const auto close = text->rfind(')');  // the name before it may hold anything
  if (close == std::string::npos || close + 2 >= text->size()) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(close + 2), ' ');
  if (fields.size() < 4 || fields[0].empty()) return std::nullopt;
  const auto parent = parse_number<std::int64_t>(fields[1]);
  const auto session = parse_number<std::int64_t>(fields[3]);
  if (!parent || !session) return std::nullopt;
  return Standing{fields[0][0], *parent, *session};
}

template <class Wanted>
std::vector<std::int64_t> running_processes(Wanted wanted) {
  std::vector<std::int64_t> found;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = ::readdir(folder)) {
    const auto pid = parse_number<std::int64_t>(entry->d_name);
    const auto standing = pid ? standing_of(*pid) : std::nullopt;
    if (standing && standing->state != 'Z' && standing->state != 'X' && wanted(*standing))
      found.push_back(*pid);
  }
  ::closedir(folder);
  return found;
}

}  // namespace

std::size_t signal_session(const ProcessId& leader, int signal) {
  if (leader.pid <= 1) return 0;
  // With the leader gone its number stays taken for as long as the session has members.
  const ProcessId now = identify_process(leader.pid);
  if (now.boot_id != leader.boot_id || (now.start_ticks != 0 && now != leader)) return 0;
  const auto members =
      running_processes([&](const Standing& it) { return it.session == leader.pid; });
  for (const auto pid : members) ::kill(static_cast<pid_t>(pid), signal);
  return members.size();
}

std::vector<std::int64_t> children_of_this_process() {
  const std::int64_t self = ::getpid();
  return running_processes([&](const Standing& it) { return it.parent == self; });
}

}  // namespace faultline
