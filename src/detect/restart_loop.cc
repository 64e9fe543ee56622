// A job that restarts again and again without getting further. What counts is the last step that
// its ranks spoke of: an attempt that did not pass the best one before it was in vain. So was one
// in which the rank that speaks of steps ended without having reached any. Where that rank's end
// was not heard, its node may have died with it, nobody knows how far the attempt got, and it does
// not count. A job that never names a step is stopped by the limit of requeues an hour alone.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "detect/attempt_tracker.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t jobs_max = 4096;
constexpr std::size_t attempts_per_job_max = 64;
/// One may be bad luck and two a bad node that was not found at once.
constexpr int restarts_in_vain_max = 2;

struct Try {
  std::optional<std::uint64_t> step;  // the latest that any rank spoke of
  Event said;                         // where
  bool none_said = false;             // the rank that speaks of steps ended without one
  std::optional<Fact> end;
  AttemptState state = AttemptState::running;

  /// Somebody's decision or somebody else's turn is no failure.
  [[nodiscard]] bool failed() const {
    return end && ended(state) && state != AttemptState::completed &&
           state != AttemptState::cancelled && state != AttemptState::preempted;
  }
};

/// What a verdict needs of an event.
Event brief(const Event& event) {
  Event kept;
  kept.id = event.id;
  kept.source = event.source;
  kept.reporter = event.reporter;
  return kept;
}

class RestartLoop final : public Detector {
 public:
  explicit RestartLoop(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "restart_loop"; }

  void observe(const Event& event) override {
    const bool exited = event.kind == EventKind::rank_exited;
    if (!exited && event.kind != EventKind::attempt_ended) return;
    const auto id = attempt_of(event);
    if (!id) return;
    Job& job = take_up(id->job, learnt_at(event));
    Try& one = job.tries[id->restart];
    if (exited) {
      observe_exit(event, job, one);
    } else if (const auto state = parse_enum<AttemptState>(event.field("state"))) {
      one.state = *state;
      if (!one.end) one.end = Fact{brief(event), happened_at(event), learnt_at(event)};
    }
    if (job.tries.size() > attempts_per_job_max) job.tries.erase(job.tries.begin());
    open_.insert(id->job);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (auto name = open_.begin(); name != open_.end();) {
      const auto job = jobs_.find(*name);
      const bool settled = job == jobs_.end() || judge(*name, job->second, now, verdicts);
      name = settled ? open_.erase(name) : std::next(name);
    }
  }

 private:
  struct Job {
    std::map<std::uint32_t, Try> tries;  // by restart
    std::int32_t speaker = -1;           // the rank that speaks of steps
    Instant heard_at;
  };

  Job& take_up(const std::string& name, Instant at) {
    if (jobs_.size() >= jobs_max && !jobs_.contains(name)) {
      const auto oldest = std::min_element(
          jobs_.begin(), jobs_.end(),
          [](const auto& a, const auto& b) { return a.second.heard_at < b.second.heard_at; });
      book_.forget(oldest->first);
      jobs_.erase(oldest);
    }
    Job& job = jobs_[name];
    job.heard_at = std::max(job.heard_at, at);
    return job;
  }

  static void observe_exit(const Event& event, Job& job, Try& one) {
    const auto step = parse_number<std::uint64_t>(event.field("step"));
    if (!step && event.subject.rank == job.speaker) one.none_said = true;
    if (!step || (one.step && *one.step >= *step)) return;
    job.speaker = event.subject.rank;
    one.step = step;
    one.said = brief(event);
  }

  /// The attempts at the end of the job's history that did not pass the best one before them.
  static std::vector<AttemptId> in_vain(const std::string& name, const Job& job) {
    std::vector<AttemptId> ids;
    std::optional<std::uint64_t> best;
    for (const auto& [restart, one] : job.tries) {
      const bool further = one.step && (!best || *one.step > *best);
      if (further || one.state == AttemptState::completed) ids.clear();
      if (further) best = one.step;
      if (!further && best && one.failed() && (one.step || one.none_said))
        ids.push_back({name, restart});
    }
    return ids;
  }

  /// True if nothing more is waited for.
  bool judge(const std::string& name, const Job& job, Instant now, VerdictSink& sink) {
    const std::vector<AttemptId> ids = in_vain(name, job);
    if (static_cast<int>(ids.size()) <= restarts_in_vain_max) {
      book_.settle(name, {}, catalog_, now, sink);
      return true;
    }
    const Fact& last = *job.tries.at(ids.back().restart).end;
    const bool settled = now - last.arrived >= catalog_.policy().limits.lateness;
    book_.settle(name, {verdict_of(job, ids, settled)}, catalog_, now, sink);
    return settled;
  }

  static Verdict verdict_of(const Job& job, const std::vector<AttemptId>& ids, bool settled) {
    Verdict verdict;
    verdict.cause = cause_id::restart_loop;
    verdict.subject = Subject::of_attempt(ids.back());
    verdict.attempt = ids.back();
    verdict.since = job.tries.at(ids.front().restart).end->at;
    verdict.status = settled ? VerdictStatus::confirmed : VerdictStatus::suspected;
    verdict.confidence = confidence::certain;
    std::uint64_t best = 0;
    for (const auto& [restart, one] : job.tries) {
      if (!one.step || *one.step <= best) continue;
      best = *one.step;
    }
    for (const AttemptId& id : ids) {
      const Try& one = job.tries.at(id.restart);
      add_evidence(verdict, one.end->event);
      if (one.step) add_evidence(verdict, one.said);
    }
    verdict.explanation = "The last " + std::to_string(ids.size()) +
                          " attempts ended without passing step " + std::to_string(best) +
                          ", which the job had reached before.";
    return verdict;
  }

  const Catalog& catalog_;
  std::map<std::string, Job> jobs_;
  std::set<std::string> open_;
  VerdictBook book_{"restart_loop"};
};

}  // namespace

std::unique_ptr<Detector> make_restart_loop(const Catalog& catalog) {
  return std::make_unique<RestartLoop>(catalog);
}

}  // namespace faultline
