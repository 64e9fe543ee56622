#include "agent/job_environment.h"

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

std::string slurm_job(const Environment& environment) {
  const auto text = [&](std::string_view name) { return environment(name).value_or(""); };
  const std::string job = text("SLURM_JOB_ID");
  if (job.empty()) return {};
  if (const std::string array = text("SLURM_ARRAY_JOB_ID"), task = text("SLURM_ARRAY_TASK_ID");
      !array.empty() && !task.empty()) {
    return array + "_" + task;
  }
  if (const std::string leader = text("SLURM_HET_JOB_ID"), offset = text("SLURM_HET_JOB_OFFSET");
      !leader.empty() && !offset.empty()) {
    return leader + "+" + offset;
  }
  constexpr std::int32_t parts_max = 128;  // Slurm's own limit of a heterogeneous job
  const std::int32_t parts = number_of(environment, "SLURM_HET_SIZE").value_or(0);
  const std::string leader = text("SLURM_JOB_ID_HET_GROUP_0");
  for (std::int32_t part = 0; part < parts && part < parts_max && !leader.empty(); ++part) {
    const std::string number = std::to_string(part);
    if (text("SLURM_JOB_ID_HET_GROUP_" + number) == job) return leader + "+" + number;
  }
  return job;
}

}  // namespace

std::optional<std::int32_t> number_of(const Environment& environment, std::string_view name) {
  const auto value = parse_number<std::int32_t>(environment(name).value_or(""));
  return value && *value >= 0 ? value : std::nullopt;
}

NamedAttempt attempt_of_environment(const Environment& environment) {
  const auto restarts = [&](std::string_view name) {
    return static_cast<std::uint32_t>(number_of(environment, name).value_or(0));
  };
  if (const std::string job = slurm_job(environment); valid_job_id(job)) {
    return {{job, restarts("SLURM_RESTART_COUNT")}, "slurm"};
  }
  if (const std::string job = environment("FAULTLINE_JOB").value_or(""); valid_job_id(job)) {
    return {{job, restarts("FAULTLINE_RESTART")}, "local"};
  }
  const std::string run = environment("TORCHELASTIC_RUN_ID").value_or("");
  if (valid_job_id(run) && run != "none") {  // torchrun's own default says nothing
    return {{run, restarts("TORCHELASTIC_RESTART_COUNT")}, "torchrun"};
  }
  // What mpirun alone gives all of its ranks in common.
  const std::string mpi = "mpi-" + environment("PMIX_NAMESPACE").value_or("");
  if (valid_job_id(mpi) && mpi != "mpi-") return {{mpi, 0}, "openmpi"};
  return {};
}

}  // namespace faultline
