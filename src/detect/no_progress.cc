// A run that is silent for longer than its own rhythm allows. Silence names nobody and may be a
// long evaluation, so this is a suspicion for people and never more.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "detect/attempt_tracker.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t attempts_watched_max = 4096;
constexpr std::size_t ranks_watched_max = 64;  // of an attempt; more of them say nothing more

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
    const bool moves = event.kind == EventKind::progress_resumed ||
                       event.kind == EventKind::rank_exited ||
                       event.kind == EventKind::log_signature;
    if (moves && event.source != EventSource::kernel_log) spoke(*id, event);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (const AttemptId& id : std::exchange(news_, {})) {
      std::vector<Verdict> holding;
      const auto silent = silent_ranks(id);
      if (!silent.empty()) holding.push_back(verdict_of(id, silent));
      book_.settle(id.text(), std::move(holding), catalog_, now, verdicts);
    }
  }

 private:
  struct Rank {
    Fact stall;  // event.id is empty while it is not silent
    Instant spoke_at;
    [[nodiscard]] bool silent() const { return !stall.event.id.empty(); }
  };
  struct Watched {
    std::map<std::int32_t, Rank> ranks;
    bool over = false;  // kept, so that a stall that is heard of later is no news
  };
  using Silent = std::vector<const Fact*>;

  Watched& watch(const AttemptId& id) {
    if (attempts_.size() >= attempts_watched_max && !attempts_.contains(id)) {
      news_.insert(attempts_.begin()->first);
      attempts_.erase(attempts_.begin());
    }
    return attempts_[id];
  }

  Rank* rank_of(const AttemptId& id, const Event& event) {
    auto& ranks = watch(id).ranks;
    if (ranks.size() >= ranks_watched_max && !ranks.contains(event.subject.rank)) return nullptr;
    return &ranks[event.subject.rank];
  }

  void stalled(const AttemptId& id, const Event& event) {
    if (watch(id).over) return;
    Rank* rank = rank_of(id, event);
    if (rank == nullptr || rank->silent() || happened_at(event) <= rank->spoke_at) return;
    rank->stall = {event, happened_at(event), learnt_at(event)};
    news_.insert(id);
  }

  void spoke(const AttemptId& id, const Event& event) {
    // The end of a silence may overtake its beginning and is noted without it. Other signs of life
    // are too many to be kept for ranks that were never silent.
    if (event.kind != EventKind::progress_resumed && silent_ranks(id).empty()) return;
    Rank* rank = rank_of(id, event);
    if (rank == nullptr) return;
    rank->spoke_at = std::max(rank->spoke_at, happened_at(event));
    if (!rank->silent() || rank->stall.at >= rank->spoke_at) return;
    rank->stall = {};
    news_.insert(id);
  }

  void over(const AttemptId& id) {
    watch(id) = {{}, true};
    news_.insert(id);
  }

  Silent silent_ranks(const AttemptId& id) const {
    Silent silent;
    const auto watched = attempts_.find(id);
    if (watched == attempts_.end()) return silent;
    for (const auto& [number, rank] : watched->second.ranks) {
      if (rank.silent()) silent.push_back(&rank.stall);
    }
    return silent;
  }

  /// " (3 ranks)"; nothing where a log does not say whose it is.
  static std::string ranks_of(const Silent& silent) {
    if (silent.front()->event.subject.rank < 0) return {};
    return " (" + std::to_string(silent.size()) + (silent.size() == 1 ? " rank)" : " ranks)");
  }

  static Verdict verdict_of(const AttemptId& id, const Silent& silent) {
    Verdict verdict;
    verdict.cause = cause_id::no_progress;
    verdict.subject = Subject::of_attempt(id);
    verdict.attempt = id;
    verdict.status = VerdictStatus::suspected;
    verdict.confidence = confidence::weak;
    const Fact* first = silent.front();
    for (const Fact* stall : silent) {
      add_evidence(verdict, stall->event);
      if (stall->at < first->at) first = stall;
    }
    const Duration length = milliseconds_in(first->event, "silent_ms");
    verdict.since = first->at - length;
    const bool steps = first->event.field(counted_field) == "step";
    verdict.explanation = (steps ? "No step for " : "No output for ") + to_text(length) +
                          ", where " + to_text(milliseconds_in(first->event, "usual_ms")) +
                          " is the longest this run has shown" + ranks_of(silent) + ".";
    verdict.missing = {"stack dumps of the silent ranks (py-spy dump --pid)"};
    return verdict;
  }

  const Catalog& catalog_;
  std::map<AttemptId, Watched> attempts_;
  std::set<AttemptId> news_;
  VerdictBook book_{"no_progress"};
};

}  // namespace

std::unique_ptr<Detector> make_no_progress(const Catalog& catalog) {
  return std::make_unique<NoProgress>(catalog);
}

}  // namespace faultline
