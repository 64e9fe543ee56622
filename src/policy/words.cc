#include "policy/words.h"

#include <algorithm>

#include "base/contains.h"
#include "policy/proposal.h"
#include "policy/tallies.h"

namespace faultline {
namespace {

bool independent(EventSource source) {
  switch (source) {
    case EventSource::kernel_log:
    case EventSource::nvml:
    case EventSource::scheduler:
    case EventSource::controller:
    case EventSource::person: return true;
    case EventSource::job_log:
    case EventSource::launcher:
    case EventSource::collective_trace:
    case EventSource::agent: return false;
  }
  return false;
}

/// A broken program cannot be told from a broken node by its own words, unless they name hardware.
bool names_hardware(const Cause* cause) {
  if (cause == nullptr || !concerns_node(cause->remedy)) return false;
  switch (cause->cause_class) {
    case CauseClass::software:
    case CauseClass::environment:
    case CauseClass::workload:
    case CauseClass::unknown: return false;
    default: return true;
  }
}

bool has_failed(AttemptState state) {
  return state == AttemptState::failed || state == AttemptState::node_fail ||
         state == AttemptState::out_of_memory || state == AttemptState::requeued;
}

}  // namespace

bool spoken_by_job(EventSource source) {
  return source == EventSource::job_log || source == EventSource::launcher ||
         source == EventSource::collective_trace;
}

bool has_independent_witness(const Verdict& verdict) {
  return std::any_of(verdict.witnesses.begin(), verdict.witnesses.end(), independent);
}

bool stands_on_words(const Verdict& verdict) {
  return !verdict.witnesses.empty() &&
         std::all_of(verdict.witnesses.begin(), verdict.witnesses.end(), spoken_by_job);
}

std::optional<std::string> words_lack(const PolicyInput& input) {
  const Verdict& verdict = input.verdict;
  if (!stands_on_words(verdict)) return "waits for what would settle it";
  if (!names_hardware(input.catalog.cause(verdict.cause)))
    return verdict.cause + " is not about hardware";
  const Attempt* attempt = verdict.attempt ? input.view.attempt(*verdict.attempt) : nullptr;
  if (attempt == nullptr) return "the scheduler knows no attempt that says so";
  const std::string node = node_of(verdict.subject);
  if (!contains(attempt->nodes, node)) return "it names no node of " + attempt->id.text();
  // While its launcher still withholds its exit, what comes next of its array is kept off the node;
  // an attempt that cannot be requeued is itself left alone.
  const bool leaves =
      has_failed(attempt->state) ||
      (!attempt->restartable && !ended(attempt->state) && array_meets(*attempt, node, input.view));
  if (!leaves) return attempt->id.text() + " has not failed";
  if (verdict.confidence >= input.limits.words_confidence_min) return std::nullopt;
  return "a job's words need " +
         std::to_string(static_cast<int>(input.limits.words_confidence_min * 100)) + " %";
}

}  // namespace faultline
