#include "adapters/slurm/slurm_command.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t error_text_bytes_max = 300;

struct KnownText {
  std::string_view text;
  ErrorCode code;
};

/// The first that occurs in the text counts.
constexpr std::array known_texts{
    // A time-out after connecting: slurmctld may have done it.
    KnownText{"socket timed out", ErrorCode::deadline_exceeded},
    KnownText{"zero bytes were transmitted", ErrorCode::deadline_exceeded},
    KnownText{"message receive failure", ErrorCode::deadline_exceeded},
    KnownText{"unable to contact slurm controller", ErrorCode::unavailable},
    KnownText{"backup controller in standby", ErrorCode::unavailable},
    KnownText{"unable to establish controller machine", ErrorCode::unavailable},
    KnownText{"could not establish a configuration source", ErrorCode::unavailable},
    KnownText{"connection refused", ErrorCode::unavailable},
    KnownText{"slurmctld is not running", ErrorCode::unavailable},
    KnownText{"resource temporarily unavailable", ErrorCode::unavailable},
    KnownText{"protocol authentication error", ErrorCode::unavailable},  // munge is down
    KnownText{"invalid job id specified", ErrorCode::not_found},
    KnownText{"invalid node name specified", ErrorCode::not_found},
    KnownText{"access/permission denied", ErrorCode::permission_denied},
    KnownText{"access denied", ErrorCode::permission_denied},
    KnownText{"must be root", ErrorCode::permission_denied},
    KnownText{"job is no longer pending execution", ErrorCode::conflict},
    KnownText{"job is pending execution", ErrorCode::conflict},
    KnownText{"job has already finished", ErrorCode::conflict},
    KnownText{"already completing or completed", ErrorCode::conflict},
};

/// An error may have a line from each part of Slurm that it went through.
std::string one_line(std::string_view text) {
  std::string line;
  for (const auto part : split(text, '\n')) {
    const auto words = trim(part);
    if (!words.empty()) line.append(line.empty() ? "" : "; ").append(words);
  }
  return line;
}

}  // namespace

CommandRunner process_runner(const SlurmOptions& options) {
  ProcessOptions base;
  base.inherit = {"SLURM_CONF", "SLURM_JWT", "HOME", "TZ"};
  if (!options.conf.empty()) base.environment.push_back("SLURM_CONF=" + options.conf);
  // Times as seconds, array task lists in full: the text form is then unambiguous.
  base.environment.emplace_back("SLURM_TIME_FORMAT=%s");
  base.environment.emplace_back("SLURM_BITSTR_LEN=0");
  return [base](const std::vector<std::string>& argv, Duration deadline,
                const std::vector<std::string>& extra_environment) {
    ProcessOptions process = base;
    process.deadline = deadline;
    process.environment.insert(process.environment.end(), extra_environment.begin(),
                               extra_environment.end());
    return run_process(argv, process);
  };
}

ErrorCode classify_slurm_error(std::string_view text) {
  const std::string lower = to_lower(text);
  for (const auto& known : known_texts) {
    if (lower.find(known.text) != std::string::npos) return known.code;
  }
  return ErrorCode::invalid_argument;
}

SlurmCommand::SlurmCommand(SlurmOptions options, CommandRunner runner)
    : options_(std::move(options)), runner_(std::move(runner)) {}

Result<std::string> SlurmCommand::run(std::vector<std::string> argv,
                                      std::optional<Duration> wanted) const {
  const Duration deadline = wanted.value_or(options_.command_deadline);
  const std::string name = argv.front();
  if (!options_.bin_folder.empty()) argv.front() = options_.bin_folder + "/" + name;
  auto result = runner_(argv, deadline, {});
  if (!result) return result.error();
  if (result->timed_out) {
    return Error{ErrorCode::deadline_exceeded,
                 name + " did not answer within " + to_text(deadline)};
  }
  if (result->truncated) return Error{ErrorCode::exhausted, name + " wrote more than is read"};
  if (result->exit_code != 0) {
    // Some of scontrol's complaints go to stdout.
    const std::string text = result->err.empty() ? result->out : result->err;
    return Error{classify_slurm_error(text),
                 name + ": " + printable(one_line(text), error_text_bytes_max)};
  }
  return std::move(result.value().out);
}

Result<ProcessResult> SlurmCommand::run_foreign(const std::vector<std::string>& argv,
                                                Duration deadline,
                                                const std::vector<std::string>& environment) const {
  return runner_(argv, deadline, environment);
}

}  // namespace faultline
