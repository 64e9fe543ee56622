// A node on which a second attempt fails is suspected even when the two failures look different: a
// broken GPU shows itself as an ECC error today and as "out of memory" tomorrow. What counts is the
// node of the rank that failed, not any node of the job, and only failures that a node can cause.
// It is confirmed only if the failures are independent witnesses, which one user's jobs by
// themselves are not: second_witness.h has the rule and what it stands against.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/contains.h"
#include "detect/cause_ids.h"
#include "detect/clean_record.h"
#include "detect/confidence.h"
#include "detect/failure_desk.h"
#include "detect/second_witness.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t blames_max = 4096;
constexpr std::size_t blames_compared_max = 16;  // of a node, the latest
/// How often a suspicion that lacks a witness is looked at again when there is no news: attempts
/// elsewhere prove something by growing older. At multiples of it, so that a replay looks when the
/// live run did.
constexpr Duration look_again = std::chrono::seconds{10};

/// Failures that would have come on any node.
bool never_a_node(const Explanation& explanation) {
  const Cause& cause = *explanation.cause;
  if (explanation.hardware || cause.id == cause_id::gpu_out_of_memory) return false;
  // A broken GPU can make a sound program fail, though not in these two ways.
  if (cause.cause_class == CauseClass::software)
    return cause.id == cause_id::device_assert || cause.id == cause_id::missing_file;
  return lies_outside_node(cause);
}

bool counts(const FailureCase& failure, const Explanation& explanation) {
  if (never_a_node(explanation)) return false;
  // A kernel line that happened to be there did not end what a person ended.
  if (failure.attempt.state == AttemptState::cancelled && !failed_by_itself(failure)) return false;
  if (explanation.hardware) return true;
  // A single rank is the whole workload: nothing tells its own error from the node's.
  return !explanation.node.empty() && failure.attempt.ranks.size() != 1;
}

/// Where a failure whose node is not known may have come from: what the kernels said is about their
/// own nodes alone, and a node that told of a lost one after it went was there to tell it.
std::vector<std::string> possible_nodes(const FailureCase& failure,
                                        const Explanation& explanation) {
  if (!explanation.rivals.empty()) return explanation.rivals;
  std::vector<std::string> nodes = failure.attempt.nodes;
  if (explanation.cause->id != cause_id::node_lost) return nodes;
  for (const Event* event : explanation.evidence)
    std::erase(nodes, event->source == EventSource::job_log ? event->reporter : "");
  return nodes;
}

Blame make_blame(const FailureCase& failure, const Explanation& explanation) {
  Blame blame;
  blame.attempt = failure.attempt.id;
  blame.family = failure.attempt.family();
  blame.user = failure.attempt.user;
  blame.name = failure.attempt.name;
  blame.node = explanation.node;
  blame.nodes = possible_nodes(failure, explanation);
  blame.started_at = failure.attempt.started_at;
  blame.at = failure.failed_at;
  blame.hardware = explanation.hardware;
  blame.sure = explanation.sure;
  blame.cause = explanation.cause->id;
  blame.program = explanation.cause->cause_class == CauseClass::software;
  blame.key = explanation.cause->id + "|" + normalised(explanation.evidence.front()->raw.text);
  blame.text = explanation.cause->summary;
  blame.evidence = *explanation.evidence.front();
  blame.failing = failure.failing.event;
  return blame;
}

using Blames = std::vector<const Blame*>;

class RepeatOffender final : public Detector {
 public:
  explicit RepeatOffender(const Catalog& catalog)
      : catalog_(catalog), desk_(catalog), witness_(catalog) {}

  std::string_view name() const override { return "repeat_offender"; }

  void observe(const Event& event) override {
    desk_.observe(event);
    witness_.observe(event);
    const bool may_witness = event.kind == EventKind::attempt_ended ||
                             event.kind == EventKind::node_boot ||
                             event.kind == EventKind::node_seen;
    if (may_witness) looked_at_ = {};
    if (!cleans_record(event)) return;
    const std::string& node = node_of(event);
    anew_since_[node] = happened_at(event);
    book_.forget(node);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    std::set<std::string> touched;
    desk_.evaluate(
        now,
        [&](const ExplainedFailure& explained) {
          if (explained.settled) take(explained, touched);
        },
        [&](const AttemptId& id, bool failed) {
          if (!failed) drop(id, touched);
        });
    const bool due =
        now.time_since_epoch() / look_again != looked_at_.time_since_epoch() / look_again;
    if (due) looked_at_ = now;
    // Who waits is judged with the others: nobody is to be first by the order of the looks.
    if (due || !touched.empty()) touched.merge(std::exchange(waiting_, {}));
    judge(touched, now, verdicts);
  }

 private:
  struct Accusation {
    std::string node;
    Blames blames;
    Testimony second;
    std::string rivals;  // nodes that one word accuses at once
  };

  void drop(const AttemptId& id, std::set<std::string>& touched) {
    const auto blame = blames_.find(id);
    if (blame == blames_.end()) return;
    touched.insert(blame->second.nodes.begin(), blame->second.nodes.end());
    if (!blame->second.node.empty()) touched.insert(blame->second.node);
    blames_.erase(blame);
  }

  void take(const ExplainedFailure& explained, std::set<std::string>& touched) {
    drop(explained.failure.attempt.id, touched);
    const Explanation& explanation = explained.explanation;
    if (explanation.cause == nullptr || explanation.evidence.empty() ||
        !counts(explained.failure, explanation))
      return;
    const Blame& blame = blames_[explained.failure.attempt.id] =
        make_blame(explained.failure, explanation);
    if (blame.node.empty()) touched.insert(blame.nodes.begin(), blame.nodes.end());
    if (!blame.node.empty()) touched.insert(blame.node);
    while (blames_.size() > blames_max) forget_oldest();
  }

  void forget_oldest() {
    blames_.erase(
        std::min_element(blames_.begin(), blames_.end(),
                         [](const auto& a, const auto& b) { return a.second.at < b.second.at; }));
  }

  /// The same user's same error on another node: it goes where the program goes.
  bool follows_the_program(const Blame& blame) const {
    if (blame.told_from_outside()) return false;
    return std::any_of(blames_.begin(), blames_.end(), [&](const auto& entry) {
      const Blame& other = entry.second;
      const bool same_program =
          other.key == blame.key &&
          ((!blame.user.empty() && other.user == blame.user) || other.family == blame.family);
      return same_program && !other.node.empty() && other.node != blame.node;
    });
  }

  Blames against(const std::string& node, Instant now) const {
    const auto anew = anew_since_.find(node);
    Blames blames;
    for (const auto& [id, blame] : blames_) {
      if (now - blame.at > catalog_.policy().limits.repeat_window) continue;
      if (anew != anew_since_.end() && blame.at <= anew->second) continue;
      const bool maybe = blame.node.empty() && contains(blame.nodes, node);
      // One kernel line is one failure of the node, however many attempts it ended.
      const bool told = std::any_of(blames.begin(), blames.end(), [&](const Blame* other) {
        return other->evidence.id == blame.evidence.id;
      });
      if (!told && (blame.node == node || maybe) && !follows_the_program(blame))
        blames.push_back(&blame);
    }
    std::stable_sort(blames.begin(), blames.end(),
                     [](const Blame* a, const Blame* b) { return a->at < b->at; });
    return blames;
  }

  /// True if the attempts have this node in common and no other, or one of them names it.
  static bool points_at(const std::string& node, const Blames& blames) {
    if (std::any_of(blames.begin(), blames.end(),
                    [&](const Blame* blame) { return blame->node == node; }))
      return true;
    for (const std::string& other : blames.front()->nodes) {
      if (other == node) continue;
      if (std::all_of(blames.begin(), blames.end(),
                      [&](const Blame* blame) { return contains(blame->nodes, other); })) {
        return false;
      }
    }
    return true;
  }

  static bool same_bug(const Blames& blames) {
    return std::all_of(blames.begin(), blames.end(), [&](const Blame* blame) {
      return !blame->hardware && blame->key == blames.front()->key &&
             blame->family == blames.front()->family;
    });
  }

  /// The strongest that makes two of the failures independent.
  Testimony testimony(const std::string& node, const Blames& blames, Instant now) {
    const auto latest =
        blames.end() - static_cast<std::ptrdiff_t>(std::min(blames.size(), blames_compared_max));
    Testimony best;
    for (auto a = latest; a != blames.end(); ++a) {
      for (auto b = std::next(a); b != blames.end(); ++b) {
        Testimony found = witness_.between(**a, **b, node, desk_.attempts(), now);
        if (found.kind <= best.kind) continue;
        best = std::move(found);
        best.since = (*b)->at;
        best.heard_at = learnt_at((*b)->failing);
      }
    }
    return best;
  }

  void judge(const std::set<std::string>& nodes, Instant now, VerdictSink& sink) {
    std::vector<Accusation> accusations;
    for (const std::string& node : nodes) {
      waiting_.erase(node);
      Blames blames = against(node, now);
      if (blames.size() >= 2 && points_at(node, blames) && !same_bug(blames)) {
        Testimony second = testimony(node, blames, now);
        accusations.push_back({node, std::move(blames), std::move(second), {}});
      } else {
        book_.settle(node, {}, catalog_, now, sink);
      }
    }
    spend_words(accusations, now);
    for (const Accusation& accusation : accusations) {
      if (accusation.second.kind == Testimony::Kind::none) waiting_.insert(accusation.node);
      book_.settle(accusation.node, {verdict_of(accusation)}, catalog_, now, sink);
    }
  }

  /// One user's word takes out one node, the one that was accused first. Where the evidence does
  /// not tell which that is, it takes out none.
  void spend_words(std::vector<Accusation>& accusations, Instant now) {
    // A failure of the same moment is settled by then.
    const Duration wait = catalog_.policy().limits.lateness + 2 * order_uncertainty;
    std::map<std::string, std::vector<Accusation*>> claims;
    for (Accusation& accusation : accusations) {
      if (accusation.second.kind == Testimony::Kind::own_word)
        claims[accusation.second.user].push_back(&accusation);
    }
    for (auto& [user, nodes] : claims) {
      std::sort(nodes.begin(), nodes.end(), [](const Accusation* a, const Accusation* b) {
        return a->second.since < b->second.since;
      });
      const bool tie = nodes.size() > 1 && !witness_.word_spent(user, now) &&
                       nodes[1]->second.since - nodes[0]->second.since <= order_uncertainty;
      const std::string rivals = tie ? nodes[0]->node + " and " + nodes[1]->node : "";
      for (Accusation* accusation : nodes) {
        const bool rival_may_come = now - accusation->second.heard_at < wait;
        if (tie || rival_may_come || !witness_.spend_word(user, accusation->node, now))
          accusation->second = {};
        accusation->rivals = rivals;
      }
    }
  }

  static Verdict verdict_of(const Accusation& accusation) {
    const auto& [node, blames, second, rivals] = accusation;
    const bool proved = second.kind != Testimony::Kind::none;
    Verdict verdict;
    verdict.cause = cause_id::repeat_offender;
    verdict.subject = Subject::of_node(node);
    verdict.attempt = blames.back()->attempt;
    verdict.since = blames.front()->at;
    verdict.status = proved ? VerdictStatus::confirmed : VerdictStatus::suspected;
    verdict.confidence = proved ? confidence::strong : confidence::weak;
    std::string story;
    for (const Blame* blame : blames) {
      add_evidence(verdict, blame->evidence);
      // That an attempt failed says something of the node only if the witnesses are independent.
      if (proved) {
        add_evidence(verdict, blame->failing);
      } else if (blame->failing.id != blame->evidence.id) {
        add_consequence(verdict, blame->failing);
      }
      story += (story.empty() ? "" : ", then ") + blame->attempt.text() + " (" + blame->text + ")";
    }
    if (second.proof) add_evidence(verdict, *second.proof);
    verdict.explanation = std::to_string(blames.size()) + " attempts failed on " + node +
                          " within a day: " + story + ". ";
    if (proved) {
      verdict.explanation += "They are independent witnesses: " + second.text + ".";
    } else {
      verdict.explanation += "Nobody but the jobs says that it is the node.";
      verdict.missing = {"kernel log of " + node,
                         "another user's failure there, or the same program going on without it"};
      if (!rivals.empty()) {
        verdict.explanation += " One user's jobs accuse " + rivals +
                               " at the same moment, and one user's word takes out one node.";
        verdict.missing = {"a test of " + rivals, "kernel log of " + node};
      }
    }
    return verdict;
  }

  const Catalog& catalog_;
  FailureDesk desk_;
  SecondWitness witness_;
  std::map<AttemptId, Blame> blames_;
  std::set<std::string> waiting_;  // nodes under a suspicion that lacks a second witness
  Instant looked_at_;
  std::map<std::string, Instant> anew_since_;
  VerdictBook book_{"repeat_offender"};
};

}  // namespace

std::unique_ptr<Detector> make_repeat_offender(const Catalog& catalog) {
  return std::make_unique<RepeatOffender>(catalog);
}

}  // namespace faultline
