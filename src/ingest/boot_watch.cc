#include "ingest/boot_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t hosts_max = 4096;
/// So many show that the log holds what daemons say.
constexpr std::size_t daemon_lines_min = 3;
/// A machine that goes down writes some hundreds of lines after the first word of it.
constexpr std::size_t shutdown_lines_max = 2000;
constexpr std::string_view boot_words = "Linux version ";

bool tells_of_shutdown(std::string_view program, std::string_view body) {
  static constexpr auto words = std::to_array<std::string_view>({"Reached target Reboot",
                                                                 "Reached target System Reboot",
                                                                 "Reached target Power",
                                                                 "Reached target System Power Off",
                                                                 "Reached target Shutdown",
                                                                 "Reached target System Shutdown",
                                                                 "Reached target Halt",
                                                                 "Reached target Final Step",
                                                                 "Reached target Late Shutdown",
                                                                 "Reached target Unmount All",
                                                                 "Stopped target Multi-User",
                                                                 "Stopping System Logging Service",
                                                                 "System is rebooting",
                                                                 "System is powering down",
                                                                 "System is halting",
                                                                 "The system will reboot now",
                                                                 "The system will power off now",
                                                                 "Power key pressed",
                                                                 "Journal stopped",
                                                                 "exiting on signal 15",
                                                                 "syslog-ng shutting down",
                                                                 "shutting down for system",
                                                                 "Switching to runlevel: 6",
                                                                 "Switching to runlevel: 0",
                                                                 "reboot: Restarting system",
                                                                 "reboot: Power down",
                                                                 "Starting new kernel",
                                                                 "Shutting down."});
  return program == "systemd-shutdown" ||
         std::any_of(words.begin(), words.end(), [&](std::string_view word) {
           return body.find(word) != std::string_view::npos;
         });
}

bool may_tell_of_shutdown(std::string_view program) {
  static constexpr auto programs = std::to_array<std::string_view>(
      {"systemd", "kernel", "shutdown", "reboot", "init", "rsyslogd", "syslog-ng", "kexec"});
  return std::any_of(programs.begin(), programs.end(),
                     [&](std::string_view name) { return program.starts_with(name); });
}

}  // namespace

std::string BootWatch::pass(const LinePrefix& prefix, std::string_view body,
                            const TimeReference& reference) {
  if (!prefix.from_syslog || prefix.host.empty() || prefix.program.empty()) return {};
  auto found = hosts_.find(prefix.host);
  if (found == hosts_.end()) {
    if (hosts_.size() >= hosts_max) return {};
    found = hosts_.emplace(prefix.host, Host{}).first;
  }
  Host& host = found->second;
  std::string told;
  if (prefix.program == "kernel" && body.starts_with(boot_words)) {
    const Host before = std::exchange(host, Host{});
    const bool shut_down = before.shut_down && before.lines_since_shutdown <= shutdown_lines_max;
    const Instant last = resolve_time(before.time_form, before.time, reference).at;
    if (before.daemon_lines >= daemon_lines_min && !shut_down && known(last))
      told = to_text(last) + " " + std::string(prefix.host) +
             " kernel: boot_unclean: its last line, without a shutdown, before the kernel's first "
             "at " +
             printable(prefix.time, 64);
  }
  if (prefix.program != "kernel") ++host.daemon_lines;
  ++host.lines_since_shutdown;
  if (may_tell_of_shutdown(prefix.program) && tells_of_shutdown(prefix.program, body)) {
    host.shut_down = true;
    host.lines_since_shutdown = 0;
  }
  host.time_form = prefix.time_form;
  host.time = prefix.time;
  return told;
}

}  // namespace faultline
