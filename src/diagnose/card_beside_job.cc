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

/// A card that met an error may keep the memory of the processes which died of it, until it is
/// reset.
bool lacked_memory(const Verdict& verdict) {
  return verdict.rule == "first_error" && verdict.cause == cause_id::gpu_out_of_memory;
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

bool is_card_of_rank(const Verdict& card, const Verdict& failure, const RunPlace& run) {
  return card.since <= failure.since + looked_after_failure_max &&
         run.is_on_card(card.subject, failure);
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

/// The job's words name no hardware; the card's counter does, and it is the card they are about.
void blame_for_memory(Verdict& card, const Verdict& failure) {
  card.confidence = confidence::likely;
  card.attempt = failure.attempt;
  card.consequences.insert(card.consequences.end(), failure.evidence.begin(),
                           failure.evidence.end());
  card.explanation +=
      " The rank on this card ran out of GPU memory: after such an error a card may keep what dead "
      "processes had, until it is reset.";
  card.missing = {kernel_log_words(card.subject.node)};
}

/// Which of a report's cards could be what the run failed of.
enum class Wanted { none, named, gone, short_of_memory };

Wanted wanted_for(const Verdict& failure, const Catalog& catalog) {
  if (says_gpu_is_broken(failure, catalog)) return Wanted::named;
  if (may_be_the_gpu(failure)) return Wanted::gone;
  return lacked_memory(failure) ? Wanted::short_of_memory : Wanted::none;
}

bool fits(const Verdict& report, Wanted wanted, const Verdict& failure, const RunPlace& run) {
  switch (wanted) {
    case Wanted::none: return false;
    case Wanted::named: return counts_errors(report) || report.cause == failure.cause;
    case Wanted::gone: return is_gone(report);
    case Wanted::short_of_memory:
      return counts_errors(report) && is_card_of_rank(report, failure, run);
  }
  return false;
}

}  // namespace

void put_card_beside_job(std::vector<Verdict>& verdicts, const RunPlace& run,
                         const Catalog& catalog) {
  if (verdicts.empty()) return;
  Verdict& failure = verdicts.front();
  const Wanted wanted = wanted_for(failure, catalog);
  if (wanted == Wanted::none) return;
  std::set<Subject> cards;
  auto found = verdicts.end();
  for (auto report = verdicts.begin() + 1; report != verdicts.end(); ++report) {
    if (report->detector != reports || !fits(*report, wanted, failure, run) ||
        report->since < run.start || !run.is_on(report->subject.node, failure))
      continue;
    cards.insert(report->subject);
    if (found == verdicts.end()) found = report;
  }
  if (cards.size() != 1) return;
  if (wanted == Wanted::named) return name_card(failure, *found, catalog);
  if (wanted == Wanted::gone) {
    accuse(*found, failure, catalog);
  } else {
    blame_for_memory(*found, failure);
  }
  std::rotate(verdicts.begin(), found, found + 1);
}

}  // namespace faultline
