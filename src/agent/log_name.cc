#include "agent/log_name.h"

#include <algorithm>
#include <string>

#include "model/names.h"

namespace faultline {
namespace {

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<AttemptId> attempt_of_log_name(std::string_view path, std::string_view node) {
  std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  std::string_view job;
  if (name.starts_with("slurm-") && name.ends_with(".out")) {
    job = name.substr(6, name.size() - 10);
    if (job.empty() || job.front() < '0' || job.front() > '9') return std::nullopt;
  } else if (name.ends_with(".log")) {
    name.remove_suffix(4);
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || !digits(name.substr(dash + 1))) return std::nullopt;
    const std::string ending = "-" + std::string(node);
    job = name.substr(0, dash);
    if (!job.ends_with(ending)) return std::nullopt;
    job.remove_suffix(ending.size());
  }
  if (!valid_job_id(job)) return std::nullopt;
  return AttemptId{std::string(job), 0};
}

}  // namespace faultline
