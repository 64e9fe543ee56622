// A run that is silent for longer than its own rhythm allows. Silence names nobody and may be a
// long evaluation, so this is a suspicion for people and never more.
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "detect/attempt_tracker.h"
#include "detect/cause_ids.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t stalled_attempts_max = 4096;
constexpr std::size_t stalled_ranks_max = 64;  // named; more of them say nothing more

Duration milliseconds_in(const Event& event, std::string_view field) {
  const auto number = parse_number<std::int64_t>(event.field(field)).value_or(0);
  return std::chrono::milliseconds{number};
}

class NoProgress final : public Detector {
 public:
  explicit NoProgress(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "no_progress"; }

  void observe(const Event& event) override {
    const auto id = attempt_of(event);
    if (!id) return;
    if (event.kind == EventKind::progress_stalled) return stalled(*id, event);
    if (event.kind == EventKind::attempt_ended) return over(*id);
    const bool moves =
        event.kind == EventKind::rank_exited || event.kind == EventKind::log_signature;
    if (moves && event.source != EventSource::kernel_log) resumed(*id, event);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (const AttemptId& id : std::exchange(news_, {})) {
      std::vector<Verdict> holding;
      const auto ranks = stalled_.find(id);
      if (ranks != stalled_.end()) holding.push_back(verdict_of(id, ranks->second));
      book_.settle(id.text(), std::move(holding), catalog_, now, verdicts);
    }
  }

 private:
  using Ranks = std::map<std::int32_t, Fact>;

  void stalled(const AttemptId& id, const Event& event) {
    if (milliseconds_in(event, "silent_ms") <= milliseconds_in(event, "usual_ms"))
      return resumed(id, event);
    if (stalled_.size() >= stalled_attempts_max && !stalled_.contains(id))
      over(stalled_.begin()->first);
    Ranks& ranks = stalled_[id];
    if (ranks.size() >= stalled_ranks_max && !ranks.contains(event.subject.rank)) return;
    ranks.try_emplace(event.subject.rank, Fact{event, happened_at(event), learnt_at(event)});
    news_.insert(id);
  }

  /// The rank spoke after it was found silent.
  void resumed(const AttemptId& id, const Event& event) {
    const auto ranks = stalled_.find(id);
    if (ranks == stalled_.end()) return;
    const auto rank = ranks->second.find(event.subject.rank);
    if (rank == ranks->second.end() || happened_at(event) <= rank->second.at) return;
    ranks->second.erase(rank);
    news_.insert(id);
    if (ranks->second.empty()) stalled_.erase(ranks);
  }

  void over(AttemptId id) {
    if (stalled_.erase(id) > 0) news_.insert(id);
  }

  static Verdict verdict_of(const AttemptId& id, const Ranks& ranks) {
    Verdict verdict;
    verdict.cause = cause_id::no_progress;
    verdict.subject = Subject::of_attempt(id);
    verdict.attempt = id;
    verdict.status = VerdictStatus::suspected;
    verdict.confidence = 0.4;
    const Fact* first = &ranks.begin()->second;
    for (const auto& [rank, fact] : ranks) {
      add_evidence(verdict, fact.event);
      if (fact.at < first->at) first = &fact;
    }
    const Duration silent = milliseconds_in(first->event, "silent_ms");
    verdict.since = first->at - silent;
    verdict.explanation = "No output for " + to_text(silent) + ", where " +
                          to_text(milliseconds_in(first->event, "usual_ms")) +
                          " is the longest this run has shown (" + std::to_string(ranks.size()) +
                          (ranks.size() == 1 ? " rank" : " ranks") + ").";
    verdict.missing = {"stack dumps of the silent ranks (py-spy dump --pid)"};
    return verdict;
  }

  const Catalog& catalog_;
  std::map<AttemptId, Ranks> stalled_;
  std::set<AttemptId> news_;
  VerdictBook book_{"no_progress"};
};

}  // namespace

std::unique_ptr<Detector> make_no_progress(const Catalog& catalog) {
  return std::make_unique<NoProgress>(catalog);
}

}  // namespace faultline
