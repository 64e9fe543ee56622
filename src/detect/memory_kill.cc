#include "detect/memory_kill.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

#include "base/contains.h"
#include "detect/cause_ids.h"
#include "detect/node_pattern.h"

namespace faultline {
namespace {

bool plain_number(std::string_view job) {
  return !job.empty() && job.find_first_not_of("0123456789") == std::string_view::npos;
}

bool was_killed(const FailureCase& failure) {
  const auto& ranks = failure.attempt.failed_ranks;
  return signal_of(failure.failing.event) == SIGKILL ||
         std::any_of(ranks.begin(), ranks.end(),
                     [](const auto& exit) { return signal_of(exit.second.event) == SIGKILL; }) ||
         std::any_of(failure.lines.begin(), failure.lines.end(),
                     [](const JobLine& line) { return signal_of(line.fact->event) == SIGKILL; });
}

/// What launchers say of the processes that they lost by SIGKILL.
struct Lost {
  std::vector<std::string_view> pids;
  std::vector<std::string_view> programs;
  std::vector<std::string_view> nodes;
};

Lost lost_by_launcher(const FailureCase& failure) {
  Lost lost;
  const auto add = [](std::vector<std::string_view>& values, std::string_view value) {
    if (!value.empty()) values.push_back(value);
  };
  for (const JobLine& line : failure.lines) {
    if (signal_in(line) != SIGKILL) continue;
    const Event& event = line.fact->event;
    add(lost.pids, event.field("pid"));
    add(lost.programs, event.field("binary"));
    add(lost.nodes, line.node);
  }
  return lost;
}

/// "python" of "/opt/conda/bin/python3.11".
std::string_view program_stem(std::string_view program) {
  program = program.substr(program.rfind('/') + 1);
  return program.substr(0, program.find_first_of("0123456789."));
}

/// A child, as a worker that loads data, dies in its parent's name. PyTorch gives its threads and
/// workers names of their own.
bool is_called_as(std::string_view process, const std::vector<std::string_view>& programs) {
  if (process.empty() || process.starts_with("pt_")) return true;
  if (programs.empty()) return program_stem(process) == "python";
  return std::any_of(programs.begin(), programs.end(), [&](std::string_view program) {
    return program_stem(program) == program_stem(process);
  });
}

bool is_lost_process(const KernelFault& fault, const Lost& lost) {
  if (lost.pids.empty()) return true;
  return std::any_of(fault.evidence.begin(), fault.evidence.end(), [&](const Fact* fact) {
    return contains(lost.pids, fact->event.field("pid")) ||
           is_called_as(fact->event.field("proc"), lost.programs);
  });
}

/// A name that is formed otherwise may be a container's, and this its machine.
bool is_lost_place(const std::string& node, const Lost& lost) {
  if (lost.nodes.empty() || contains(lost.nodes, node)) return true;
  return std::none_of(lost.nodes.begin(), lost.nodes.end(), [&](std::string_view other) {
    return name_pattern(other) == name_pattern(node);
  });
}

/// A control group names the job, but array tasks and parts of heterogeneous jobs have numbers
/// there that differ from their names; then a death by SIGKILL must agree.
bool killed_this_job(const KernelFault& fault, const std::string& node,
                     const FailureCase& failure) {
  const Subject& victim = fault.subject;
  const std::string& job = victim.attempt.job;
  const bool named = job != Subject::of_unnamed_job().attempt.job;
  if (named && victim.kind == SubjectKind::attempt) return victim.attempt == failure.attempt.id;
  if (named && job == failure.attempt.id.job) return true;
  if (plain_number(job) && plain_number(failure.attempt.id.job)) return false;
  const Lost lost = lost_by_launcher(failure);
  const bool same_job = job == failure.attempt.id.job || was_killed(failure);
  return same_job && is_lost_process(fault, lost) && is_lost_place(node, lost);
}

}  // namespace

int signal_in(const JobLine& line) {
  const int signal = signal_of(line.fact->event);
  return signal == 0 && line.cause->id == cause_id::sigkill ? SIGKILL : signal;
}

bool concerns_memory(const Cause& cause) {
  return cause.id == cause_id::out_of_memory_cgroup || cause.id == cause_id::out_of_memory_host;
}

std::optional<MemoryKill> memory_kill_of(const FailureCase& failure) {
  for (const NodeFaults& faults : failure.nodes) {
    for (const KernelFault& fault : faults.faults) {
      if (concerns_memory(*fault.cause) && killed_this_job(fault, faults.node, failure))
        return MemoryKill{&fault, faults.node};
    }
  }
  return std::nullopt;
}

}  // namespace faultline
