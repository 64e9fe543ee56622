#include "ingest/shell_prompt.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/text_cursor.h"
#include "model/names.h"

namespace faultline {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t prompt_bytes_max = 200;
constexpr std::size_t environment_bytes_max = 50;  // of "(base) "

/// Programs that tell of the machine on which they run.
constexpr std::array local_programs = {
    "dmesg"sv,      "journalctl"sv,  "nvidia-smi"sv,  "nvidia-bug-report.sh"sv,
    "dcgmi"sv,      "nvsm"sv,        "systemctl"sv,   "ibstat"sv,
    "ibstatus"sv,   "ibv_devinfo"sv, "ibv_devices"sv, "ibdev2netdev"sv,
    "lspci"sv,      "ipmitool"sv,    "rocm-smi"sv,    "amd-smi"sv,
    "last"sv,       "uptime"sv,      "ethtool"sv,     "mlxlink"sv,
    "rdma"sv,       "df"sv,          "mount"sv,       "torchrun"sv,
    "ras-mc-ctl"sv, "mcelog"sv,      "smartctl"sv,    "nvme"sv,
    "sensors"sv,    "lsmod"sv,       "hplog"sv,       "hpasmcli"sv};
/// Programs that print a file, of whatever machine it is.
constexpr std::array file_printers = {"cat"sv,  "zcat"sv, "less"sv,  "more"sv,  "head"sv,
                                      "tail"sv, "grep"sv, "egrep"sv, "zgrep"sv, "awk"sv};
/// Files that are of the machine on which they lie.
constexpr std::array local_files = {"/var/log/"sv, "/proc/"sv, "/sys/"sv, "/dev/kmsg"sv};

bool is_local(std::string_view program) {
  return program.starts_with("python") || contains(local_programs, program);
}

bool is_user(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '\\';
  });
}

/// Docker names a container by the first twelve digits of its id.
bool is_container_id(std::string_view host) {
  return host.size() == 12 && std::all_of(host.begin(), host.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'f');
         });
}

std::string_view machine(std::string_view host) { return is_container_id(host) ? "" : host; }

/// "(base) [root@host ~]# ": what virtual environments put before a prompt.
std::string_view without_environment(std::string_view line) {
  while (line.starts_with('(')) {
    const auto end = line.find(") ");
    if (end == std::string_view::npos || end > environment_bytes_max) break;
    line.remove_prefix(end + 2);
  }
  return line;
}

/// "user@host" and what stands behind it up to the sign, of either kind of prompt.
std::optional<ShellPrompt> prompt_of(std::string_view who, std::string_view command) {
  const auto at = who.find('@');
  if (at == std::string_view::npos || !is_user(who.substr(0, at))) return std::nullopt;
  std::string_view host = who.substr(at + 1);
  host = host.substr(0, host.find_first_of(": "));
  if (!valid_node_name(host)) return std::nullopt;
  return ShellPrompt{machine(host), trim(command)};
}

std::optional<ShellPrompt> bracketed(std::string_view line) {
  const auto end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos || end + 1 >= line.size())
    return std::nullopt;
  const char sign = line[end + 1];
  const std::string_view command = line.substr(end + 2);
  if ((sign != '$' && sign != '#') || (!command.empty() && command.front() != ' '))
    return std::nullopt;
  return prompt_of(line.substr(1, end - 1), command);
}

/// Where a prompt would end. Twice memchr: find_first_of calls it for each byte.
std::size_t sign_of(std::string_view text) { return std::min(text.find('$'), text.find('#')); }

/// "user@host:/srv$ ", "user@host:~# ", "host:~ # ", "host:/srv # ".
std::optional<ShellPrompt> with_folder(std::string_view line) {
  const auto sign = sign_of(line);
  if (sign == std::string_view::npos || sign == 0 || sign > prompt_bytes_max) return std::nullopt;
  const std::string_view command = line.substr(sign + 1);
  if (!command.empty() && command.front() != ' ') return std::nullopt;
  const std::string_view who = trim(line.substr(0, sign));
  const auto colon = who.find(':');
  const std::string_view folder = colon == std::string_view::npos ? "" : who.substr(colon + 1);
  const bool is_folder = folder.starts_with('~') || folder.starts_with('/');
  const auto spaces = static_cast<std::size_t>(std::count(who.begin(), who.end(), ' '));
  if (is_folder && spaces == 0) {
    if (who.find('@') < colon) return prompt_of(who, command);
    const std::string_view host = who.substr(0, colon);
    if (valid_node_name(host)) return ShellPrompt{machine(host), trim(command)};
  }
  // "user@host$ ", "user@host ~ $ "
  return colon == std::string_view::npos && spaces <= 1 ? prompt_of(who, command) : std::nullopt;
}

/// "gpu07$ nvidia-smi": so short that only a program of ours behind it tells it from other words.
std::optional<ShellPrompt> bare(std::string_view line) {
  const auto sign = sign_of(line);
  if (sign == std::string_view::npos || !line.substr(sign + 1).starts_with(' '))
    return std::nullopt;
  const std::string_view host = line.substr(0, sign), command = trim(line.substr(sign + 2));
  const std::string_view program = command.substr(0, command.find(' '));
  if (host.empty()) {
    if (line[sign] == '$' && !command.empty()) return ShellPrompt{"", command};
    return std::nullopt;
  }
  if (!valid_node_name(host) || !is_local(program)) return std::nullopt;
  return ShellPrompt{machine(host), command};
}

std::string_view take_word(std::string_view& text) {
  text = trim(text);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

/// The program of a command, behind "sudo", "watch -n 5" and variables; the rest stays in
/// `command`.
std::string_view take_program(std::string_view& command) {
  while (true) {
    std::string_view word = take_word(command);
    if (is_assignment(word) || word == "sudo" || word == "time" || word == "watch" ||
        (word.starts_with('-') && !command.empty()) || parse_number<int>(word))
      continue;
    return word.substr(word.rfind('/') + 1);
  }
}

/// "ssh -p 22 root@n3 dmesg"
std::string_view host_of_ssh(std::string_view arguments) {
  while (!trim(arguments).empty()) {
    std::string_view word = take_word(arguments);
    if (word.starts_with('-')) {
      if (word.size() == 2 && "46AaCfGgKkMNnqsTtVvXxYy"sv.find(word[1]) == std::string_view::npos)
        take_word(arguments);
      continue;
    }
    word = word.substr(word.find('@') + 1);
    return valid_node_name(word) ? word : std::string_view();
  }
  return {};
}

bool names_local_file(std::string_view arguments) {
  return std::any_of(local_files.begin(), local_files.end(), [&](std::string_view file) {
    return arguments.find(file) != std::string_view::npos;
  });
}

}  // namespace

std::optional<ShellPrompt> shell_prompt(std::string_view line) {
  line = without_environment(line);
  if (const auto prompt = bracketed(line)) return prompt;
  if (const auto prompt = with_folder(line)) return prompt;
  return bare(line);
}

std::string_view asked_host(const ShellPrompt& prompt) {
  std::string_view rest = prompt.command;
  const std::string_view program = take_program(rest);
  if (program == "ssh") return host_of_ssh(rest);
  const bool own =
      is_local(program) || (contains(file_printers, program) && names_local_file(rest));
  return own ? prompt.host : std::string_view();
}

std::vector<SessionPart> session_parts(std::string_view text) {
  std::vector<SessionPart> parts;
  if (sign_of(text) == std::string_view::npos) return parts;  // as of nearly every log
  bool named = false;
  std::string host;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    const std::string_view part = text.substr(begin, end - begin);
    if (!trim(part).empty()) parts.push_back({part, begin, host});
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string_view line = text.substr(at, end - at);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (const auto prompt = shell_prompt(line)) {
      close(at);
      named = named || !prompt->host.empty();
      host = asked_host(*prompt);
      begin = end;
    }
    at = end;
  }
  close(text.size());
  if (!named) parts.clear();
  return parts;
}

}  // namespace faultline
