#include "controller/test_witness.h"

#include <algorithm>

#include "policy/words.h"

namespace faultline {
namespace {

/// As sure as a kernel line: the site wrote the test to decide just this.
constexpr double test_confidence = 0.95;

bool about_suspected_node(const Verdict& verdict, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  return verdict.status == VerdictStatus::suspected && stands_on_words(verdict) &&
         cause != nullptr && concerns_node(cause->remedy) && concerns_node(verdict.subject);
}

}  // namespace

bool TestWitness::observe(const Event& event) {
  if (event.kind != EventKind::test_finished) return false;
  auto& results = results_[event.subject.node];
  const bool repeated = std::any_of(results.begin(), results.end(),
                                    [&](const Event& other) { return other.id == event.id; });
  if (repeated) return true;
  const auto later = std::find_if(results.begin(), results.end(), [&](const Event& other) {
    return other.observed_at > event.observed_at;
  });
  results.insert(later, event);
  while (results.size() > tests_per_node_max) results.pop_front();
  return true;
}

Verdict TestWitness::heard(Verdict verdict) const {
  const auto results = results_.find(verdict.subject.node);
  if (results == results_.end() || !about_suspected_node(verdict, catalog_)) return verdict;
  const auto test =
      std::find_if(results->second.begin(), results->second.end(),
                   [&](const Event& event) { return event.observed_at >= verdict.since; });
  if (test == results->second.end()) return verdict;
  const bool passed = test->field("exit_code") == "0";
  verdict.status = passed ? VerdictStatus::cleared : VerdictStatus::confirmed;
  verdict.updated_at = std::max(verdict.updated_at, test->received_at);
  verdict.evidence.push_back(test->id);
  verdict.witnesses.push_back(test->source);
  verdict.explanation += " The site's test of " + verdict.subject.node +
                         (passed ? " passed." : " failed: " + test->raw.text);
  if (!passed) verdict.confidence = std::max(verdict.confidence, test_confidence);
  return verdict;
}

}  // namespace faultline
