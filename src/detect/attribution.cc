// Which fact came first, of all that was said about a failed attempt? The rules are in
// failure_case.h, in their order. One verdict an attempt; when later evidence points elsewhere, the
// old verdict is cleared and the new one raised.
#include <algorithm>

#include "detect/failure_desk.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

class Attribution final : public Detector {
 public:
  explicit Attribution(const Catalog& catalog) : catalog_(catalog), desk_(catalog) {}

  std::string_view name() const override { return "attribution"; }

  void observe(const Event& event) override { desk_.observe(event); }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    desk_.evaluate(
        now,
        [&](const ExplainedFailure& explained) {
          if (explained.explanation.cause == nullptr) return;
          book_.settle(explained.failure.attempt.id.text(), {verdict_of(explained)}, catalog_, now,
                       verdicts);
        },
        [&](const AttemptId& id, bool failed) {
          if (!failed) book_.settle(id.text(), {}, catalog_, now, verdicts);
          book_.forget(id.text());
        });
  }

 private:
  static Verdict verdict_of(const ExplainedFailure& explained) {
    const Explanation& explanation = explained.explanation;
    Verdict verdict;
    verdict.cause = explanation.cause->id;
    verdict.rule = explanation.rule;
    verdict.subject = explanation.subject;
    verdict.attempt = explained.failure.attempt.id;
    verdict.confidence = explanation.confidence;
    verdict.since = explanation.since;
    verdict.missing = explanation.missing;
    verdict.explanation = explanation.text;
    for (const Event* event : explanation.evidence) add_evidence(verdict, *event);
    for (const Event* event : explanation.consequences) {
      const bool carries = std::find(verdict.evidence.begin(), verdict.evidence.end(), event->id) !=
                           verdict.evidence.end();
      if (!carries) add_consequence(verdict, *event);
    }
    verdict.status = explanation.unknown                     ? VerdictStatus::unknown
                     : explanation.sure && explained.settled ? VerdictStatus::confirmed
                                                             : VerdictStatus::suspected;
    if (explained.stale) verdict.updated_at = explained.failure.failed_at;
    return verdict;
  }

  const Catalog& catalog_;
  FailureDesk desk_;
  VerdictBook book_{"attribution"};
};

}  // namespace

std::unique_ptr<Detector> make_attribution(const Catalog& catalog) {
  return std::make_unique<Attribution>(catalog);
}

}  // namespace faultline
