#include "adapters/procfs/process_table.h"

#include <algorithm>
#include <map>

#include "agent/job_environment.h"
#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::uint64_t cgroup_bytes_max = 16 * 1024;
constexpr std::uint64_t status_bytes_max = 16 * 1024;
constexpr std::uint64_t environment_bytes_max =
    256 * 1024;  // read up to here; what lies beyond is not seen

std::optional<std::uint32_t> real_user(std::string_view status) {
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with("Uid:")) continue;
    const std::string_view rest = trim(line.substr(4));
    return parse_number<std::uint32_t>(rest.substr(0, rest.find_first_of(" \t")));
  }
  return std::nullopt;
}

std::map<std::string, std::string, std::less<>> parse_environment(std::string_view text) {
  std::map<std::string, std::string, std::less<>> variables;
  for (const std::string_view entry : split(text, '\0')) {
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const bool wanted = name.starts_with("SLURM_") || name.starts_with("FAULTLINE_") ||
                        name.starts_with("TORCHELASTIC_");
    if (wanted && equals != std::string_view::npos)
      variables.emplace(name, entry.substr(equals + 1));
  }
  return variables;
}

}  // namespace

std::string job_of_cgroup(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    // A user may be allowed to make cgroups below his own; the scheduler's come first in the path.
    if (line.find("slurm") == std::string_view::npos) continue;
    for (const std::string_view part : split(line, '/')) {
      if (!part.starts_with("job_")) continue;
      const std::string_view number = part.substr(4);
      if (parse_number<std::uint64_t>(number)) return std::string(number);
    }
  }
  return {};
}

std::optional<ProcessOrigin> ProcfsTable::origin(std::int64_t pid) {
  const std::filesystem::path folder = proc_ / std::to_string(pid);
  const auto status = read_small_file(folder / "status", status_bytes_max);
  const auto user = status.ok() ? real_user(status.value()) : std::nullopt;
  if (!user) return std::nullopt;
  ProcessOrigin origin;
  origin.uid = *user;
  const auto cgroup = read_small_file(folder / "cgroup", cgroup_bytes_max);
  const std::string scheduled = cgroup.ok() ? job_of_cgroup(cgroup.value()) : std::string();
  const auto text = read_file_part(folder / "environ", 0, environment_bytes_max);
  const auto variables =
      parse_environment(text.ok() ? std::string_view(text.value()) : std::string_view());
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
  const bool agrees = scheduled.empty() || lookup("SLURM_JOB_ID") == scheduled;
  if (!agrees) {
    origin.job = scheduled;
    return origin;
  }
  const NamedAttempt named = attempt_of_environment(lookup);
  origin.job = named.attempt.job;
  origin.restart = named.attempt.restart;
  origin.rank = parse_number<std::int32_t>(lookup("SLURM_PROCID").value_or("")).value_or(-1);
  return origin;
}

}  // namespace faultline
