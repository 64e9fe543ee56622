#include "diagnose/card_beside_job.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/contains.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/place_words.h"

namespace faultline {
namespace {

constexpr std::string_view reports = "gpu_health";

/// "unspecified launch failure", "unknown error": the program or the GPU.
bool may_be_the_gpu(const Verdict& verdict) {
  static constexpr std::array causes = {cause_id::launch_failure, cause_id::gpu_unavailable};
  return verdict.rule == "first_error" && contains(causes, std::string_view(verdict.cause));
}

bool says_gpu_is_broken(const Verdict& verdict, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  return verdict.rule == "job_names_hardware" && cause != nullptr &&
         cause->cause_class == CauseClass::gpu;
}

bool is_gone(const Verdict& report) {
  return report.cause == cause_id::fell_off_bus || report.cause == cause_id::gpu_missing;
}

bool counts_errors(const Verdict& report) {
  return report.cause == cause_id::ecc_uncorrectable || report.cause == cause_id::row_remap_failed;
}

bool is_run_on(const Verdict& card, const Verdict& failure, const std::vector<std::string>& nodes) {
  if (!failure.subject.node.empty()) return failure.subject.node == card.subject.node;
  return nodes.size() == 1 && nodes.front() == card.subject.node;
}

/// The card of both words: what the job said, and where.
void name_card(Verdict& failure, const Verdict& card, const Catalog& catalog) {
  failure.subject = card.subject;
  failure.evidence.insert(failure.evidence.end(), card.evidence.begin(), card.evidence.end());
  failure.confidence = std::max(failure.confidence, confidence::likely);
  failure.explanation = "The job met a hardware error: " + catalog.cause(failure.cause)->summary +
                        ". One card of the machine says the same. " + card.explanation;
  failure.missing = {kernel_log_words(card.subject.node)};
}

/// That nvidia-smi cannot reach a card may have reasons outside of it, but none that a program
/// which computed on it a moment ago would die of.
void accuse(Verdict& card, const Verdict& failure, const Catalog& catalog) {
  const bool lost = card.cause == cause_id::fell_off_bus;
  card.cause = cause_id::fell_off_bus;
  card.status = VerdictStatus::confirmed;
  card.confidence = lost ? card.confidence : confidence::likely;
  card.attempt = failure.attempt;
  card.consequences.insert(card.consequences.end(), failure.evidence.begin(),
                           failure.evidence.end());
  card.explanation = place_words(card.subject) +
                     " does not answer nvidia-smi any more, and the job ended with: " +
                     catalog.cause(failure.cause)->summary + ". The lost card explains both.";
  card.missing = {kernel_log_words(card.subject.node)};
}

}  // namespace

void put_card_beside_job(std::vector<Verdict>& verdicts, const std::vector<std::string>& nodes,
                         Instant start, const Catalog& catalog) {
  if (verdicts.empty()) return;
  Verdict& failure = verdicts.front();
  const bool names_hardware = says_gpu_is_broken(failure, catalog);
  if (!names_hardware && !may_be_the_gpu(failure)) return;
  std::set<Subject> cards;
  auto found = verdicts.end();
  for (auto report = verdicts.begin() + 1; report != verdicts.end(); ++report) {
    const bool fits = names_hardware ? counts_errors(*report) || report->cause == failure.cause
                                     : is_gone(*report);
    if (report->detector != reports || !fits || report->since < start) continue;
    if (!is_run_on(*report, failure, nodes)) continue;
    cards.insert(report->subject);
    if (found == verdicts.end()) found = report;
  }
  if (cards.size() != 1) return;
  if (names_hardware) return name_card(failure, *found, catalog);
  accuse(*found, failure, catalog);
  std::rotate(verdicts.begin(), found, found + 1);
}

}  // namespace faultline
