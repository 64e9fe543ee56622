#include "diagnose/warnings.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/kernel_faults.h"
#include "detect/place_words.h"
#include "detect/recovery.h"

namespace faultline {
namespace {

/// One corrected error says nothing and is often two lines; this many do not come by chance.
constexpr std::size_t corrected_min = 5;

using Warnings = std::map<std::pair<const Cause*, Subject>, std::vector<const Event*>>;

bool of_machine(const Event& event) {
  return event.source == EventSource::kernel_log || event.source == EventSource::scheduler;
}

/// A daemon's log that nothing names the node of: detectors judge nodes and speak of none.
bool of_unnamed_node(const Event& event, const Signature& signature) {
  return signature.subject == SubjectKind::node && event.subject.kind == SubjectKind::cluster;
}

bool is_warning(const Event& event, const Signature* signature) {
  return of_machine(event) && event.kind == EventKind::log_signature && signature != nullptr &&
         signature->role == Role::root && signature->use == SignatureUse::primary &&
         (signature->strength == Strength::lead || of_unnamed_node(event, *signature));
}

/// A repair that waits for the GPU's next reset asks for nothing now, so no detector speaks of it.
bool awaits_reset(const Event& event) {
  return event.kind == EventKind::gpu_sample &&
         (event.field("remap_pending") == "1" || event.field("page_retirement_pending") == "1");
}

/// Teardown that names a fault of programs as its cause, whose own line is not here.
bool ends_program(const Event& event, const Catalog& catalog) {
  const std::string_view code = event.field("root_xid");
  const Signature* root = code.empty() ? nullptr : catalog.signature("xid." + std::string(code));
  return root != nullptr && faults_of_programs(*root);
}

const Cause* cause_of_warning(const Event& event, const Catalog& catalog) {
  if (ends_program(event, catalog)) return catalog.cause(cause_id::user_exception);
  if (awaits_reset(event)) return catalog.cause(cause_id::row_remap_pending);
  const Signature* signature = catalog.signature(event.signature);
  return is_warning(event, signature) ? catalog.cause(signature->cause) : nullptr;
}

Severity severity_of(const Event& event, const Catalog& catalog) {
  const Signature* signature = catalog.signature(event.signature);
  return signature == nullptr ? Severity::warning : signature->severity;
}

/// When a signature was last said to be over, by its id, subject and part.
using Cleared = std::map<std::tuple<std::string, Subject, std::string>, Instant>;

Cleared cleared_in(const Replay& replay, const Catalog& catalog) {
  Cleared cleared;
  for (const Event& event : replay.events) {
    const Signature* signature = catalog.signature(event.signature);
    if (signature == nullptr || signature->use != SignatureUse::clears) continue;
    Instant& last = cleared[{signature->clears, event.subject, part_of(event)}];
    last = std::max(last, event.received_at);
  }
  return cleared;
}

Warnings warnings_of(const Replay& replay, const Catalog& catalog) {
  const Cleared cleared = cleared_in(replay, catalog);
  Warnings warnings;
  for (const Event& event : replay.events) {
    const Cause* cause = cause_of_warning(event, catalog);
    if (cause == nullptr) continue;
    const auto over = cleared.find({event.signature, event.subject, part_of(event)});
    if (over != cleared.end() && over->second >= event.received_at) continue;
    const Signature* signature = catalog.signature(event.signature);
    const bool unnamed = signature != nullptr && of_unnamed_node(event, *signature);
    warnings[{cause, unnamed ? Subject::of_node(std::string(unnamed_node)) : event.subject}]
        .push_back(&event);
  }
  return warnings;
}

/// The driver of a GPU warns for a reason, and so does what is called an error; others have to
/// repeat themselves.
bool says_enough(const Subject& subject, const std::vector<const Event*>& events,
                 const Catalog& catalog) {
  const bool error = severity_of(*events.front(), catalog) > Severity::warning;
  return error || subject.kind == SubjectKind::gpu || events.size() >= corrected_min;
}

/// What is printed as the machine starts is of devices that nobody uses yet.
bool all_at_boot(const std::vector<const Event*>& events) {
  constexpr Duration boot_span = std::chrono::minutes{5};
  return std::all_of(events.begin(), events.end(), [&](const Event* event) {
    const auto micros = parse_number<std::int64_t>(event->field("kernel_us"));
    return micros && std::chrono::microseconds{*micros} <= boot_span;
  });
}

}  // namespace

std::optional<Verdict> worst_warning(const Replay& replay, const Catalog& catalog,
                                     WarningsOf which) {
  const Warnings warnings = warnings_of(replay, catalog);
  const Warnings::value_type* worst = nullptr;
  const auto weight = [&](const Warnings::value_type& warning) {
    const Event& first = *warning.second.front();
    return std::tuple(severity_of(first, catalog), warning.second.size(),
                      -first.received_at.time_since_epoch());
  };
  for (const auto& warning : warnings) {
    if (!says_enough(warning.first.second, warning.second, catalog)) continue;
    const bool setting = blames_no_node(*warning.first.first) && !all_at_boot(warning.second);
    if (which == WarningsOf::settings && !setting) continue;
    if (worst == nullptr || weight(warning) > weight(*worst)) worst = &warning;
  }
  if (worst == nullptr) return std::nullopt;
  const auto& [cause, subject] = worst->first;
  Verdict verdict;
  verdict.detector = verdict.rule = warning_rule;
  verdict.cause = cause->id;
  verdict.subject = subject;
  verdict.status = VerdictStatus::suspected;
  verdict.confidence = confidence::weak;
  verdict.since = worst->second.front()->received_at;
  for (const Event* event : worst->second) verdict.evidence.push_back(event->id);
  verdict.explanation = "No fault was reported, but " + std::to_string(worst->second.size()) +
                        (worst->second.size() == 1 ? " line warns" : " lines warn") + " of " +
                        place_words(subject) + ": " + cause->summary + ".";
  verdict.id = make_verdict_id(verdict);
  return verdict;
}

}  // namespace faultline
