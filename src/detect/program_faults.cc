// Xid 13 (exception on a streaming multiprocessor) and Xid 31 (access to memory that is not mapped)
// are nearly always the program's doing; now and then they are a bad GPU, and writing all of them
// off hides it. What tells them apart is place: a program faults on many multiprocessors or many
// GPUs at once, a bad multiprocessor faults again at the same place under another program, while
// the other GPUs are silent.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/kernel_faults.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

/// One program's faults come together; several GPUs inside this are one program, not several bad
/// cards.
constexpr Duration program_burst_gap = std::chrono::minutes{1};
/// Two faults this far apart are two runs, where neither process nor attempt is known.
constexpr Duration other_run_gap = std::chrono::minutes{10};

std::string place_of(const Fact& fact) {
  std::string place;
  for (const std::string_view name : {"gpc", "tpc"}) {
    place += std::string(name) + std::string(fact.event.field(name)) + ' ';
  }
  return place;
}

bool spread(const FactList& burst) {
  std::set<Subject> gpus;
  std::set<std::string> places;
  for (const Fact* fact : burst) {
    gpus.insert(fact->event.subject);
    if (!fact->event.field("gpc").empty()) places.insert(place_of(*fact));
  }
  return gpus.size() > 1 || places.size() > 1;
}

std::vector<FactList> bursts_of(const FactList& facts) {
  std::vector<FactList> bursts;
  for (const Fact* fact : facts) {
    if (bursts.empty() || fact->at - bursts.back().back()->at > program_burst_gap)
      bursts.emplace_back();
    bursts.back().push_back(fact);
  }
  return bursts;
}

std::string process_of(const FactList& burst) {
  for (const Fact* fact : burst) {
    const std::string_view pid = fact->event.field("pid");
    if (parse_number<long>(pid)) return std::string(pid);
  }
  return {};
}

bool other_run(const FactList& a, const FactList& b) {
  const auto &first = a.front()->event.attempt, &second = b.front()->event.attempt;
  if (first && second) return *first != *second;
  const std::string process = process_of(a), other = process_of(b);
  if (!process.empty() && !other.empty()) return process != other;
  return b.front()->at - a.back()->at >= other_run_gap;
}

KernelFault make_fault(const FactList& evidence, const Cause* cause) {
  KernelFault fault;
  fault.cause = cause;
  fault.evidence = evidence;
  fault.ready_at = evidence.front()->arrived + burst_gap;
  return fault;
}

/// The GPU that all lines speak of; nullptr if there are several or it has no address.
const Subject* one_gpu(const FactList& burst) {
  const Subject& gpu = burst.front()->event.subject;
  const bool alone = names_part(gpu) && std::all_of(burst.begin(), burst.end(), [&](auto* fact) {
                       return fact->event.subject == gpu;
                     });
  return alone ? &gpu : nullptr;
}

/// The job if any of the lines knows it; else the one GPU where it happened, by which a person
/// finds the job.
Subject program_subject(const FactList& burst) {
  for (const Fact* fact : burst) {
    if (fact->event.attempt) return job_of(fact->event);
  }
  const Subject* gpu = one_gpu(burst);
  return gpu != nullptr ? *gpu : job_of(burst.front()->event);
}

/// "Process 5511 on n1, GPU 0000:3b:00.0": what a person needs to find the program.
std::string program_text(const FactList& burst) {
  const std::string process = process_of(burst);
  std::string text = (process.empty() ? "A program" : "Process " + process) + " on " +
                     node_words(node_of(burst.front()->event));
  const Subject* gpu = one_gpu(burst);
  return gpu != nullptr ? text + ", GPU " + gpu->part + "," : text;
}

KernelFault program_fault(const FactList& burst, bool sure, const Catalog& catalog) {
  KernelFault fault = make_fault(burst, catalog.cause(cause_id::user_exception));
  fault.subject = program_subject(burst);
  fault.program = true;
  fault.inferred = !sure;
  fault.confidence = sure ? confidence::strong : confidence::weak;
  if (sure) {
    fault.note = program_text(burst) +
                 " made the GPU fault at several places at once, as a wrong address or index does; "
                 "the hardware is not suspected.";
  } else {
    fault.note = program_text(burst) +
                 " made the GPU fault once at one place: most often the program, rarely the GPU.";
    fault.missing.push_back(
        "the same fault on this GPU under another program would point at the GPU");
  }
  return fault;
}

/// Single-place bursts of one GPU that repeat in another run.
std::vector<KernelFault> repeats(const std::vector<FactList>& bursts, const Cause* cause,
                                 std::set<const Fact*>& used) {
  std::map<std::pair<Subject, std::string>, std::vector<FactList>> by_place;
  std::map<std::string, std::set<Subject>> gpus_at;
  for (const FactList& burst : bursts) {
    for (const Fact* fact : burst) gpus_at[place_of(*fact)].insert(fact->event.subject);
    if (!spread(burst))
      by_place[{burst.front()->event.subject, place_of(*burst.front())}].push_back(burst);
  }
  std::vector<KernelFault> faults;
  for (const auto& [place, runs] : by_place) {
    if (runs.size() < 2 || !names_part(place.first)) continue;
    if (gpus_at[place.second].size() > 1) continue;  // the other GPUs are not silent there
    if (std::none_of(runs.begin() + 1, runs.end(),
                     [&](const FactList& run) { return other_run(runs.front(), run); }))
      continue;
    FactList evidence;
    for (const FactList& run : runs) evidence.insert(evidence.end(), run.begin(), run.end());
    used.insert(evidence.begin(), evidence.end());
    KernelFault fault = make_fault(evidence, cause);
    fault.subject = place.first;
    fault.inferred = true;  // investigate; a field diagnostic proves it, not a log line
    fault.confidence = confidence::fair;
    fault.note = "The same GPU faulted at the same place in " + std::to_string(runs.size()) +
                 " runs, and no other GPU of the node did.";
    fault.missing.push_back("a field diagnostic of that GPU");
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

std::vector<KernelFault> judge_program_faults(const FactList& facts, const Catalog& catalog) {
  std::map<std::string, FactList> by_cause;
  for (const Fact* fact : facts) {
    if (const Cause* cause = cause_of(*fact, catalog)) by_cause[cause->id].push_back(fact);
  }
  std::vector<KernelFault> faults;
  if (catalog.cause(cause_id::user_exception) == nullptr) return faults;
  for (const auto& [cause, same] : by_cause) {
    const std::vector<FactList> bursts = bursts_of(same);
    std::set<const Fact*> used;
    for (KernelFault& fault : repeats(bursts, catalog.cause(cause), used))
      faults.push_back(std::move(fault));
    for (const FactList& burst : bursts) {
      if (!used.contains(burst.front()))
        faults.push_back(program_fault(burst, spread(burst), catalog));
    }
  }
  return faults;
}

}  // namespace faultline
