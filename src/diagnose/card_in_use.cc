#include "diagnose/card_in_use.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/contains.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "detect/place_words.h"
#include "ingest/gpu_processes.h"

namespace faultline {
namespace {

bool lacked_memory(const Verdict& verdict) { return verdict.cause == cause_id::gpu_out_of_memory; }

/// "All CUDA-capable devices are busy or unavailable", and not that there is none.
bool met_busy_card(const Verdict& verdict, const RunPlace& run) {
  return verdict.cause == cause_id::no_gpu_for_process &&
         std::any_of(run.events.begin(), run.events.end(), [&](const Event& event) {
           return contains(verdict.evidence, event.id) &&
                  event.field("text").find("busy") != std::string_view::npos;
         });
}

/// Somebody looked as the job ran, or soon before or after.
bool is_of_the_time(const Event& report, const Verdict& failure, const RunPlace& run) {
  return report.observed_at + before_failure >= run.start &&
         report.observed_at <= failure.since + looked_after_failure_max;
}

/// In a container a process has other numbers: one that the job knows is its own, another may be.
bool is_of_the_job(std::string_view pid, const RunPlace& run) {
  return std::any_of(run.events.begin(), run.events.end(), [&](const Event& event) {
    return event.source != EventSource::nvml && event.field("pid") == pid;
  });
}

/// The reports of the cards on which the run failed: its rank's own, or else all of its node.
std::vector<const Event*> reports_of(std::string_view field, const Verdict& failure,
                                     const RunPlace& run) {
  std::vector<const Event*> reports;
  const bool placed = run.knows_card(failure);
  for (const Event& event : run.events) {
    if (event.source != EventSource::nvml || event.field(field).empty()) continue;
    if (!run.is_on(event.subject.node, failure) || !is_of_the_time(event, failure, run)) continue;
    if (!placed || run.is_on_card(event.subject, failure)) reports.push_back(&event);
  }
  return reports;
}

std::string holder_words(const Event& report) {
  return "process " + std::string(report.field(holder_pid_field)) + " (" +
         std::string(report.field(holder_name_field)) + ")";
}

void add_report(Verdict& failure, const Event& report, const std::string& words) {
  failure.explanation += " As nvidia-smi shows, " + words;
  failure.evidence.push_back(report.id);
  failure.confidence = std::max(failure.confidence, confidence::likely);
  if (const auto pid = report.field(holder_pid_field); !pid.empty())
    failure.missing.push_back("whose process " + std::string(pid) + " on " +
                              node_words(report.subject.node) + " is: ps -o user,lstart,cmd -p " +
                              std::string(pid));
}

/// One card is nearly full: of several each may be the one, and all may be the job's.
void name_holder_of_memory(Verdict& failure, const RunPlace& run) {
  const Event* most = nullptr;
  std::set<Subject> cards;
  for (const Event* report : reports_of(holder_pid_field, failure, run)) {
    if (is_of_the_job(report->field(holder_pid_field), run)) continue;
    cards.insert(report->subject);
    most = report;
  }
  if (cards.size() != 1) return;
  add_report(failure, *most,
             holder_words(*most) + " has " + std::string(most->field(held_mib_field)) + " of " +
                 std::string(most->field(memory_mib_field)) + " MiB of GPU " + most->subject.part +
                 ".");
}

void name_compute_mode(Verdict& failure, const RunPlace& run) {
  const auto reports = reports_of(compute_mode_field, failure, run);
  if (reports.empty()) return;
  const auto held = std::find_if(reports.begin(), reports.end(), [](const Event* report) {
    return !report->field(holder_pid_field).empty();
  });
  const Event& report = held == reports.end() ? *reports.front() : **held;
  const std::string gpu = "GPU " + report.subject.part;
  if (report.field(compute_mode_field) == "prohibited")
    return add_report(failure, report, gpu + " is in a compute mode that lets no process in.");
  const std::string holder =
      held == reports.end() ? "" : ", and " + holder_words(report) + " is there";
  add_report(failure, report,
             gpu + " is in a compute mode that lets one process in at a time" + holder +
                 ": nvidia-smi -c DEFAULT lets more in.");
}

}  // namespace

void name_holder_of_card(std::vector<Verdict>& verdicts, const RunPlace& run) {
  if (verdicts.empty()) return;
  Verdict& failure = verdicts.front();
  if (lacked_memory(failure)) return name_holder_of_memory(failure, run);
  if (met_busy_card(failure, run)) name_compute_mode(failure, run);
}

}  // namespace faultline
